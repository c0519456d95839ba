// From text files to a corpus, without Python strings.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/corpus/corpus.hpp"
#include "core/corpus/features.hpp"
#include "core/corpus/string_table.hpp"
#include "core/text/columns.hpp"
#include "core/text/crfsuite_text.hpp"
#include "core/text/template.hpp"

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

   private:
    std::shared_ptr<const StringTable> table_;
    std::shared_ptr<StringTable> growing_;  // null: look up only
};

// Makes the attributes of positions from a template.
class Expander {
   public:
    // start: whether bigram attributes of the first position condition the pair (start, label).
    Expander(Names attributes, bool start) : attributes_(std::move(attributes)), start_(start) {}

    // Appends the attributes of position t that have an id.
    void expand(const Template& lines, const Rows& rows, std::int64_t t, std::vector<Attribute>& unigram,
                std::vector<Attribute>& bigram);

    const Names& attributes() const { return attributes_; }
    bool start() const { return start_; }

   private:
    Names attributes_;
    bool start_;
    std::vector<Expansion> made_;  // attributes of the current position, one a line of the template
};

class TextEncoder {
   public:
    // Unknown attributes are left out, unknown labels are missing, unless the names grow.
    // start: whether bigram attributes of the first position condition the pair (start, label).
    // missing: the text of a label that is not known; empty: there is none. share: as for CorpusBuilder.
    TextEncoder(Names attributes, Names labels, bool start, std::string missing = {}, bool share = true)
        : expander_(std::move(attributes), start),
          labels_(std::move(labels)),
          missing_(std::move(missing)),
          builder_(share) {}

    // labelled: the last column is the label.
    void add(const Rows& rows, const Template& lines, bool labelled);
    // Attributes of items condition labels; `bias`, if not empty, conditions label pairs at every position. `features`:
    // those of a model, whose attributes condition pairs if they have such a feature; null: none of them does.
    void add(const Items& items, std::string_view bias, const FeatureSet* features = nullptr);

    std::int64_t n_sequences() const { return builder_.n_sequences(); }
    std::int64_t n_tokens() const { return builder_.n_tokens(); }
    // The corpus of what was added since the last one.
    Corpus build() { return builder_.build(labels_.size(), expander_.attributes().size()); }

   private:
    struct Sequence;
    std::int32_t label(std::string_view name) const;

    Expander expander_;
    Names labels_;
    std::string missing_;
    CorpusBuilder builder_;
    std::vector<Attribute> unigram_, bigram_;  // of the current position
};

}  // namespace sparsecrf
