#include "core/training/factor_ascent.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/base/aligned.hpp"
#include "core/base/in_phases.hpp"
#include "core/base/lanes.hpp"
#include "core/base/sum_of_blocks.hpp"
#include "core/simd/kernels.hpp"

namespace sparsecrf {
namespace {

constexpr std::size_t kMostInBlock = 64;   // sequences
constexpr std::size_t kFewestRounds = 16;  // blocks are smaller if there are few sequences
constexpr int kNewtonSteps = 4;
constexpr double kSmallestStep = 1e-4;  // smallest change of s
constexpr double kEnough = 1e-4;        // stop after a full sweep that raises D by a smaller fraction
constexpr int kAllEvery = 5;            // one sweep in kAllEvery is full; others skip sequences that stayed at s = 1

double x_log_x(double x) { return x > 0.0 ? x * std::log(x) : 0.0; }

}  // namespace

double MixedEntropy::at(double s) const {
    if (s == 1.0) return weight * h;
    return weight * (-x_log_x(1.0 - s + s * q) - (1.0 - q) * x_log_x(s) + s * (h + x_log_x(q)));
}

double MixedEntropy::slope(double s) const {
    constexpr double kTiny = 1e-300;
    const double logs = std::log(std::max(1.0 - s + s * q, kTiny)) - std::log(std::max(s, kTiny));
    return weight * (h + x_log_x(q) + (1.0 - q) * logs);
}

double MixedEntropy::curvature(double s) const {
    constexpr double kTiny = 1e-9;
    return weight * (1.0 - q) * ((1.0 - q) / std::max(1.0 - s + s * q, kTiny) + 1.0 / std::max(s, kTiny));
}

double factor_bound(std::span<const MixedEntropy> entropy, std::span<const double> s, std::span<const double> rho1,
                    double rho2, std::span<const double> G, int threads) {
    std::vector<double> sums;
    const double H = sum_of_blocks(s.size(), threads, 1, sums, [&](std::size_t first, std::size_t n) {
        double sum = 0.0;
        for (std::size_t i = first; i < first + n; ++i) sum += entropy[i].at(s[i]);
        return sum;
    });
    const double excess = sum_of_blocks(G.size(), threads, 4, sums, [&](std::size_t first, std::size_t n) {
        double sum = 0.0;
        for (std::size_t k = first; k < first + n; ++k) {
            const double over = std::max(std::fabs(G[k]) - rho1[k], 0.0);
            sum += over * over;
        }
        return sum;
    });
    return H - excess / (2.0 * rho2);
}

namespace {

class FactorAscent {
   public:
    // free: the items whose factors may change, in ascending order, with the gradient of each. entropy: [items].
    // rho1: [L]. Keeps references to entropy and rho1.
    FactorAscent(std::vector<std::size_t> free, std::vector<SequenceGradient> gradients,
                 std::span<const MixedEntropy> entropy, std::span<const double> rho1, double rho2, int threads)
        : free_(std::move(free)),
          gradients_(std::move(gradients)),
          resting_(free_.size(), 0),
          entropy_(entropy),
          rho1_(rho1),
          rho2_(rho2),
          threads_(threads) {
        const std::size_t size = std::clamp(free_.size() / (kFewestRounds * kBlocks), std::size_t{1}, kMostInBlock);
        for (std::size_t first = 0; first < free_.size(); first += size) {
            blocks_.push_back({first, std::min(first + size, free_.size()), {}, {}});
        }
        std::vector<std::vector<std::uint32_t>> index(static_cast<std::size_t>(threads));  // [L] index in a block + 1
        parallel_for(static_cast<std::int64_t>(blocks_.size()), threads, 1, [&](int thread, std::int64_t b) {
            Block& block = blocks_[static_cast<std::size_t>(b)];
            std::vector<std::uint32_t>& of = index[static_cast<std::size_t>(thread)];
            of.resize(rho1_.size(), 0);
            for (std::size_t j = block.first; j < block.end; ++j) {
                for (const std::uint32_t place : gradients_[j].place) {
                    if (!std::exchange(of[place], 1)) block.place.push_back(place);
                }
            }
            std::sort(block.place.begin(), block.place.end());
            for (std::uint32_t k = 0; k < block.place.size(); ++k) of[block.place[k]] = k;
            for (std::size_t j = block.first; j < block.end; ++j) {
                for (std::uint32_t& place : gradients_[j].place) place = of[place];
            }
            for (const std::uint32_t place : block.place) of[place] = 0;
            block.inverse.assign(block.place.size(), 1.0);
        });
        count_times(false);
    }

    // Raises D in at most this many sweeps. s: [items]; G: [L] at s, updated approximately.
    void ascend(int sweeps, std::span<double> s, std::span<double> G) {
        const auto value = [&] { return factor_bound(entropy_, s, rho1_, rho2_, G, threads_); };
        double highest = value();
        std::vector<double> best_s(s.begin(), s.end()), best_G(G.begin(), G.end());
        const std::vector<int> sizes(2 * ((blocks_.size() + kBlocks - 1) / kBlocks), kBlocks);
        bool safely = false;
        for (int sweep = 0, since_all = 0; sweep < sweeps; ++sweep) {
            const bool all = since_all == 0;
            since_all = (since_all + 1) % kAllEvery;
            in_phases(sizes, std::min(threads_, int{kBlocks}), [&](std::size_t phase, int k) {
                const auto slot = static_cast<std::size_t>(k);
                const std::size_t first = phase / 2 * kBlocks, n = std::min(kBlocks, blocks_.size() - first);
                if (phase % 2 == 1) return add(std::span(blocks_).subspan(first, n), slot, G);
                if (slot < n) this->sweep(blocks_[first + slot], all, G, s, slots_[slot]);
            });
            const double now = value(), gained = now - highest;
            if (gained > 0.0) {
                std::copy(s.begin(), s.end(), best_s.begin());
                std::copy(G.begin(), G.end(), best_G.begin());
                highest = now;
                if (all && gained <= kEnough * std::fabs(highest)) break;
                continue;
            }
            since_all = 0;
            if (std::equal(s.begin(), s.end(), best_s.begin())) {  // no factor moved
                if (all) break;
                continue;
            }
            std::copy(best_s.begin(), best_s.end(), s.begin());
            std::copy(best_G.begin(), best_G.end(), G.begin());
            if (std::exchange(safely, true)) break;
            count_times(true);
        }
    }

   private:
    static constexpr std::size_t kBlocks = 8;  // blocks of a round
    struct Block {
        std::size_t first, end;            // indices of `free_`
        std::vector<std::uint32_t> place;  // [n] distinct features, ascending; gradients store indices into this list
        std::vector<double> inverse;       // [n] 1 / sqrt(m)
    };
    // Scratch of a block of a round.
    struct Cell {
        double G, rho1;  // both / sqrt(m)
    };
    struct Slot {
        std::vector<Cell> cells;              // [n]
        std::vector<double> change;           // [n] change of G
        AlignedVector<double> G, part, rho1;  // only the features that matter to one sequence
    };

    void count_times(bool safely) {
        const std::size_t n_rounds = (blocks_.size() + kBlocks - 1) / kBlocks;
        std::vector<std::vector<char>> n_of(
            static_cast<std::size_t>(threads_));  // [L] number of blocks with the feature
        parallel_for(static_cast<std::int64_t>(n_rounds), threads_, 1, [&](int thread, std::int64_t round) {
            std::vector<char>& n = n_of[static_cast<std::size_t>(thread)];
            n.resize(rho1_.size(), 0);
            const std::size_t first = static_cast<std::size_t>(round) * kBlocks;
            const std::span<Block> blocks =
                std::span(blocks_).subspan(first, std::min(kBlocks, blocks_.size() - first));
            for (const Block& block : blocks) {
                for (const std::uint32_t place : block.place) ++n[place];
            }
            for (Block& block : blocks) {
                std::vector<double> factor(block.place.size());  // [n] multiplies the stored gradients
                for (std::size_t k = 0; k < block.place.size(); ++k) {
                    const double times = n[block.place[k]], root = std::sqrt(safely ? times : (times + 1.0) / 2.0);
                    factor[k] = root * std::exchange(block.inverse[k], 1.0 / root);
                }
                for (std::size_t j = block.first; j < block.end; ++j) {
                    SequenceGradient& of = gradients_[j];
                    for (std::size_t e = 0; e < of.place.size(); ++e) {
                        of.value[e] = static_cast<float>(of.value[e] * factor[of.place[e]]);
                    }
                }
            }
            for (const Block& block : blocks) {
                for (const std::uint32_t place : block.place) n[place] = 0;
            }
        });
    }

    // Improves the factors of a block and computes the change of G. Leaves G unchanged.
    void sweep(const Block& block, bool all, std::span<const double> G, std::span<double> s, Slot& slot) {
        const std::size_t n = block.place.size();
        slot.cells.resize(n);
        for (std::size_t k = 0; k < n; ++k) {
            slot.cells[k] = {G[block.place[k]] * block.inverse[k], rho1_[block.place[k]] * block.inverse[k]};
        }
        for (std::size_t j = block.first; j < block.end; ++j) {
            if (!all && resting_[j]) continue;
            const std::size_t i = free_[j];
            const double old = s[i];
            s[i] = improved(gradients_[j], entropy_[i], old, slot);
            resting_[j] = s[i] == 1.0 && old == 1.0;
            if (s[i] == old) continue;
            const SequenceGradient& of = gradients_[j];
            for (std::size_t e = 0; e < of.place.size(); ++e) {
                slot.cells[of.place[e]].G += (s[i] - old) * of.value[e];
            }
        }
        slot.change.resize(n);
        for (std::size_t k = 0; k < n; ++k) {
            slot.change[k] = (slot.cells[k].G - G[block.place[k]] * block.inverse[k]) * block.inverse[k];
        }
    }

    // Newton's method for one factor, safeguarded by the last points at which D rose and fell.
    double improved(const SequenceGradient& gradient, const MixedEntropy& entropy, double s, Slot& slot) const {
        const std::size_t n_all = gradient.place.size();
        for (AlignedVector<double>* x : {&slot.G, &slot.part, &slot.rho1})
            x->resize(std::max(x->size(), n_all + kLanes));
        std::size_t n = 0;
        for (std::size_t e = 0; e < n_all; ++e) {
            const auto [G, rho1] = slot.cells[gradient.place[e]];
            const double part = gradient.value[e];
            slot.G[n] = G;
            slot.part[n] = part;
            slot.rho1[n] = rho1;
            n += std::fabs(G) + std::fabs(part) > rho1;  // otherwise the term is 0 for all s
        }
        for (; n % kLanes != 0; ++n) slot.G[n] = slot.part[n] = slot.rho1[n] = 0.0;
        const double old = s;
        double low = 0.0, high = 1.0;
        for (int step = 0; step < kNewtonSteps; ++step) {
            double slope, curvature;  // derivatives of |S(G + (s - old) part)|^2 / 2
            kernels().excess(slot.G.data(), slot.part.data(), slot.rho1.data(), s - old, static_cast<int>(n), &slope,
                             &curvature);
            slope = entropy.slope(s) - slope / rho2_;
            if (s == 1.0 && slope >= 0.0) break;
            (slope > 0.0 ? low : high) = s;
            curvature = curvature / rho2_ + entropy.curvature(s);
            if (!(curvature > 0.0)) break;
            double next = s + slope / curvature;
            if (next >= high) next = high == 1.0 ? 1.0 : 0.5 * (s + high);
            if (next <= low) next = 0.5 * (s + low);
            const bool settled = std::fabs(next - s) < kSmallestStep;
            s = next;
            if (settled) break;
        }
        return s;
    }

    // Adds the changes of a round to the features of one of kBlocks shares, in the order of the blocks.
    void add(std::span<const Block> blocks, std::size_t share, std::span<double> G) const {
        const std::size_t first = share * G.size() / kBlocks, end = (share + 1) * G.size() / kBlocks;
        for (std::size_t b = 0; b < blocks.size(); ++b) {
            const std::vector<std::uint32_t>& place = blocks[b].place;
            auto k = static_cast<std::size_t>(std::lower_bound(place.begin(), place.end(), first) - place.begin());
            for (; k < place.size() && place[k] < end; ++k) G[place[k]] += slots_[b].change[k];
        }
    }

    const std::vector<std::size_t> free_;
    std::vector<SequenceGradient> gradients_;  // [free] times sqrt(m)
    std::vector<char> resting_;                // [free] whether s stayed at 1 when it was last visited
    const std::span<const MixedEntropy> entropy_;
    const std::span<const double> rho1_;
    const double rho2_;
    const int threads_;
    std::vector<Block> blocks_;
    std::array<Slot, kBlocks> slots_;
};

}  // namespace

void ascend_factors(std::vector<std::size_t> free, std::vector<SequenceGradient> gradients,
                    std::span<const MixedEntropy> entropy, std::span<const double> rho1, double rho2, int threads,
                    int sweeps, std::span<double> s, std::span<double> G) {
    FactorAscent(std::move(free), std::move(gradients), entropy, rho1, rho2, threads).ascend(sweeps, s, G);
}

}  // namespace sparsecrf
