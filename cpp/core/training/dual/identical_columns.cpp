#include "core/training/dual/identical_columns.hpp"

namespace sparsecrf {
namespace {

constexpr std::uint32_t kNone = 0xffffffffu;

struct Class {
    std::uint32_t size = 0;      // number of attributes
    std::uint32_t list = kNone;  // the last list with attributes of the class
    std::uint32_t moved = 0;     // the class that these attributes moved to
    double value = 0.0;          // value of the attributes in the list that created this class
};

}  // namespace

// Partition refinement: for every list, the attributes of a class that are in the list split off into a new class.
std::vector<std::uint32_t> identical_columns(const ListPool& lists, std::vector<std::uint32_t> of) {
    std::vector<Class> classes(of.size());
    for (const std::uint32_t c : of) ++classes[c].size;
    std::vector<std::uint32_t> free;
    for (auto c = static_cast<std::uint32_t>(classes.size()); c-- > 0;) {
        if (classes[c].size == 0) free.push_back(c);
    }
    for (std::uint32_t list = 0; list < lists.size(); ++list) {
        for (std::int64_t e = lists.begin(list); e < lists.end(list); ++e) {
            std::uint32_t& c = of[lists.id(e)];
            const double value = lists.value(e);
            if (classes[c].list != list || classes[classes[c].moved].value != value) {
                if (classes[c].size == 1) continue;
                classes[c].moved = free.back();  // not empty, because class c has two attributes
                classes[c].list = list;
                free.pop_back();
                classes[classes[c].moved] = {0, kNone, 0, value};
            }
            const std::uint32_t to = classes[c].moved;
            ++classes[to].size;
            if (--classes[c].size == 0) free.push_back(c);
            c = to;
        }
    }
    return of;
}

}  // namespace sparsecrf
