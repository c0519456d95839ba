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
    throw InputError(where, ": expected the words that have vectors in column ", column, " (counted from 0), found ",
                     n_observed, n_observed == 1 ? " column" : " columns", " of observations");
}

void SequenceEncoder::read_words(const Rows& rows, std::int64_t n_observed) {
    const std::int64_t column = options_.words.column();
    if (rows.length > 0) check_word_column(n_observed, message("sequence ", builder_.n_seen()));
    words_here_.clear();
    for (std::int64_t t = 0; t < rows.length; ++t) {
        const HashedText& word = rows.at(t, column);
        words_here_.push_back(options_.words.of(word.text, word.hash));
    }
}

void SequenceEncoder::check_words(std::int64_t length) const {
    if (!wants_words() || static_cast<std::int64_t>(words_here_.size()) == length) return;
    throw InputError(
        "sequence ", builder_.n_seen(),
        ": expected tokens that are words or rows of columns, so that vectors can be looked up, found other tokens");
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

void SequenceEncoder::add_rows(const Batch& batch) {
    const Label* label = batch.labels.data();
    std::size_t first = 0;
    while (first < batch.sequences.size()) {
        const std::span<const Rows> some = lists_.first_of(batch.sequences.subspan(first), attributes_);
        lists_.find(batch.lines, some, attributes_, options_.start, options_.features);
        for (std::size_t i = 0; i < some.size(); ++i, ++first) {
            const Rows& rows = some[i];
            if (wants_words()) read_words(rows, rows.n_columns - batch.n_beside);
            add_positions(batch.weights.empty() ? 1.0 : batch.weights[first], rows.length, [&] {
                lists_.each_position(i, [&](const PlainList& unigram, const PlainList& bigram) {
                    builder_.add_position(unigram, bigram, label->y, label->weight);
                    ++label;
                });
            });
        }
    }
}

}  // namespace sparsecrf
