// The attribute lists of many positions, made by several threads, the same to the bit for any number of them.
//
// Ids must be those that one thread would give, in the order of the data. With several threads,
//   1. every thread looks up the attributes of its sequences in the table, which nobody changes meanwhile, and notes
//      what is not there;
//   2. one thread adds what was noted, in the order of the data;
//   3. every thread sorts and hashes the lists of its positions, so that only their interning is left.
// Step 2 takes less time as the table fills up. One thread adds to the table in step 1.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/corpus/features.hpp"
#include "core/corpus/list_pool.hpp"
#include "core/text/attribute_finder.hpp"
#include "core/text/names.hpp"

namespace sparsecrf {

class AttributeLists {
   public:
    // threads: 0: as many as there are cores.
    explicit AttributeLists(int threads = 1);

    // How many positions are best given to `find` at a time, at most.
    std::int64_t batch_tokens() const { return threads_ > 1 ? 4 * threads_ * kPartTokens : kPartTokens; }
    // As many of these sequences. At first nearly every attribute is noted, which needs memory: there are fewer then.
    std::span<const Rows> first_of(std::span<const Rows> sequences, const Names& names) const;

    // Makes the lists of these sequences. start, features: as for SequenceEncoder.
    void find(const std::shared_ptr<const Template>& lines, std::span<const Rows> sequences, const Names& names,
              bool start, const FeatureSet* features);

    // Calls use(unigram, bigram) with the lists of each position of sequence i of those.
    template <class Use>
    void each_position(std::size_t i, Use use) const {
        const Place& place = places_[i];
        const Part& part = parts_[place.part];
        for (std::size_t t = place.begin; t < place.begin + place.length; ++t) use(part.unigram[t], part.bigram[t]);
    }

   private:
    static constexpr std::int64_t kPartTokens = 256;

    // Consecutive sequences that one thread works on.
    struct Part {
        std::size_t begin = 0, end = 0;          // of the sequences
        std::vector<std::uint32_t> found;        // [positions, lines] ids
        AttributeFinder::Notes notes;            // of those that have none yet
        std::vector<std::uint32_t> listed;       // ids by position, first those of labels, then those of label pairs
        std::vector<PlainList> unigram, bigram;  // [positions] views into `listed`
    };
    struct Place {
        std::size_t part, begin, length;  // positions of a part
    };
    void cut(std::span<const Rows> sequences);
    void make_lists(const std::vector<Template::Kind>& kinds, std::span<const Rows> sequences, bool start,
                    const FeatureSet* features, Part& part) const;

    int threads_;
    std::vector<AttributeFinder> finders_;  // [threads]
    std::vector<Part> parts_;               // n_parts_ are in use; the others keep their memory
    std::size_t n_parts_ = 0;
    std::vector<Place> places_;  // [sequences]
};

}  // namespace sparsecrf
