#include "core/text/labelling/row_labeller.hpp"

#include <utility>

namespace sparsecrf {
namespace {

// Each line adds one row to the label scores, with one cell for the label and one for each of its parts, and one row to
// the pair scores, for labels and for their classes.
double terms_of(const Template& lines, const FeatureSet& features) {
    const int parts = features.parts == nullptr ? 0 : features.parts->n_parts();
    return static_cast<double>(lines.size()) * (3.0 + parts);
}

// Whether the scores of label pairs differ between positions.
bool conditions_pairs(const Template& lines) {
    for (std::int64_t k = 0; k < lines.size(); ++k) {
        if (lines.varies(k) && lines.kind(k) != Template::Kind::unigram) return true;
    }
    return false;
}

constexpr std::int64_t kMostNumbers = 1 << 22;  // per sequence: 32 MB

}  // namespace

bool RowLabeller::fits(const Template& lines, const Chain& chain) {
    return chain.features().n_ngram() == 0 && (!conditions_pairs(lines) || PairRows::fits(chain.features()));
}

RowLabeller::RowLabeller(std::shared_ptr<const Template> lines, std::shared_ptr<const StringTable> names,
                         const Chain& chain, bool start, std::atomic<std::int64_t>& n_repeated)
    : scores_(lines, names, chain),
      decoder_(chain, conditions_pairs(*lines)),
      lines_(lines),
      encoder_(Names(std::move(names)), {.start = start, .share = false, .features = &chain.features()}),
      start_(start),
      terms_(terms_of(*lines, chain.features())),
      largest_(terms_ * chain.largest_weight()),
      n_repeated_(n_repeated) {}

double RowLabeller::rounding(std::int64_t length) const {
    const auto T = static_cast<double>(length);
    return 4.0 * 1.1 * 0x1p-53 * (T * largest_) * (terms_ + 3.0 * T);
}

void RowLabeller::label(const Rows& rows, std::vector<std::int32_t>& labels) {
    label_rows(rows, labels);
    if (!known_.full()) return;
    known_.clear();
    scores_.renumber();
}

void RowLabeller::label_rows(const Rows& rows, std::vector<std::int32_t>& labels) {
    if (label_quickly(rows, labels)) return;
    ++n_repeated_;
    const std::size_t before = labels.size();
    const auto length = static_cast<std::size_t>(rows.length);
    const std::vector<SequenceEncoder::Label> unknown(length);
    Rows unnumbered = rows;  // the encoder's cache is kept across sequences and would not notice new row numbers
    unnumbered.numbers.clear();
    encoder_.add_rows({lines_, {&unnumbered, 1}, unknown});
    labels.resize(before + length);
    double score = 0.0;
    const Chain& chain = decoder_.chain();
    chain.viterbi(encoder_.build(chain.features().n_labels), {}, std::span(labels).subspan(before), {&score, 1});
}

bool RowLabeller::label_quickly(const Rows& rows, std::vector<std::int32_t>& labels) {
    if (rows.length * decoder_.size() > kMostNumbers || !scores_.read(rows)) return false;
    decoder_.begin();
    for (std::int64_t t = 0; t < rows.length; ++t) {
        std::size_t n_common = 0;
        const double* const scores = scores_.score(t, pairs_, n_common);
        if (t == 0 && !start_) {
            pairs_.clear();
            n_common = 0;
        }
        decoder_.add_scored(scores, pairs_, n_common);
        if (decoder_.is_full()) return false;
    }
    const std::size_t before = labels.size();
    if (decoder_.best(labels) > rounding(rows.length)) return true;
    labels.resize(before);
    return false;
}

}  // namespace sparsecrf
