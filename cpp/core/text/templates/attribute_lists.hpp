// Builds the attribute lists of many positions with several threads; the result is bit-identical for any number of
// threads.
//
// Ids must be the ones that a single thread would assign in data order. With several threads,
//   1. every thread looks up the attributes of its sequences in the table, which is read-only meanwhile, and records
//      those that are missing;
//   2. one thread adds the recorded attributes in data order;
//   3. every thread sorts and hashes the lists of its positions, so that only interning remains.
// Step 2 becomes faster as the table fills up. A single thread adds the attributes in step 1.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/corpus/features.hpp"
#include "core/corpus/list_pool.hpp"
#include "core/text/names.hpp"
#include "core/text/templates/attribute_finder.hpp"

namespace sparsecrf {

class AttributeLists {
   public:
    // threads: 0 uses all cores.
    explicit AttributeLists(int threads = 1);

    // The recommended maximum number of positions per call of `find`.
    std::int64_t batch_tokens() const { return threads_ > 1 ? 4 * threads_ * kPartTokens : kPartTokens; }
    // The first of these sequences, enough for a good batch. Batches are smaller at first, when nearly every attribute
    // is new and must be recorded, which takes memory.
    std::span<const Rows> first_of(std::span<const Rows> sequences, const Names& names) const;

    // Builds the lists of these sequences. start, features: as for SequenceEncoder.
    void find(const std::shared_ptr<const Template>& lines, std::span<const Rows> sequences, const Names& names,
              bool start, const FeatureSet* features);

    // Calls use(unigram, bigram) with the lists of each position of sequence i.
    template <class Use>
    void each_position(std::size_t i, Use use) const {
        const Place& place = places_[i];
        const Part& part = parts_[place.part];
        for (std::size_t t = place.begin; t < place.begin + place.length; ++t) use(part.unigram[t], part.bigram[t]);
    }

   private:
    static constexpr std::int64_t kPartTokens = 256;

    // The part of a batch that one thread processes: consecutive sequences.
    struct Part {
        std::size_t begin = 0, end = 0;          // range of sequences
        std::vector<std::uint32_t> found;        // [positions, lines] ids
        AttributeFinder::Notes notes;            // attributes without an id
        std::vector<std::uint32_t> listed;       // ids by position: first for labels, then for label pairs
        std::vector<PlainList> unigram, bigram;  // [positions] views into `listed`
    };
    struct Place {
        std::size_t part, begin, length;  // range of positions in a part
    };
    void cut(std::span<const Rows> sequences);
    void make_lists(const std::vector<Template::Kind>& kinds, std::span<const Rows> sequences, bool start,
                    const FeatureSet* features, Part& part) const;

    int threads_;
    std::vector<AttributeFinder> finders_;  // [threads]
    std::vector<Part> parts_;               // the first n_parts_ are in use; the others keep their memory
    std::size_t n_parts_ = 0;
    std::vector<Place> places_;  // [sequences]
};

}  // namespace sparsecrf
