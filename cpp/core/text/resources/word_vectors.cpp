#include "core/text/resources/word_vectors.hpp"

#include <string>

#include "core/base/error.hpp"
#include "core/text/templates/word_functions.hpp"

namespace sparsecrf {

WordVectors::WordVectors(std::shared_ptr<const StringTable> words, std::span<const float> values,
                         std::vector<double> mean, std::vector<double> scale, std::int64_t window, std::int64_t column,
                         std::shared_ptr<const void> owner)
    : words_(std::move(words)),
      values_(values),
      owner_(std::move(owner)),
      mean_(std::move(mean)),
      scale_(std::move(scale)),
      window_(window),
      column_(column) {
    if (mean_.empty() || scale_.size() != mean_.size() || values_.size() != words_->size() * (mean_.size() - 1)) {
        throw InputError("vectors: expected ", words_->size(),
                         " rows of numbers, a mean and a scale for each and "
                         "for words without a vector, found ",
                         values_.size(), " numbers, ", mean_.size(), " means, ", scale_.size(), " scales");
    }
    if (window_ < 0 || column_ < 0) {
        throw InputError("vectors: expected a window and a column of 0 or more, found ", window_, " and ", column_);
    }
}

std::int32_t WordVectors::row(std::string_view word, const TextHash& hash) const {
    if (const auto found = words_->find({&word, 1}, hash)) return static_cast<std::int32_t>(*found);
    std::string lower;
    append_lower(word, lower);
    if (lower == word) return kNoRow;
    const auto found = words_->find(lower);
    return found ? static_cast<std::int32_t>(*found) : kNoRow;
}

void WordVectors::write(std::int32_t row, float* out) const {
    const auto d = static_cast<std::size_t>(width());
    if (row == kNoRow) {
        out[d] = static_cast<float>(scale_[d]);
        return;
    }
    if (row < 0 || static_cast<std::uint32_t>(row) >= words_->size()) {
        throw InputError("vectors: expected rows below ", words_->size(), ", found ", row);
    }
    const float* const v = values_.data() + static_cast<std::size_t>(row) * d;
    for (std::size_t j = 0; j < d; ++j) out[j] = static_cast<float>((v[j] - mean_[j]) * scale_[j]);
}

Corpus WordVectors::added_to(const Corpus& corpus, std::span<const std::int32_t> rows,
                             const StringTable& attributes) const {
    const std::int64_t d = n_dense();
    if (static_cast<std::int64_t>(rows.size()) != corpus.n_tokens()) {
        throw InputError("vectors: expected a row for each of ", corpus.n_tokens(), " tokens, found ", rows.size());
    }
    std::vector<float> values(static_cast<std::size_t>(corpus.n_tokens() * d), 0.0f);
    for (std::int64_t i = 0; i < corpus.n_sequences(); ++i) {
        const std::int64_t first = corpus.offsets[i], end = corpus.offsets[i + 1];
        for (std::int64_t t = first; t < end; ++t) {
            float* out = values.data() + t * d;
            for (std::int64_t k = 0; k <= 2 * window_; ++k, out += width() + 1) {
                const std::int64_t at = t + (k % 2 == 1 ? -(k + 1) / 2 : k / 2);  // 0, -1, +1, -2, +2, ...
                if (at >= first && at < end) write(rows[at], out);
            }
        }
    }
    return corpus.with_dense(std::move(values), dense_attributes(d, attributes, corpus.n_attributes));
}

std::vector<std::uint32_t> dense_attributes(std::int64_t n, const StringTable& attributes, std::uint32_t n_attributes) {
    std::vector<std::uint32_t> ids;
    for (std::int64_t j = 0; j < n; ++j) {
        const auto found = attributes.find(message("dense[", j, "]"));
        ids.push_back(found && *found < n_attributes ? *found : kNoAttribute);
    }
    return ids;
}

}  // namespace sparsecrf
