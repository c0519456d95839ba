#include "core/model/model.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/file_memory.hpp"
#include "core/base/utf8.hpp"

namespace sparsecrf {

Session::Session(const Model& model)
    : chain_(model.chain()),
      encoder_(model.parts().attributes, model.parts().labels,
               {.bias = model.parts().bias(),
                .start = model.parts().start,
                .grow = false,
                .skip_empty = false,
                .lines = model.parts().lines,
                .pairs = PairRule::of_features(model.parts().features),
                .words = model.parts().vectors}),
      decoder_(chain_),
      rows_(model.row_labeller()) {}

// Labels the sentence directly if possible, since building a corpus takes longer than labelling.
std::vector<std::int32_t> Session::label(const Constraints& constraints) {
    std::vector<std::int32_t> labels;
    if (constraints.are_none() && (rows_ ? encoder_.label(*rows_, labels) : encoder_.label(decoder_, labels))) {
        return labels;
    }
    const Corpus corpus = encoder_.build();
    std::vector<double> scores(static_cast<std::size_t>(corpus.n_sequences()));
    labels.resize(static_cast<std::size_t>(corpus.n_tokens()));
    chain_.viterbi(corpus, constraints, labels, scores);
    return labels;
}

Model::Model(ModelParts parts)
    : parts_(std::move(parts)), chain_(parts_.features, std::exchange(parts_.w, {}), Kernel::automatic, 1) {}

std::unique_ptr<RowLabeller> Model::row_labeller() const {
    if (!parts_.lines || parts_.vectors || !RowLabeller::fits(*parts_.lines, chain_)) return nullptr;
    return std::make_unique<RowLabeller>(parts_.lines, parts_.attributes, chain_, parts_.start, n_repeated_);
}

std::shared_ptr<const Model> Model::open(const std::filesystem::path& path, const std::string& source) {
    const FileMemory file(path, FileMemory::Kind::kMapped);
    if (file.bytes().empty()) throw InputError(source + ": expected a sparsecrf model, found an empty file");
    return std::make_shared<Model>(file.bytes(), source);
}

void Sequence::clear() {
    tokens_.resize(0);
    vectors_.clear();
    n_tokens_ = 0;
    encoded_ = false;
}

void Sequence::forget_token() {
    tokens_.resize(static_cast<std::size_t>(n_tokens_));
    vectors_.resize(static_cast<std::size_t>(n_tokens_ * model_->vector_width()));
}

void Sequence::add(std::string_view text, double value) {
    if (const std::size_t at = utf8_error(text); at != std::string_view::npos) {
        throw InputError("position ", n_tokens_, ": expected text in UTF-8, found byte ", hex_byte(text[at]));
    }
    const std::size_t begin = tokens_.text.size();
    tokens_.text += text;
    tokens_.entries.push_back({begin, tokens_.text.size(), value});
}

void Sequence::add_vector(std::span<const double> values) {
    const ModelParts& parts = model_->parts();
    const std::string where = message("position ", n_tokens_);
    const auto width = static_cast<std::size_t>(model_->vector_width());
    if (width == 0) throw InputError(where + ": found a vector, but this model does not use vectors");
    if (values.size() != width) {
        throw InputError(where, ": expected a vector of ", width, " numbers, found ", values.size());
    }
    vectors_.resize(static_cast<std::size_t>(n_tokens_) * width);
    for (std::size_t j = 0; j < width; ++j) {
        if (!std::isfinite(values[j])) {
            throw InputError(where, ", dense column ", j, ": expected a finite number, found ", values[j]);
        }
        vectors_.push_back(static_cast<float>((values[j] - parts.mean[j]) * parts.scale[j]));
    }
}

void Sequence::end_token() {
    try {
        check_token();
    } catch (const InputError&) {
        forget_token();
        throw;
    }
    tokens_.ends.push_back(tokens_.entries.size());
    ++n_tokens_;
    encoded_ = false;
}

void Sequence::check_token() const {
    const Template* lines = model_->parts().lines.get();
    const std::size_t found = tokens_.entries.size() - tokens_.begin(static_cast<std::size_t>(n_tokens_));
    const std::size_t first = n_tokens_ == 0 ? found : tokens_.ends[0];
    const bool has_vector = vectors_.size() == static_cast<std::size_t>((n_tokens_ + 1) * model_->vector_width());
    if (has_vector && (lines == nullptr || (n_tokens_ > 0 && found == first))) return;
    const std::string where = message("position ", n_tokens_);
    if (!has_vector) throw InputError(where, ": expected a vector of ", model_->vector_width(), " numbers, found none");
    if (found != first) throw InputError(where, ": expected ", first, " columns as at position 0, found ", found);
    lines->check_columns(static_cast<std::int64_t>(found), where);
}

void Sequence::read_into(TokenEncoder& encoder) const {
    if (tokens_.entries.size() != tokens_.begin(static_cast<std::size_t>(n_tokens_))) {
        throw InputError("position ", n_tokens_,
                         ": expected a finished token, found an unfinished one (call sparsecrf_end_token)");
    }
    encoder.begin();
    encoder.tokens() = tokens_;
    for (std::int64_t t = 0; t < n_tokens_; ++t) encoder.add_position({});
    encoder.end(1.0);
}

const Corpus& Sequence::corpus() const {
    if (encoded_) return corpus_;
    corpus_ = model_->with_session([&](Session& session) {
        read_into(session.encoder());
        return session.encoder().build();
    });
    if (const std::int64_t width = model_->vector_width(); width > 0) {
        corpus_ =
            corpus_.with_dense(vectors_, dense_attributes(width, *model_->parts().attributes, corpus_.n_attributes));
    }
    encoded_ = true;
    return corpus_;
}

void Sequence::label(std::span<std::int32_t> labels) const {
    if (encoded_ || model_->vector_width() > 0) {
        double score = 0.0;
        return model_->chain().viterbi(corpus(), {}, labels, {&score, 1});
    }
    const std::vector<std::int32_t> found = model_->with_session([&](Session& session) {
        read_into(session.encoder());
        return session.label({});
    });
    std::copy(found.begin(), found.end(), labels.begin());
}

void Sequence::marginals(std::span<double> out) const { model_->chain().marginals(corpus(), {}, out); }

double Sequence::log_partition() const {
    double log_z = 0.0;
    model_->chain().log_partition(corpus(), {}, {&log_z, 1});
    return log_z;
}

std::vector<Labelling> Sequence::nbest(std::int64_t k) const { return model_->chain().nbest(corpus(), 0, k, {}); }

std::vector<Contribution> Sequence::contributions(std::span<const std::int32_t> labels) const {
    return sparsecrf::contributions(*model_->parts().features, model_->chain().w(), corpus(), 0, labels);
}

}  // namespace sparsecrf
