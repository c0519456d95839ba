#include "core/text/sequence_encoder.hpp"

#include <algorithm>
#include <utility>

#include "core/base/error.hpp"

namespace sparsecrf {

std::int64_t SequenceEncoder::n_needed(const Template& lines) const {
    return std::max(lines.n_columns(), wants_words() ? options_.words.column() + 1 : 0);
}

void SequenceEncoder::check_word_column(std::int64_t n_observed, const std::string& where) const {
    const std::int64_t column = options_.words.column();
    if (!wants_words() || column < n_observed) return;
    throw InputError(message(where, ": expected the words that have vectors in column ", column,
                             " (counted from 0), found ", n_observed, n_observed == 1 ? " column" : " columns",
                             " of observations"));
}

void SequenceEncoder::read_words(const Rows& rows, std::int64_t n_observed) {
    const std::int64_t column = options_.words.column();
    if (rows.length > 0) check_word_column(n_observed, message("sequence ", builder_.n_seen()));
    words_here_.clear();
    for (std::int64_t t = 0; t < rows.length; ++t) {
        const TextHash& hash = rows.hashes[static_cast<std::size_t>(t * rows.n_columns + column)];
        words_here_.push_back(options_.words.of(rows.cell(t, column), hash));
    }
}

void SequenceEncoder::check_words(std::int64_t length) const {
    if (!wants_words() || static_cast<std::int64_t>(words_here_.size()) == length) return;
    throw InputError(message("sequence ", builder_.n_seen(),
                             ": expected words or rows of columns, whose words have vectors, found other tokens"));
}

Corpus SequenceEncoder::build(std::int64_t n_labels) {
    Corpus made = builder_.build(n_labels, attributes_.size());
    const std::vector<std::int32_t> rows = std::exchange(words_, {});
    if (const WordVectors* vectors = options_.words.vectors()) {
        return vectors->added_to(made, rows, attributes_.table());
    }
    made.words = rows;
    return made;
}

void SequenceEncoder::expand(const Template& lines, const Rows& rows, std::int64_t t) {
    made_.resize(static_cast<std::size_t>(lines.size()));
    // All hashes before the first look-up: the memory that look-ups need is on its way when they come.
    for (std::int64_t k = 0; k < lines.size(); ++k) {
        lines.expand(k, rows, values_, t, made_[k]);
        attributes_.prefetch(made_[k].hash);
    }
    for (std::int64_t k = 0; k < lines.size(); ++k) {
        const Template::Kind kind = lines.kind(k);
        const bool labels = kind == Template::Kind::unigram || kind == Template::Kind::both;
        if (!labels && !pairs_) continue;
        const std::int64_t id = attributes_.id(made_[k].parts, made_[k].hash);
        if (id == Names::kUnknown) continue;
        const Attribute attribute{static_cast<std::uint32_t>(id), 1.0};
        if (labels) unigram_.push_back(attribute);
        if (kind != Template::Kind::unigram && pairs_) bigram_.push_back(attribute);
    }
}

}  // namespace sparsecrf
