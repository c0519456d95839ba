// The inner problem of the proximal quasi-Newton solver with a penalty over a forest of groups.
#pragma once

#include <cstdint>
#include <span>

#include "core/training/quadratic/quadratic.hpp"

namespace sparsecrf {

// Groups are numbered from 0, finer levels first. Each group is either inside a group of a coarser level or outside all
// coarser groups.
struct GroupLevels {
    std::span<const std::int32_t> group;  // [levels, K] the group of each feature at each level, or -1; fine to coarse
    std::span<const double> eta;          // [groups] weights >= 0
};

// Minimizes  g . d + d' B d / 2 + rho1 |w + d|_1 + rho2 |w + d|^2 / 2 + sum_G eta_G ||(w + d)_G||_2  over
// |d_k| <= radius / unit_k, like minimize_quadratic without groups. Coordinate descent alone cannot move a group to or
// away from zero, where the norm has a kink in all of its coordinates at once. Each full sweep therefore makes two more
// tests, where S is the sweep from the leaves to the roots (src/sparsecrf/training/forest.py), and s is the slope of
// the model at z_G = 0:
//
//     a group at zero stays there iff S(-s) = 0; otherwise it moves to the best point along S(-s)
//     a nonzero group moves to zero iff S(-s) = 0
int minimize_over_groups(const Quadratic& q, const GroupLevels& groups, double radius, double tolerance, int max_sweeps,
                         std::span<double> d);

}  // namespace sparsecrf
