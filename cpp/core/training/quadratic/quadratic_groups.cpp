#include "core/training/quadratic/quadratic_groups.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/training/quadratic/quadratic_point.hpp"
#include "core/training/quadratic/quadratic_sweeps.hpp"

namespace sparsecrf {
namespace {

constexpr int kRootSteps = 30;
constexpr double kRootTolerance = 1e-9;  // relative to the largest possible weight

struct Group {
    std::vector<std::size_t> members;  // features, ascending
    std::vector<std::size_t> inside;   // groups inside this group, coarse to fine
    std::size_t level;                 // 0 is the finest
    std::int32_t parent = -1;          // the smallest group that contains this group
    std::size_t nonzero = 0;           // number of nonzero members
    double square = 0.0;               // ||z_G||^2
};

class Descent {
   public:
    Descent(const Quadratic& q, const GroupLevels& levels, double radius, std::span<double> d)
        : q_(q), radius_(radius), n_(q.w.size()), eta_(levels.eta), group_(levels.group), at_(q, d) {
        groups_.resize(eta_.size());
        n_levels_ = n_ == 0 ? 0 : group_.size() / n_;
        targets_.assign(n_, 0.0);
        root_.assign(n_, -1);
        scratch_.assign(groups_.size(), 0.0);
        for (std::size_t level = 0; level < n_levels_; ++level) {
            for (std::size_t k = 0; k < n_; ++k) {
                const std::int32_t of = group_[level * n_ + k];
                if (of < 0) continue;
                groups_[of].members.push_back(k);
                groups_[of].level = level;
                if (root_[k] >= 0) groups_[root_[k]].parent = of;  // the largest group so far
                root_[k] = of;
            }
        }
        for (std::size_t of = groups_.size(); of-- > 0;) {
            const std::int32_t around = groups_[of].parent;
            if (around < 0) continue;
            for (std::int32_t up = around; up >= 0; up = groups_[up].parent) groups_[up].inside.push_back(of);
        }
        measure();
    }

    // Runs one full sweep. Sets moves[k] to |change| * curvature / unit of feature k.
    void sweep(std::span<double> moves) {
        std::fill(moves.begin(), moves.end(), 0.0);
        for (std::size_t k = 0; k < n_; ++k) {
            if (root_[k] < 0) moves[k] += step(k);
        }
        for (std::size_t of = 0; of < groups_.size(); ++of) {
            Group& group = groups_[of];
            if (group.parent >= 0 || group.members.empty()) continue;
            if (group.nonzero == 0) enter(of, moves);
            if (group.nonzero == 0) continue;
            for (const std::size_t k : group.members) moves[k] += step(k);
            if (leave(of, moves)) continue;
            for (const std::size_t inner : group.inside) {
                const Group& around = groups_[groups_[inner].parent];
                if (around.nonzero == 0) continue;
                if (groups_[inner].nonzero == 0) {
                    enter(inner, moves);
                } else {
                    leave(inner, moves);
                }
            }
        }
        measure();
    }

    // Moves feature k to its best weight, with all other weights fixed. Returns |change| * curvature / unit. With T =
    // curvature z0 - slope and r_G = ||z_G||^2 without this feature, it solves
    //
    //     |T| - rho1 - sum of eta_G where r_G = 0  =  (curvature + rho2) z + sum of eta_G z / sqrt(r_G + z^2) elsewhere
    //
    // whose right side is increasing and concave; z is zero if the left side is not positive.
    double step(std::size_t k) {
        const double z0 = at_.z(k), c = at_.curvature(k);
        double tolerated = q_.rho1, most = 0.0;
        terms_.clear();
        for (std::size_t level = 0; level < n_levels_; ++level) {
            const std::int32_t of = group_[level * n_ + k];
            if (of < 0) continue;
            const Group& group = groups_[of];
            if (group.nonzero == 0 && group.members.size() > 1) return 0.0;  // `enter` handles these groups as a whole
            if (group.nonzero == (z0 != 0.0 ? 1u : 0u)) {
                tolerated += eta_[of];
            } else {
                terms_.push_back({eta_[of], std::max(group.square - z0 * z0, 0.0)});
                most += eta_[of];
            }
        }
        const double target = c * z0 - at_.slope(k), over = std::fabs(target) - tolerated;
        targets_[k] = target;
        double z = 0.0;
        if (over > 0.0) z = std::copysign(root(over, c + q_.rho2, most, std::fabs(z0)), target);
        z = std::clamp(z, q_.w[k] - radius(k), q_.w[k] + radius(k));
        return std::fabs(set(k, z)) * c / q_.unit_of(k);
    }

   private:
    struct Term {
        double eta, rest;  // rest: r_G
    };

    // The maximum change of weight k.
    double radius(std::size_t k) const { return radius_ / q_.unit_of(k); }

    // Newton's method, safeguarded by an interval that contains the solution.
    double root(double over, double linear, double most, double start) const {
        double low = std::max(0.0, (over - most) / linear), high = over / linear;
        if (terms_.empty()) return high;
        const double close = kRootTolerance * high;
        double z = std::clamp(start, low, high);
        for (int step = 0; step < kRootSteps && high - low > close; ++step) {
            double value = linear * z - over, slope = linear;
            for (const Term& term : terms_) {
                const double square = term.rest + z * z, norm = std::sqrt(square);
                if (norm == 0.0) continue;
                value += term.eta * z / norm;
                slope += term.eta * term.rest / (square * norm);
            }
            (value > 0.0 ? high : low) = z;
            double next = z - value / slope;
            if (!(next > low && next < high)) next = 0.5 * (low + high);
            if (std::fabs(next - z) <= close) return next;
            z = next;
        }
        return z;
    }

    // Sets the weight of feature k to z and updates its groups.
    double set(std::size_t k, double z) {
        const double z0 = at_.z(k), change = at_.move(k, z);
        if (change == 0.0) return 0.0;
        const double now = at_.z(k);
        for (std::size_t level = 0; level < n_levels_; ++level) {
            const std::int32_t of = group_[level * n_ + k];
            if (of < 0) continue;
            Group& group = groups_[of];
            if (now != 0.0) ++group.nonzero;
            if (z0 != 0.0) --group.nonzero;
            group.square = group.nonzero == 0 ? 0.0 : std::max(group.square + now * now - z0 * z0, 0.0);
        }
        return change;
    }

    // S: soft-thresholds v, then shrinks v by the groups up to this group, fine to coarse. v: by index among the
    // group's members.
    void shrink(const Group& group, std::vector<double>& v) {
        for (double& x : v) x = std::copysign(std::max(std::fabs(x) - q_.rho1, 0.0), x);
        for (std::size_t level = 0; level <= group.level; ++level) {
            const std::int32_t* of = group_.data() + level * n_;
            for (std::size_t m = 0; m < v.size(); ++m) {
                const std::int32_t g = of[group.members[m]];
                if (g >= 0) scratch_[g] += v[m] * v[m];
            }
            for (std::size_t m = 0; m < v.size(); ++m) {
                const std::int32_t g = of[group.members[m]];
                if (g < 0) continue;
                const double norm = std::sqrt(scratch_[g]);
                v[m] = norm > eta_[g] ? v[m] * (1.0 - eta_[g] / norm) : 0.0;
            }
            for (const std::size_t k : group.members) {
                if (of[k] >= 0) scratch_[of[k]] = 0.0;
            }
        }
    }

    static bool is_zero(const std::vector<double>& v) {
        return std::all_of(v.begin(), v.end(), [](double x) { return x == 0.0; });
    }

    // Moves a group at zero, whose parent (if any) is not at zero, to the best point alpha S(-s), with
    //
    //     alpha = |S|^2 / (S' B S + (rho2 + sum over the groups A around it of eta_A / ||z_A||) |S|^2)
    //
    // since s . S + N(S) = -|S|^2, and eta_A sqrt(||z_A||^2 + x^2) <= eta_A (||z_A|| + x^2 / (2 ||z_A||)).
    void enter(std::size_t of, std::span<double> moves) {
        const Group& group = groups_[of];
        v_.resize(group.members.size());
        for (std::size_t m = 0; m < v_.size(); ++m) v_[m] = -at_.slope(group.members[m]);
        before_ = v_;
        shrink(group, v_);
        if (is_zero(v_)) return;
        double square = 0.0, largest = 0.0, room = INFINITY;
        for (std::size_t m = 0; m < v_.size(); ++m) {
            if (v_[m] == 0.0) continue;
            const std::size_t k = group.members[m];
            square += v_[m] * v_[m];
            largest = std::max(largest, at_.curvature(k));
            room = std::min(room, (radius(k) - std::fabs(q_.w[k])) / std::fabs(v_[m]));
        }
        if (!(room > 0.0)) return;
        double curved = q_.rho2 * square;
        for (std::int32_t up = group.parent; up >= 0; up = groups_[up].parent) {
            curved += square * eta_[up] / std::sqrt(groups_[up].square);
        }
        // B S, from the change of the slopes over a short step.
        const double length = std::min(1.0 / largest, room);
        for (std::size_t m = 0; m < v_.size(); ++m) {
            if (v_[m] != 0.0) set(group.members[m], length * v_[m]);
        }
        for (std::size_t m = 0; m < v_.size(); ++m) {
            if (v_[m] != 0.0) curved += v_[m] * (at_.slope(group.members[m]) + before_[m]) / length;
        }
        const double alpha = curved > 0.0 ? std::min(square / curved, room) : length;
        for (std::size_t m = 0; m < v_.size(); ++m) {
            if (v_[m] == 0.0) continue;
            const std::size_t k = group.members[m];
            set(k, alpha * v_[m]);
            moves[k] += std::fabs(alpha * v_[m]) * at_.curvature(k) / q_.unit_of(k);
        }
    }

    // Sets a nonzero group to zero if that is optimal with all other weights fixed. The exact test is run only if the
    // last targets, which ignore the coupling between its features, suggest it.
    bool leave(std::size_t of, std::span<double> moves) {
        const Group& group = groups_[of];
        if (group.members.size() < 2 || eta_[of] == 0.0) return false;
        v_.resize(group.members.size());
        for (std::size_t m = 0; m < v_.size(); ++m) {
            const std::size_t k = group.members[m];
            if (std::fabs(q_.w[k]) > radius(k)) return false;
            v_[m] = targets_[k];
        }
        shrink(group, v_);
        if (!is_zero(v_)) return false;
        before_.resize(group.members.size());
        for (std::size_t m = 0; m < v_.size(); ++m) before_[m] = at_.z(group.members[m]);
        for (const std::size_t k : group.members) set(k, 0.0);
        for (std::size_t m = 0; m < v_.size(); ++m) v_[m] = -at_.slope(group.members[m]);
        shrink(group, v_);
        const bool rests = is_zero(v_);
        for (std::size_t m = 0; m < v_.size(); ++m) {
            const std::size_t k = group.members[m];
            if (rests) {
                moves[k] += std::fabs(before_[m]) * at_.curvature(k) / q_.unit_of(k);
            } else {
                set(k, before_[m]);
            }
        }
        return rests;
    }

    // Recomputes the norms from the weights, since accumulated changes drift.
    void measure() {
        for (Group& group : groups_) {
            group.square = 0.0;
            group.nonzero = 0;
            for (const std::size_t k : group.members) {
                const double z = at_.z(k);
                group.square += z * z;
                group.nonzero += z != 0.0 ? 1 : 0;
            }
        }
    }

    const Quadratic& q_;
    const double radius_;
    const std::size_t n_;
    const std::span<const double> eta_;
    const std::span<const std::int32_t> group_;
    QuadraticPoint at_;
    std::size_t n_levels_ = 0;
    std::vector<Group> groups_;
    std::vector<std::int32_t> root_;  // [K] the largest group of each feature, or -1
    std::vector<double> targets_;     // [K] T of the last step
    std::vector<double> scratch_;     // [groups] zero between calls
    std::vector<double> v_, before_;  // indexed by member of a group
    std::vector<Term> terms_;
};

}  // namespace

int minimize_over_groups(const Quadratic& q, const GroupLevels& groups, double radius, double tolerance, int max_sweeps,
                         std::span<double> d) {
    const std::size_t n = q.w.size();
    Descent descent(q, groups, radius, d);
    const auto sweep = [&](std::span<double> moves) { descent.sweep(moves); };
    return descend(n, tolerance, max_sweeps, sweep, [&](std::size_t k) { return descent.step(k); });
}

}  // namespace sparsecrf
