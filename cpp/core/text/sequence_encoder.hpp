// Names to ids, and the attributes of positions to a corpus: what the encoders of text files and of tokens share.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/corpus/corpus.hpp"
#include "core/corpus/string_table.hpp"
#include "core/text/columns.hpp"
#include "core/text/template.hpp"
#include "core/text/word_vectors.hpp"

namespace sparsecrf {

// Looks names up, or gives new ones an id.
class Names {
   public:
    Names(std::shared_ptr<const StringTable> table) : table_(std::move(table)) {}
    Names(std::shared_ptr<StringTable> table, bool grow) : table_(table), growing_(grow ? table : nullptr) {}

    static constexpr std::int64_t kUnknown = -1;
    std::int64_t id(std::span<const std::string_view> parts, const TextHash& hash) const {
        if (growing_) return growing_->intern(parts, hash);
        const auto found = table_->find(parts, hash);
        return found ? static_cast<std::int64_t>(*found) : kUnknown;
    }
    std::int64_t id(std::string_view name) const { return id({&name, 1}, TextHash(name)); }
    void prefetch(const TextHash& hash) const { table_->prefetch(hash); }
    std::int64_t size() const { return table_->size(); }
    const StringTable& table() const { return *table_; }

   private:
    std::shared_ptr<const StringTable> table_;
    std::shared_ptr<StringTable> growing_;  // null: look up only
};

// Adds sequences to a corpus, position by position.
class SequenceEncoder {
   public:
    struct Options {
        bool start = true;        // whether attributes of the first position condition the pair (start, label)
        bool share = true;        // as for CorpusBuilder
        bool skip_empty = false;  // a sequence without positions is left out instead of being an error
        WordRows words = {};      // of every position, if its word has a vector
    };
    // What is known of a position beside its attributes.
    struct Label {
        std::int32_t y = kMissing;
        double weight = 1.0;
    };

    SequenceEncoder(Names attributes, const Options& options)
        : attributes_(std::move(attributes)), options_(options), builder_(options.share) {}

    // From now on this attribute conditions label pairs at every position, once and with value 1. Empty: none does.
    void set_bias(std::string_view name) { bias_ = name.empty() ? Names::kUnknown : attributes_.id(name); }

    // Adds a sequence: fill(t) adds the attributes of position t by `add` or `expand` and returns its Label. An error
    // leaves no trace of the sequence.
    template <class Fill>
    void add_sequence(double weight, std::int64_t length, Fill fill) {
        unigram_.clear();
        bigram_.clear();
        builder_.begin_sequence(weight);
        try {
            check_words(length);
            for (std::int64_t t = 0; t < length; ++t) {
                pairs_ = t > 0 || options_.start;
                if (pairs_ && bias_ != Names::kUnknown) bigram_.push_back({static_cast<std::uint32_t>(bias_), 1.0});
                const Label label = fill(t);
                builder_.add_position(unigram_, bigram_, label.y, label.weight);
            }
            length == 0 && options_.skip_empty ? builder_.skip_sequence() : builder_.end_sequence();
            words_.insert(words_.end(), words_here_.begin(), words_here_.end());
        } catch (...) {
            builder_.abandon_sequence();
            throw;
        }
    }
    // The same without a corpus: use(unigram, bigram) gets the attributes of each position and may change the lists.
    // Returns false as soon as `use` does.
    template <class Fill, class Use>
    bool each_position(std::int64_t length, Fill fill, Use use) {
        bool done = true;
        for (std::int64_t t = 0; t < length && done; ++t) {
            pairs_ = t > 0 || options_.start;
            if (pairs_ && bias_ != Names::kUnknown) bigram_.push_back({static_cast<std::uint32_t>(bias_), 1.0});
            fill(t);
            done = use(unigram_, bigram_);
            unigram_.clear();
            bigram_.clear();
        }
        return done;
    }
    // An attribute of the position. It conditions labels and, if said so, label pairs.
    void add(std::uint32_t id, double value, bool conditions_pairs) {
        unigram_.push_back({id, value});
        if (pairs_ && conditions_pairs && id != bias_) bigram_.push_back({id, value});
    }
    // Before `expand` for the positions of a sequence: what the template makes of its cells one by one, and its words.
    // n_observed: columns without the label.
    void read(const Template& lines, const Rows& rows, std::int64_t n_observed) {
        values_.compute(lines.functions(), rows);
        if (options_.words.asked_for()) read_words(rows, n_observed);
    }
    // The same for words that are no cells.
    void begin_words() { words_here_.clear(); }
    void add_word(std::string_view word) { words_here_.push_back(options_.words.of(word, TextHash(word))); }
    bool wants_words() const { return options_.words.asked_for(); }
    // Columns that rows must have: those that the template needs, and that of the word.
    std::int64_t n_needed(const Template& lines) const;
    // Throws if words have vectors and so many columns, without the label, do not have them. `where` begins the
    // message.
    void check_word_column(std::int64_t n_observed, const std::string& where) const;
    // The attributes of position t that the template makes and that have an id.
    void expand(const Template& lines, const Rows& rows, std::int64_t t);

    const Names& attributes() const { return attributes_; }
    CorpusBuilder& builder() { return builder_; }
    const CorpusBuilder& builder() const { return builder_; }
    // The corpus of what was added since the last one.
    Corpus build(std::int64_t n_labels);

   private:
    void read_words(const Rows& rows, std::int64_t n_observed);
    void check_words(std::int64_t length) const;

    Names attributes_;
    Options options_;
    std::int64_t bias_ = Names::kUnknown;
    CorpusBuilder builder_;
    // The current position.
    bool pairs_ = true;                        // whether its attributes can condition pairs
    std::vector<Attribute> unigram_, bigram_;  // empty between positions
    std::vector<Expansion> made_;              // attributes, one a line of the template
    WordValues values_;                        // of the sequence
    std::vector<std::int32_t> words_here_;     // of the sequence, if they are asked for
    std::vector<std::int32_t> words_;          // of all that were added
};

}  // namespace sparsecrf
