// Names to ids, and attributes of positions to a corpus: shared by the encoders of text files and of tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/corpus/corpus.hpp"
#include "core/text/attribute_lists.hpp"
#include "core/text/columns.hpp"
#include "core/text/names.hpp"
#include "core/text/template.hpp"
#include "core/text/word_vectors.hpp"

namespace sparsecrf {

// Adds sequences to a corpus: rows of columns, from which a template makes attributes, or single attributes.
class SequenceEncoder {
   public:
    struct Options {
        bool start = true;        // whether attributes of the first position condition the pair (start, label)
        bool share = true;        // as for CorpusBuilder
        bool skip_empty = false;  // a sequence without positions is left out instead of being an error
        WordRows words = {};      // of every position, if its word has a vector
        int threads = 1;          // that work on rows; 0: as many as there are cores
        // Of a model, where attributes of rows without a feature of pairs condition none; null: all do that may.
        const FeatureSet* features = nullptr;
    };
    // What is known about a position besides its attributes.
    struct Label {
        std::int32_t y = kMissing;
        double weight = 1.0;
    };

    SequenceEncoder(Names attributes, const Options& options)
        : attributes_(std::move(attributes)), options_(options), builder_(options.share), lists_(options.threads) {}

    // From now on this attribute conditions label pairs at every position, once and with value 1. Empty: none does.
    void set_bias(std::string_view name) { bias_ = name.empty() ? Names::kUnknown : attributes_.id(name); }

    // Rows of columns, which have passed the checks of the template.
    struct Batch {
        std::shared_ptr<const Template> lines;
        std::span<const Rows> sequences;
        std::span<const Label> labels;         // [positions of all]
        std::span<const double> weights = {};  // [sequences], or empty: all 1
        std::int64_t n_beside = 0;             // columns at the end of each row that are no observations
    };
    void add_rows(const Batch& batch);
    // How many positions are best added at a time; more than one thread needs many.
    std::int64_t batch_tokens() const { return lists_.batch_tokens(); }

    // Adds a sequence: fill(t) adds the attributes of position t by `add` and returns its Label. An error leaves no
    // trace of the sequence.
    template <class Fill>
    void add_sequence(double weight, std::int64_t length, Fill fill) {
        unigram_.clear();
        bigram_.clear();
        add_positions(weight, length, [&] {
            for (std::int64_t t = 0; t < length; ++t) {
                pairs_ = t > 0 || options_.start;
                if (pairs_ && bias_ != Names::kUnknown) bigram_.push_back({static_cast<std::uint32_t>(bias_), 1.0});
                const Label label = fill(t);
                builder_.add_position(unigram_, bigram_, label.y, label.weight);
            }
        });
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
    // Before a sequence is added: its words, if they have vectors.
    void begin_words() { words_here_.clear(); }
    void add_word(std::string_view word) { words_here_.push_back(options_.words.of(word, TextHash(word))); }
    bool wants_words() const { return options_.words.asked_for(); }
    // Columns that rows must have: those that the template needs, and that of the word.
    std::int64_t n_needed(const Template& lines) const;
    // Throws if words have vectors and a row of this many columns, without the label, lacks theirs. `where` begins the
    // message.
    void check_word_column(std::int64_t n_observed, const std::string& where) const;
    const Names& attributes() const { return attributes_; }
    CorpusBuilder& builder() { return builder_; }
    const CorpusBuilder& builder() const { return builder_; }
    // The corpus of everything added since the last one.
    Corpus build(std::int64_t n_labels);

   private:
    // A sequence of the corpus; add() adds its positions. An error leaves no trace of it.
    template <class Add>
    void add_positions(double weight, std::int64_t length, Add add) {
        builder_.begin_sequence(weight);
        try {
            check_words(length);
            add();
            length == 0 && options_.skip_empty ? builder_.skip_sequence() : builder_.end_sequence();
            words_.insert(words_.end(), words_here_.begin(), words_here_.end());
        } catch (...) {
            builder_.abandon_sequence();
            throw;
        }
    }
    void read_words(const Rows& rows, std::int64_t n_observed);
    void check_words(std::int64_t length) const;

    Names attributes_;
    Options options_;
    std::int64_t bias_ = Names::kUnknown;
    CorpusBuilder builder_;
    AttributeLists lists_;  // of rows
    // The current position.
    bool pairs_ = true;                        // whether its attributes can condition pairs
    std::vector<Attribute> unigram_, bigram_;  // its attributes
    std::vector<std::int32_t> words_here_;     // words of the sequence, if needed
    std::vector<std::int32_t> words_;          // of all that were added
};

}  // namespace sparsecrf
