#include "core/training/screening/sparse_sums.hpp"

#include <algorithm>

namespace sparsecrf {

SparseSums::SparseSums(std::span<const double> mass, double bound) : bound_(bound), rows_(mass.size()) {
    for (const double m : mass) unlikely_.push_back(static_cast<float>(kSlack * bound / m));
}

void SparseSums::scan(const double* p, std::int64_t n, int stride, int n_cells, Likely& out) const {
    const double least = kSlack / kMostMass;  // the smallest e_x
    const auto likelier = [](const Likely::Cell& a, const Likely::Cell& b) {
        return a.p != b.p ? a.p > b.p : a.cell < b.cell;
    };
    out.ptr.assign(1, 0);
    out.cells.clear();
    for (std::int64_t r = 0; r < n; ++r) {
        const double* row = p + r * stride;
        for (int c = 0; c < n_cells; ++c) {
            if (row[c] > least) out.cells.push_back({static_cast<std::uint32_t>(c), static_cast<float>(row[c])});
        }
        std::sort(out.cells.begin() + out.ptr.back(), out.cells.end(), likelier);
        out.ptr.push_back(static_cast<std::uint32_t>(out.cells.size()));
    }
}

void SparseSums::add(std::size_t r, std::span<const std::uint32_t> at, std::span<const double> factor,
                     const Likely& likely, int n_cells, Scratch& scratch) {
    scratch.sum.resize(static_cast<std::size_t>(n_cells), 0.0);
    scratch.touched.clear();
    for (std::size_t i = 0; i < at.size(); ++i) {
        if (factor[i] == 0.0) continue;  // because a zero sum marks a new cell
        for (std::uint32_t k = likely.ptr[at[i]]; k < likely.ptr[at[i] + 1]; ++k) {
            const auto [cell, p] = likely.cells[k];
            if (p <= unlikely_[r]) break;
            double& sum = scratch.sum[cell];
            if (sum == 0.0) scratch.touched.push_back(cell);
            sum += factor[i] * p;
        }
    }
    std::sort(scratch.touched.begin(), scratch.touched.end());
    std::vector<Entry>& row = rows_[r];
    scratch.merged.clear();
    auto old = row.begin();
    for (const std::uint32_t cell : scratch.touched) {
        while (old != row.end() && old->cell < cell) scratch.merged.push_back(*old++);
        double sum = scratch.sum[cell];
        scratch.sum[cell] = 0.0;
        if (old != row.end() && old->cell == cell) sum += (old++)->sum;
        scratch.merged.push_back({cell, static_cast<float>(sum)});
    }
    scratch.merged.insert(scratch.merged.end(), old, row.end());
    row.assign(scratch.merged.begin(), scratch.merged.end());
}

}  // namespace sparsecrf
