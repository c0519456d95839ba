// Sums of probabilities by attribute and cell, for many cells that are mostly improbable.
//
// For attribute x with mass m_x = sum_t |w v|, all p_t(c) <= e_x := slack b / m_x are left out, so a sum lacks at most
// m_x e_x = slack b. Sums are stored in single precision and rounded once per block, which gives an error below one
// thousandth in 16,000 blocks. The full sum is therefore at most the stored sum plus `missing`, and cells without an
// entry are below the bound b. This adds a few candidates but never misses any.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sparsecrf {

class SparseSums {
   public:
    static constexpr double kSlack = 0.05, kRounded = 1e-3;
    static constexpr double kMostMass = 500.0;  // in units of the bound; if the mass is larger, all cells are summed

    struct Entry {
        std::uint32_t cell;
        float sum;
    };
    // The likely cells of the positions of a block: row r contains the cells [ptr[r], ptr[r + 1]), most likely first.
    struct Likely {
        struct Cell {
            std::uint32_t cell;
            float p;
        };
        std::vector<std::uint32_t> ptr;
        std::vector<Cell> cells;
    };

    SparseSums() = default;
    SparseSums(std::span<const double> mass, double bound);  // mass: [rows]

    std::size_t size() const { return rows_.size(); }
    std::span<const Entry> row(std::size_t r) const { return rows_[r]; }  // by ascending cell
    double missing() const { return (kSlack + kRounded) * bound_; }       // maximum amount missing from a stored sum

    // Scans the first n_cells columns of p, [n, stride].
    void scan(const double* p, std::int64_t n, int stride, int n_cells, Likely& out) const;

    // Scratch of a thread.
    struct Scratch {
        std::vector<double> sum;  // [cells] zero between calls
        std::vector<std::uint32_t> touched;
        std::vector<Entry> merged;
    };
    // Adds factor[k] * p of position at[k] to row r, in the order of the positions.
    void add(std::size_t r, std::span<const std::uint32_t> at, std::span<const double> factor, const Likely& likely,
             int n_cells, Scratch& scratch);

   private:
    double bound_ = 0.0;
    std::vector<float> unlikely_;           // [rows] e_x
    std::vector<std::vector<Entry>> rows_;  // by ascending cell
};

}  // namespace sparsecrf
