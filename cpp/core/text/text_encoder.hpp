// Encodes text files as a corpus, without Python strings.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/corpus/corpus.hpp"
#include "core/corpus/features.hpp"
#include "core/text/columns.hpp"
#include "core/text/crfsuite_text.hpp"
#include "core/text/sequence_encoder.hpp"
#include "core/text/template.hpp"

namespace sparsecrf {

class TextEncoder {
   public:
    // Unknown attributes are left out, unknown labels are missing, unless the names grow.
    // start: whether bigram attributes of the first position condition the pair (start, label).
    // missing: the text of a label that is not known; empty: there is none. between_labels: what separates the labels
    // of a set; empty: there are none. share: as for CorpusBuilder.
    // words: of positions, whose vectors are dense columns. threads: that work on columns, 0: as many as there are
    // cores. features: of a model, as for SequenceEncoder.
    TextEncoder(Names attributes, Names labels, bool start, std::string missing = {}, std::string between_labels = {},
                bool share = true, WordRows words = {}, int threads = 1, const FeatureSet* features = nullptr)
        : sequences_(
              std::move(attributes),
              {.start = start, .share = share, .words = std::move(words), .threads = threads, .features = features}),
          labels_(std::move(labels)),
          missing_(std::move(missing)),
          between_labels_(std::move(between_labels)) {}

    // Adds all sequences of the reader's piece; the last column is the label. An error is that of the first sequence
    // that is wrong; those before it have been added.
    void add(ColumnReader& reader, const std::shared_ptr<const Template>& lines);
    // The same where is_labelled says whether the last column is the label, for all sequences of the piece alike. It
    // throws for one that does not fit the template, and is asked again only where the next could differ; `where`: file
    // and line. `note` is called with one after the other.
    using IsLabelled = std::function<bool(const Rows&, const std::string& where)>;
    using Note = std::function<void(const Rows&)>;
    void add(ColumnReader& reader, const std::shared_ptr<const Template>& lines, const IsLabelled& is_labelled,
             const Note& note);
    // Attributes of items condition labels; `bias`, if not empty, conditions label pairs at every position. `features`:
    // those of a model, whose attributes condition pairs if they have such a feature; null: none of them does.
    void add(const Items& items, std::string_view bias, const FeatureSet* features = nullptr);

    std::int64_t n_sequences() const { return sequences_.builder().n_sequences(); }
    std::int64_t n_tokens() const { return sequences_.builder().n_tokens(); }
    // Columns of observations that rows must have.
    std::int64_t n_needed(const Template& lines) const { return sequences_.n_needed(lines); }
    // The corpus of everything added since the last one.
    Corpus build() { return sequences_.build(labels_.size()); }

   private:
    // The label, or set of labels, of this text. Throws without a place.
    std::int32_t label(std::string_view text);
    std::int32_t label_set(std::string_view text);
    void read_labels(const Rows& rows, const ColumnReader& reader);

    SequenceEncoder sequences_;
    Names labels_;
    std::string missing_, between_labels_;
    std::vector<Rows> batch_;                        // sequences still to be added; keeps its memory
    std::vector<SequenceEncoder::Label> labels_of_;  // of their positions
};

}  // namespace sparsecrf
