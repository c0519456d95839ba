// Maps names to ids and builds a corpus from the attributes of positions; shared by the encoders of text files and of
// tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/corpus/corpus.hpp"
#include "core/text/columns.hpp"
#include "core/text/names.hpp"
#include "core/text/resources/word_vectors.hpp"
#include "core/text/templates/attribute_lists.hpp"
#include "core/text/templates/template.hpp"

namespace sparsecrf {

// Adds sequences to a corpus: rows of columns, to which a template is applied, or individual attributes.
class SequenceEncoder {
   public:
    struct Options {
        bool start = true;        // whether attributes of the first position condition the pair (start, label)
        bool share = true;        // see CorpusBuilder
        bool skip_empty = false;  // skip a sequence without positions instead of throwing
        WordRows words = {};      // word vectors of positions
        int threads = 1;          // for rows; 0 means all cores
        // Features of a model, or null. If given, an attribute of a row conditions pairs only if it has a pair feature;
        // otherwise all attributes that can condition pairs do.
        const FeatureSet* features = nullptr;
    };
    // Label and weight of a position.
    struct Label {
        std::int32_t y = kMissing;
        double weight = 1.0;
    };

    SequenceEncoder(Names attributes, const Options& options)
        : attributes_(std::move(attributes)), options_(options), builder_(options.share), lists_(options.threads) {}

    // Makes this attribute condition label pairs, with value 1, at every position added later. Empty means none.
    void set_bias(std::string_view name) { bias_ = name.empty() ? Names::kUnknown : attributes_.id(name); }

    // Rows of columns that have passed the checks of the template.
    struct Batch {
        std::shared_ptr<const Template> lines;
        std::span<const Rows> sequences;
        std::span<const Label> labels;         // [positions of all sequences]
        std::span<const double> weights = {};  // [sequences]; empty if all are 1
        std::int64_t n_beside = 0;             // number of trailing columns of each row that are not observations
    };
    void add_rows(const Batch& batch);
    // The recommended number of positions to add at a time; several threads need large batches.
    std::int64_t batch_tokens() const { return lists_.batch_tokens(); }

    // Adds a sequence: fill(t) adds the attributes of position t through `add` and returns its Label. If an error is
    // thrown, the sequence is removed.
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
    // The same without a corpus: use(unigram, bigram) receives the attributes of each position and may modify the
    // lists. Stops and returns false as soon as `use` returns false.
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
    // Adds an attribute of the position. It conditions labels and, optionally, label pairs.
    void add(std::uint32_t id, double value, bool conditions_pairs) {
        unigram_.push_back({id, value});
        if (pairs_ && conditions_pairs && id != bias_) bigram_.push_back({id, value});
    }
    // If words have vectors: call begin_words before adding a sequence, then add_word for each of its words.
    void begin_words() { words_here_.clear(); }
    void add_word(std::string_view word) { words_here_.push_back(options_.words.of(word, TextHash(word))); }
    bool wants_words() const { return options_.words.asked_for(); }
    // The number of columns that rows must have for the template and the word column.
    std::int64_t n_needed(const Template& lines) const;
    // Throws if words have vectors but rows with `n_observed` columns, not counting the label, have no word column.
    // `where` begins the message.
    void check_word_column(std::int64_t n_observed, const std::string& where) const;
    const Names& attributes() const { return attributes_; }
    CorpusBuilder& builder() { return builder_; }
    const CorpusBuilder& builder() const { return builder_; }
    // The corpus of everything added since the last call.
    Corpus build(std::int64_t n_labels);

   private:
    // Adds a sequence, whose positions are added by add(). If an error is thrown, the sequence is removed.
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
    AttributeLists lists_;  // used for rows
    // The current position.
    bool pairs_ = true;                        // whether its attributes can condition pairs
    std::vector<Attribute> unigram_, bigram_;  // its attributes
    std::vector<std::int32_t> words_here_;     // words of the sequence, if needed
    std::vector<std::int32_t> words_;          // words of all sequences added
};

}  // namespace sparsecrf
