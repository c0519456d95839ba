#include "core/text/token_encoder.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/error.hpp"

namespace sparsecrf {

bool PairRule::ask(std::uint32_t id, const StringTable& names) {
    if (id >= answers_.size()) answers_.resize(std::max<std::size_t>(id + 1, names.size()), kNotAsked);
    if (answers_[id] == kNotAsked) answers_[id] = predicate_(names[id]) ? kYes : kNo;
    return answers_[id] == kYes;
}

TokenEncoder::TokenEncoder(std::shared_ptr<StringTable> attributes, std::shared_ptr<StringTable> labels,
                           Options options)
    : attribute_table_(std::move(attributes)),
      label_table_(std::move(labels)),
      options_(std::move(options)),
      sequences_(Names(attribute_table_, options_.grow), {.start = options_.start,
                                                          .share = !options_.pairs.of_model(),
                                                          .skip_empty = options_.skip_empty,
                                                          .words = options_.words,
                                                          .threads = options_.threads,
                                                          .features = options_.pairs.features()}) {
    if (!options_.lines) sequences_.set_bias(options_.bias);
}

std::int64_t TokenEncoder::begin() {
    const std::size_t n = pending_.empty() ? 0 : pending_.back().end;
    tokens_.resize(std::min(n, tokens_.ends.size()));
    labels_of_.resize(n);
    return sequences_.builder().n_seen() + static_cast<std::int64_t>(pending_.size());
}

std::int64_t TokenEncoder::end(double weight) {
    const std::size_t before = pending_.empty() ? 0 : pending_.back().end;
    pending_.push_back({labels_of_.size(), weight});
    return static_cast<std::int64_t>(labels_of_.size() - before);
}

std::optional<std::int32_t> TokenEncoder::label(std::string_view name) const {
    if (options_.grow) return static_cast<std::int32_t>(label_table_->intern(name));
    if (const auto id = label_table_->find(name)) return static_cast<std::int32_t>(*id);
    return std::nullopt;
}

bool TokenEncoder::last_is_plain() const {
    const std::size_t first = first_of(pending_.size() - 1);
    const auto is_weight = [](double weight) { return weight >= 0.0 && std::isfinite(weight); };
    return !sequences_.wants_words() && is_weight(pending_.back().weight) &&
           (first < labels_of_.size() || options_.skip_empty) &&
           std::all_of(labels_of_.begin() + static_cast<std::ptrdiff_t>(first), labels_of_.end(),
                       [&](const SequenceEncoder::Label& label) { return is_weight(label.weight); });
}

void TokenEncoder::encode() {
    try {
        options_.lines ? encode_rows() : encode_attributes();
    } catch (...) {
        pending_.clear();
        throw;
    }
    pending_.clear();
}

void TokenEncoder::encode_rows() {
    read_rows();
    std::vector<double> weights;
    for (const Pending& sequence : pending_) weights.push_back(sequence.weight);
    const std::size_t n_positions = first_of(pending_.size());
    sequences_.add_rows({options_.lines, std::span(rows_).first(pending_.size()),
                         std::span(labels_of_).first(n_positions), weights, 0});
}

void TokenEncoder::encode_attributes() {
    for (std::size_t i = 0; i < pending_.size(); ++i) {
        const std::size_t first = first_of(i), end = pending_[i].end;
        if (sequences_.wants_words()) read_words(first, end);
        sequences_.add_sequence(pending_[i].weight, static_cast<std::int64_t>(end - first), [&](std::int64_t t) {
            look_up(first + static_cast<std::size_t>(t));
            return labels_of_[first + static_cast<std::size_t>(t)];
        });
    }
}

bool TokenEncoder::label(OneByOne& decoder, std::vector<std::int32_t>& labels) {
    if (options_.lines || sequences_.builder().n_seen() > 0 || sequences_.wants_words()) return false;
    const std::size_t before = labels.size();
    for (std::size_t i = 0; i < pending_.size(); ++i) {
        // `encode` reports an empty sequence, with its location.
        if (pending_[i].end == first_of(i) || !label(i, decoder)) {
            labels.resize(before);
            return false;
        }
        decoder.best(labels);
    }
    pending_.clear();
    return true;
}

// Passes the positions of a sequence to the decoder until it rejects one.
bool TokenEncoder::label(std::size_t sequence, OneByOne& decoder) {
    decoder.begin();
    const auto use = [&](auto& unigram, auto& bigram) { return decoder.add(unigram, bigram); };
    const std::size_t first = first_of(sequence);
    const auto fill = [&](std::int64_t t) { look_up(first + static_cast<std::size_t>(t)); };
    return sequences_.each_position(static_cast<std::int64_t>(pending_[sequence].end - first), fill, use);
}

bool TokenEncoder::label(RowLabeller& labeller, std::vector<std::int32_t>& labels) {
    if (sequences_.builder().n_seen() > 0) return false;
    for (std::size_t i = 0; i < pending_.size(); ++i) {
        if (pending_[i].end == first_of(i)) return false;  // `encode` reports the error
    }
    read_rows();
    for (std::size_t i = 0; i < pending_.size(); ++i) labeller.label(rows_[i], labels);
    pending_.clear();
    return true;
}

// Tokens with a single attribute are words.
void TokenEncoder::read_words(std::size_t first, std::size_t end) {
    sequences_.begin_words();
    for (std::size_t position = first; position < end; ++position) {
        const std::size_t n = tokens_.ends[position] - tokens_.begin(position);
        if (n != 1) {
            throw InputError("sequence ", sequences_.builder().n_seen(), ", position ", position - first,
                             ": expected a word, whose vector can be looked up, found ", n, " attributes");
        }
        sequences_.add_word(tokens_.name(tokens_.begin(position)));
    }
}

void TokenEncoder::encode(const MatrixRows& rows) {
    sequences_.begin_words();
    const std::vector<Pending> all = std::exchange(pending_, {});
    const Pending& sequence = all.back();
    sequences_.add_sequence(sequence.weight, static_cast<std::int64_t>(sequence.end), [&](std::int64_t position) {
        const auto t = static_cast<std::size_t>(position);
        for (auto k = static_cast<std::size_t>(rows.ptr[t]); k < static_cast<std::size_t>(rows.ptr[t + 1]); ++k) {
            const std::int64_t x = rows.id[static_cast<std::size_t>(rows.column[k])];
            if (x >= 0 && rows.value[k] != 0.0) add_known(static_cast<std::uint32_t>(x), rows.value[k]);
        }
        return labels_of_[t];
    });
}

// Computes all hashes of a position before its first lookup, so that lookups are prefetched.
void TokenEncoder::look_up(std::size_t position) {
    const std::size_t first = tokens_.begin(position), end = tokens_.ends[position];
    const Names& names = sequences_.attributes();
    hashes_.clear();
    for (std::size_t k = first; k < end; ++k) {
        hashes_.emplace_back(tokens_.name(k));
        names.table().prefetch(hashes_.back().value);
    }
    for (std::size_t k = first; k < end; ++k) {
        const std::string_view name = tokens_.name(k);
        const std::int64_t id = names.id({&name, 1}, hashes_[k - first]);
        if (id != Names::kUnknown) add_known(static_cast<std::uint32_t>(id), tokens_.entries[k].value);
    }
}

void TokenEncoder::read_rows() {
    if (rows_.size() < pending_.size()) rows_.resize(pending_.size());
    for (std::size_t i = 0; i < pending_.size(); ++i) {
        const std::size_t first = first_of(i), end = pending_[i].end;
        Rows& rows = rows_[i];
        rows.clear();
        rows.length = static_cast<std::int64_t>(end - first);
        if (rows.length == 0) continue;
        rows.n_columns = static_cast<std::int64_t>(tokens_.ends[first] - tokens_.begin(first));
        for (std::size_t k = tokens_.begin(first); k < tokens_.ends[end - 1]; ++k) {
            rows.add_cell(tokens_.name(k));
        }
    }
}

void TokenEncoder::sort_label_ids() {
    const StringTable& names = *label_table_;
    std::vector<std::uint32_t> order(names.size());  // [Y] old ids by name
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return names[a] < names[b]; });
    std::vector<std::int32_t> to(order.size());
    StringTable sorted;
    for (const std::uint32_t y : order) to[y] = static_cast<std::int32_t>(sorted.intern(names[y]));
    sequences_.builder().rename_labels(to);
    *label_table_ = std::move(sorted);
}

Corpus TokenEncoder::build(bool sort_labels) {
    encode();
    if (sort_labels) sort_label_ids();
    return sequences_.build(label_table_->size());
}

}  // namespace sparsecrf
