#include "core/text/resources/word_clusters.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/error.hpp"
#include "core/base/parallel.hpp"

namespace sparsecrf {
namespace {

// n log n, from a table for small n.
class Phi {
   public:
    Phi() : table_(kSize) {
        for (std::size_t n = 1; n < kSize; ++n) table_[n] = compute(static_cast<std::int64_t>(n));
    }
    double operator()(std::int64_t n) const {
        return static_cast<std::uint64_t>(n) < kSize ? table_[static_cast<std::size_t>(n)] : compute(n);
    }

   private:
    static constexpr std::size_t kSize = 1 << 15;
    static double compute(std::int64_t n) { return static_cast<double>(n) * std::log(static_cast<double>(n)); }
    std::vector<double> table_;
};

const Phi& phi() {
    static const Phi made;
    return made;
}

constexpr std::int64_t kSmallestShare = 20'000;  // minimum number of lookups per thread

}  // namespace

void WordClusters::Around::add(std::int64_t c, Count more) {
    if (n[c] == 0) classes.push_back(c);
    n[c] += more;
}

void WordClusters::Around::clear() {
    for (const std::int64_t c : classes) n[c] = 0;
    classes.clear();
}

void WordClusters::add(const std::vector<std::string_view>& sentence) {
    if (!begun_) {
        for (const std::string_view word : sentence) {
            const std::uint32_t id = table_.intern(word);
            if (id == counts_.size()) counts_.push_back(0);
            ++counts_[id];
        }
        n_tokens_ += static_cast<std::int64_t>(sentence.size());
        return;
    }
    const auto end = static_cast<std::int32_t>(n_words()), rare = end + 1;
    std::int32_t before = end;
    for (std::size_t t = 0; t <= sentence.size(); ++t) {
        std::int32_t now = end;
        if (t < sentence.size()) {
            const auto found = table_.find(sentence[t]);
            now = found ? number_[*found] : rare;
        }
        ++pairs_[static_cast<std::uint64_t>(before) << 32 | static_cast<std::uint32_t>(now)];
        before = now;
    }
}

void WordClusters::begin(std::int64_t n_classes, std::int64_t min_count) {
    if (begun_) throw InputError("clusters: begin() may be called only once");
    if (n_classes < 1) throw InputError("clusters: expected at least 1 cluster, found ", n_classes);
    for (std::uint32_t id = 0; id < table_.size(); ++id) {
        if (counts_[id] >= min_count) words_.push_back(id);
    }
    if (words_.empty()) {
        throw InputError("text: expected words that occur at least ", min_count, min_count == 1 ? " time" : " times",
                         ", found none");
    }
    std::stable_sort(words_.begin(), words_.end(), [&](auto a, auto b) { return counts_[a] > counts_[b]; });
    number_.assign(table_.size(), static_cast<std::int32_t>(n_words()) + 1);
    for (std::int64_t w = 0; w < n_words(); ++w) number_[words_[w]] = static_cast<std::int32_t>(w);
    n_classes_ = std::min(n_classes, n_words());
    begun_ = true;
}

std::int64_t WordClusters::class_at(std::int32_t word) const {
    return word < n_words() ? class_[word] : n_classes_ + (word - n_words());
}

void WordClusters::finish() {
    if (!begun_ || finished_) throw InputError("clusters: expected finish() once, after begin()");
    finished_ = true;
    left_.resize(static_cast<std::size_t>(n_words()));
    right_.resize(static_cast<std::size_t>(n_words()));
    class_.resize(static_cast<std::size_t>(n_words()));
    members_.assign(static_cast<std::size_t>(n_classes_), 0);
    for (std::int64_t w = 0; w < n_words(); ++w) ++members_[class_[w] = w % n_classes_];
    n_.assign(static_cast<std::size_t>(size() * size()), 0);
    transposed_ = n_;
    row_.assign(static_cast<std::size_t>(size()), 0);
    column_ = row_;
    for (const auto& [pair, n] : pairs_) {
        const auto before = static_cast<std::int32_t>(pair >> 32), after = static_cast<std::int32_t>(pair & 0xffffffff);
        if (before < n_words()) right_[before].push_back({after, n});
        if (after < n_words()) left_[after].push_back({before, n});
        const std::int64_t a = class_at(before), b = class_at(after);
        at(a, b) += n;
        transposed_[b * size() + a] += n;
        row_[a] += n;
        column_[b] += n;
    }
    pairs_.clear();
    // Sort by word, so that sums do not depend on the iteration order of the hash table.
    const auto by_word = [](const Neighbour& a, const Neighbour& b) { return a.word < b.word; };
    for (std::vector<Neighbour>& around : left_) std::sort(around.begin(), around.end(), by_word);
    for (std::vector<Neighbour>& around : right_) std::sort(around.begin(), around.end(), by_word);
}

void WordClusters::look_around(std::int64_t w, Around& before, Around& after, Count& itself) const {
    before.clear();
    after.clear();
    itself = 0;
    for (const Neighbour& next : right_[w]) {
        if (next.word == w) {
            itself = next.n;
        } else {
            after.add(class_at(next.word), next.n);
        }
    }
    for (const Neighbour& next : left_[w]) {
        if (next.word != w) before.add(class_at(next.word), next.n);
    }
}

// Adds the pairs of a word to class c (sign 1) or removes them (-1).
void WordClusters::move(const Around& before, const Around& after, Count itself, std::int64_t c, int sign) {
    const auto add = [&](std::int64_t a, std::int64_t b, Count n) {
        at(a, b) += sign * n;
        transposed_[b * size() + a] += sign * n;
        row_[a] += sign * n;
        column_[b] += sign * n;
    };
    for (const std::int64_t b : after.classes) add(c, b, after.n[b]);
    for (const std::int64_t a : before.classes) add(a, c, before.n[a]);
    if (itself > 0) add(c, c, itself);
}

// The gain in F if the word joins class c, first <= c < last. Its pairs r (after) and l (before) belong to no class at
// this point:
//   sum_{b != c} phi(N(c,b) + r(b)) - phi(N(c,b))  +  sum_{a != c} phi(N(a,c) + l(a)) - phi(N(a,c))
//   + phi(N(c,c) + r(c) + l(c) + itself) - phi(N(c,c))  -  the same for R(c) and L(c)
void WordClusters::gains(const Around& before, const Around& after, Count itself, std::int64_t first, std::int64_t last,
                         std::vector<double>& out) const {
    const Phi& f = phi();
    std::fill(out.begin() + first, out.begin() + last, 0.0);
    const auto add = [&](const Around& around, const std::vector<Count>& by_neighbour) {
        for (const std::int64_t b : around.classes) {  // contiguous in c
            const Count n = around.n[b];
            const Count* const row = by_neighbour.data() + b * size();
            for (std::int64_t c = first; c < last; ++c) out[c] += f(row[c] + n) - f(row[c]);
        }
    };
    add(after, transposed_);
    add(before, n_);
    Count total_after = itself, total_before = itself;
    for (const std::int64_t b : after.classes) total_after += after.n[b];
    for (const std::int64_t a : before.classes) total_before += before.n[a];
    for (std::int64_t c = first; c < last; ++c) {
        const Count same = at(c, c), r = after.n[c], l = before.n[c];
        out[c] += f(same + r + l + itself) - f(same + r) - f(same + l) + f(same);
        out[c] -= f(row_[c] + total_after) - f(row_[c]) + f(column_[c] + total_before) - f(column_[c]);
    }
}

void WordClusters::check_finished() const {
    if (!finished_) throw InputError("clusters: expected finish() before this call");
}

std::int64_t WordClusters::exchange(int threads) {
    check_finished();
    Around before{std::vector<Count>(static_cast<std::size_t>(size()), 0), {}}, after = before;
    std::vector<double> gain(static_cast<std::size_t>(n_classes_));
    std::int64_t moved = 0;
    for (std::int64_t w = 0; w < n_words(); ++w) {
        const std::int64_t from = class_[w];
        if (members_[from] == 1) continue;
        Count itself = 0;
        look_around(w, before, after, itself);
        move(before, after, itself, from, -1);
        const auto work = static_cast<std::int64_t>(before.classes.size() + after.classes.size() + 1) * n_classes_;
        const std::int64_t parts = std::clamp<std::int64_t>(work / kSmallestShare, 1, threads);
        parallel_for(parts, threads, 1, [&](int, std::int64_t part) {
            gains(before, after, itself, part * n_classes_ / parts, (part + 1) * n_classes_ / parts, gain);
        });
        std::int64_t to = from;
        for (std::int64_t c = 0; c < n_classes_; ++c) {
            if (gain[c] > gain[to] + 1e-9 * std::abs(gain[to])) to = c;  // on a tie, the word stays
        }
        move(before, after, itself, to, 1);
        if (to == from) continue;
        class_[w] = to;
        --members_[from];
        ++members_[to];
        ++moved;
    }
    return moved;
}

double WordClusters::objective() const {
    const Phi& f = phi();
    double sum = 0.0;
    for (const Count n : n_) sum += f(n);
    for (const Count n : row_) sum -= f(n);
    for (const Count n : column_) sum -= f(n);
    return sum;
}

}  // namespace sparsecrf
