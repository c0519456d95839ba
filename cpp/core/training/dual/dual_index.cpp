// The layout of attributes and sequences in DualSpace: rows shared by attributes, and the positions where rows occur.
#include <algorithm>
#include <atomic>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/base/lanes.hpp"
#include "core/base/parallel.hpp"
#include "core/training/dual/dual_space.hpp"
#include "core/training/dual/identical_columns.hpp"

namespace sparsecrf {
namespace {

constexpr std::int64_t kAtOnce = 64;  // sequences that are indexed together

}  // namespace

// Rows are numbered by first occurrence, so that the rare rows of a sequence are adjacent.
void DualSpace::find_rows(const FeatureSet* features) {
    const auto bytes = static_cast<std::size_t>(stride / kLanes);
    std::vector<std::uint8_t> allowed;  // [X, bytes]
    std::vector<std::uint32_t> classes(corpus.n_attributes, 0);
    if (features != nullptr) {
        allowed.assign(corpus.n_attributes * bytes, 0);
        std::unordered_map<std::string, std::uint32_t> seen;
        for (std::uint32_t x = 0; x < corpus.n_attributes; ++x) {
            std::uint8_t* bits = allowed.data() + x * bytes;
            for (std::int64_t k = features->unigram_ptr[x]; k < features->unigram_ptr[x + 1]; ++k) {
                const std::size_t y = features->unigram_label[static_cast<std::size_t>(k)];
                bits[y / kLanes] |= static_cast<std::uint8_t>(1u << (y % kLanes));
            }
            classes[x] = seen.try_emplace(std::string(bits, bits + bytes), static_cast<std::uint32_t>(seen.size()))
                             .first->second;
        }
    }
    classes = identical_columns(corpus.unigram_lists, std::move(classes));
    constexpr std::uint32_t kNone = 0xffffffffu;
    std::vector<std::uint32_t> row_of_class(corpus.n_attributes, kNone);
    row_of.assign(corpus.n_attributes, kNone);
    const auto add = [&](std::uint32_t x) {
        if (row_of[x] != kNone) return;
        std::uint32_t& row = row_of_class[classes[x]];
        if (row == kNone) {
            row = static_cast<std::uint32_t>(one_of_.size());
            one_of_.push_back(x);
            n_of_.push_back(0.0);
            if (features != nullptr) {
                allowed_.insert(allowed_.end(), &allowed[x * bytes], &allowed[x * bytes] + bytes);
            }
        }
        row_of[x] = row;
        n_of_[row] += 1.0;
    };
    for (const std::uint32_t x : corpus.unigram_lists.ids()) add(x);
    for (std::uint32_t x = 0; x < corpus.n_attributes; ++x) add(x);
    Z.assign(one_of_.size() * static_cast<std::size_t>(stride), 0.0);
    active.assign(one_of_.size(), rho1 == 0.0);
}

void DualSpace::index_sequences() {
    const ListPool& lists = corpus.unigram_lists;
    const auto for_each_row = [&](std::uint32_t list, auto visit) {  // visit(row, value)
        for (std::int64_t e = lists.begin(list); e < lists.end(list); ++e) {
            const std::uint32_t row = row_of[lists.id(e)];
            if (one_of_[row] == lists.id(e)) visit(row, lists.value(e));
        }
    };
    std::vector<std::uint32_t> n_rows(lists.size(), 0);
    parallel_for(static_cast<std::int64_t>(lists.size()), threads_, 1024, [&](int, std::int64_t list) {
        const auto k = static_cast<std::uint32_t>(list);
        for_each_row(k, [&](std::uint32_t, double) { ++n_rows[k]; });
    });
    first_at_.push_back(0);
    for (std::int64_t i = 0; i < corpus.n_sequences(); ++i) {
        std::int64_t n = 0;
        for (std::int64_t t = corpus.offsets[i]; t < corpus.offsets[i + 1]; ++t) n += n_rows[corpus.unigram[t]];
        first_at_.push_back(first_at_.back() + n);
    }
    const auto n_at = static_cast<std::size_t>(first_at_.back());
    at_ = std::make_unique_for_overwrite<std::uint32_t[]>(n_at);
    if (lists.has_values()) value_ = std::make_unique_for_overwrite<double[]>(n_at);

    const auto index = [&](std::int64_t i, std::vector<std::uint32_t>& next, Piece& to) {
        const auto first = static_cast<std::ptrdiff_t>(to.row.size());
        const auto for_each = [&](auto visit) {  // visit(row, value, position)
            for (std::int64_t t = corpus.offsets[i]; t < corpus.offsets[i + 1]; ++t) {
                for_each_row(corpus.unigram[t], [&](std::uint32_t row, double value) {
                    visit(row, value, static_cast<std::uint32_t>(t - corpus.offsets[i]));
                });
            }
        };
        for_each([&](std::uint32_t row, double, std::uint32_t) {
            if (next[row]++ == 0) to.row.push_back(row);
        });
        std::sort(to.row.begin() + first, to.row.end());
        std::uint32_t sum = 0;
        for (auto row = to.row.begin() + first; row != to.row.end(); ++row) {
            to.ptr.push_back(sum);
            sum += std::exchange(next[*row], sum);
        }
        to.ptr.push_back(sum);
        const auto first_at = static_cast<std::size_t>(first_at_[static_cast<std::size_t>(i)]);
        for_each([&](std::uint32_t row, double value, std::uint32_t t) {
            const std::size_t k = first_at + next[row]++;
            at_[k] = t;
            if (value_ != nullptr) value_[k] = value;
        });
        for (auto row = to.row.begin() + first; row != to.row.end(); ++row) next[*row] = 0;
    };
    const std::int64_t n_pieces = (corpus.n_sequences() + kAtOnce - 1) / kAtOnce;
    std::vector<Piece> pieces(static_cast<std::size_t>(n_pieces));
    std::vector<std::vector<std::uint32_t>> scratch(static_cast<std::size_t>(threads_));  // [threads] [R]
    first_.assign(static_cast<std::size_t>(corpus.n_sequences()) + 1, 0);
    parallel_for(n_pieces, threads_, 1, [&](int thread, std::int64_t p) {
        Piece& piece = pieces[static_cast<std::size_t>(p)];
        std::vector<std::uint32_t>& next = scratch[static_cast<std::size_t>(thread)];
        next.resize(one_of_.size(), 0);
        for (std::int64_t i = p * kAtOnce; i < std::min((p + 1) * kAtOnce, corpus.n_sequences()); ++i) {
            index(i, next, piece);
            first_[static_cast<std::size_t>(i) + 1] = static_cast<std::int64_t>(piece.row.size());
        }
    });
    join(pieces);
    sum_masses();
}

// Concatenates the rows of all pieces.
void DualSpace::join(std::vector<DualSpace::Piece>& pieces) {
    std::int64_t before = 0;  // rows of earlier pieces
    for (std::size_t k = 1; k < first_.size(); ++k) {
        first_[k] += before;
        if (k % kAtOnce == 0) before = first_[k];
    }
    const auto n_rows = static_cast<std::size_t>(first_.back());
    row_ = std::make_unique_for_overwrite<std::uint32_t[]>(n_rows);
    ptr_ = std::make_unique_for_overwrite<std::uint32_t[]>(n_rows + first_.size());
    parallel_for(static_cast<std::int64_t>(pieces.size()), threads_, 1, [&](int, std::int64_t p) {
        const std::int64_t i = p * kAtOnce, first = first_[static_cast<std::size_t>(i)];
        const Piece piece = std::move(pieces[static_cast<std::size_t>(p)]);
        std::copy(piece.row.begin(), piece.row.end(), row_.get() + first);
        std::copy(piece.ptr.begin(), piece.ptr.end(), ptr_.get() + first + i);
    });
}

// A thread adds only to its own rows, in the order of positions.
void DualSpace::sum_masses() {
    std::vector<std::atomic<std::uint32_t>> count(one_of_.size());
    parallel_for(first_.back(), threads_, 1 << 14, [&](int, std::int64_t k) {
        count[row_[static_cast<std::size_t>(k)]].fetch_add(1, std::memory_order_relaxed);
    });
    sequences_.assign(count.begin(), count.end());
    mass_.assign(one_of_.size(), 0.0);
    const std::vector<std::uint32_t> ends = shares(threads_);
    parallel_for(threads_, threads_, 1, [&](int, std::int64_t share) {
        const auto k = static_cast<std::size_t>(share);
        for (std::int64_t i = 0; i < corpus.n_sequences(); ++i) {
            const DualRows of = rows(i);
            const std::uint32_t* row = std::lower_bound(of.row, of.row + of.n, ends[k]);
            for (; row != of.row + of.n && *row < ends[k + 1]; ++row) {
                for (std::uint32_t e = of.ptr[row - of.row]; e < of.ptr[row - of.row + 1]; ++e) {
                    const double value = of.value == nullptr ? 1.0 : of.value[e];
                    mass_[*row] += corpus.weight(i) * value * value;
                }
            }
        }
    });
}

void DualSpace::find_pair_rows() {
    for (const ListPool* lists : {&corpus.base_lists, &corpus.rest_lists}) {
        for (const std::uint32_t x : lists->ids()) pair_row[x] = 0;
    }
    for (std::uint32_t x = 0; x < corpus.n_attributes; ++x) {
        if (pair_row[x] < 0) continue;
        pair_row[x] = static_cast<std::int32_t>(pair_attribute.size());
        pair_attribute.push_back(x);
    }
    Z_pairs.assign(pair_attribute.size() * pairs, 0.0);
    pair_mass_.assign(pair_attribute.size(), 0.0);
    pair_sequences_.assign(pair_attribute.size(), 0.0);
    std::vector<std::int64_t> last(pair_attribute.size(), -1);  // last sequence of each row
    for (std::int64_t i = 0; i < corpus.n_sequences(); ++i) {
        for (std::int64_t t = corpus.offsets[i]; t < corpus.offsets[i + 1]; ++t) {
            for (const auto& [lists, list] :
                 {std::pair{&corpus.base_lists, corpus.base[t]}, std::pair{&corpus.rest_lists, corpus.rest[t]}}) {
                for (std::int64_t e = lists->begin(list); e < lists->end(list); ++e) {
                    const double value = lists->value(e);
                    const auto row = static_cast<std::size_t>(pair_row[lists->id(e)]);
                    pair_mass_[row] += corpus.weight(i) * value * value;
                    if (std::exchange(last[row], i) != i) pair_sequences_[row] += 1.0;
                }
            }
        }
    }
}

void DualSpace::restrict_pairs(const FeatureSet& features) {
    allowed_pairs.assign(Z_pairs.size(), 0.0);
    for (std::size_t r = 0; r < pair_attribute.size(); ++r) {
        for (const std::uint32_t pair : features.bigram_pairs_of(pair_attribute[r]))
            allowed_pairs[r * pairs + pair] = 1.0;
    }
}

}  // namespace sparsecrf
