// Encodes text files as a corpus, without Python strings.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/corpus/corpus.hpp"
#include "core/corpus/features.hpp"
#include "core/text/columns.hpp"
#include "core/text/crfsuite_text.hpp"
#include "core/text/sequence_encoder.hpp"
#include "core/text/templates/template.hpp"

namespace sparsecrf {

class TextEncoder {
   public:
    // Unless the names grow, unknown attributes are left out and unknown labels are missing.
    // start: whether bigram attributes of the first position condition the pair (start, label).
    // missing: the text of an unknown label, or empty. between_labels: the separator of the labels of a set; empty
    // without label sets. share: as for CorpusBuilder. words: the words of positions, whose vectors become dense
    // columns. threads: for column files, 0 uses all cores. features: features of a model, as for SequenceEncoder.
    TextEncoder(Names attributes, Names labels, bool start, std::string missing = {}, std::string between_labels = {},
                bool share = true, WordRows words = {}, int threads = 1, const FeatureSet* features = nullptr)
        : sequences_(
              std::move(attributes),
              {.start = start, .share = share, .words = std::move(words), .threads = threads, .features = features}),
          labels_(std::move(labels)),
          missing_(std::move(missing)),
          between_labels_(std::move(between_labels)) {}

    // Adds all sequences of the reader's piece; the last column is the label. Throws the error of the first invalid
    // sequence, after adding the sequences before it.
    void add(ColumnReader& reader, const std::shared_ptr<const Template>& lines);
    // The same, but is_labelled determines for the whole piece whether the last column is the label. It throws if a
    // sequence does not fit the template, and is called again only if the result could differ; `where`: file and line.
    // `note` is called with each sequence.
    using IsLabelled = std::function<bool(const Rows&, const std::string& where)>;
    using Note = std::function<void(const Rows&)>;
    void add(ColumnReader& reader, const std::shared_ptr<const Template>& lines, const IsLabelled& is_labelled,
             const Note& note);
    // Attributes of items condition labels; `bias`, if not empty, conditions label pairs at every position. features:
    // features of a model, whose pair features decide which attributes condition pairs; null if none do.
    void add(const Items& items, std::string_view bias, const FeatureSet* features = nullptr);

    std::int64_t n_sequences() const { return sequences_.builder().n_sequences(); }
    std::int64_t n_tokens() const { return sequences_.builder().n_tokens(); }
    // The number of observation columns that rows must have.
    std::int64_t n_needed(const Template& lines) const { return sequences_.n_needed(lines); }
    // The corpus of everything added since the last call.
    Corpus build() { return sequences_.build(labels_.size()); }

   private:
    // The label or label set with this text. Errors do not name a location.
    std::int32_t label(std::string_view text);
    std::int32_t label_set(std::string_view text);
    void read_labels(const Rows& rows, const ColumnReader& reader);

    SequenceEncoder sequences_;
    Names labels_;
    std::string missing_, between_labels_;
    std::vector<Rows> batch_;                        // sequences still to be added; memory is reused
    std::vector<SequenceEncoder::Label> labels_of_;  // labels of their positions
};

}  // namespace sparsecrf
