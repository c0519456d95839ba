#include "core/training/sparse_sums.hpp"

#include <algorithm>

#include "core/base/parallel.hpp"

namespace sparsecrf {

SparseSums::SparseSums(std::span<const double> mass, double bound) : bound_(bound), rows_(mass.size()) {
    for (const double m : mass) unlikely_.push_back(static_cast<float>(kSlack * bound / m));
}

void SparseSums::scan(const double* p, std::int64_t n, int stride, int n_cells, int threads, Likely& out) const {
    const double least = kSlack / kMostMass;  // the smallest e_x
    const auto each = [&](std::int64_t r, auto visit) {
        const double* row = p + r * stride;
        for (int c = 0; c < n_cells; ++c) {
            if (row[c] > least) visit(static_cast<std::uint32_t>(c), row[c]);
        }
    };
    out.ptr.assign(static_cast<std::size_t>(n) + 1, 0);
    parallel_for(n, threads, 64, [&](int, std::int64_t r) {
        std::uint32_t found = 0;
        each(r, [&](std::uint32_t, double) { ++found; });
        out.ptr[static_cast<std::size_t>(r) + 1] = found;
    });
    for (std::size_t r = 0; r < static_cast<std::size_t>(n); ++r) out.ptr[r + 1] += out.ptr[r];
    out.cells.resize(out.ptr.back());
    parallel_for(n, threads, 64, [&](int, std::int64_t r) {
        std::uint32_t k = out.ptr[static_cast<std::size_t>(r)];
        each(r, [&](std::uint32_t c, double value) { out.cells[k++] = {c, static_cast<float>(value)}; });
        std::sort(
            out.cells.begin() + out.ptr[static_cast<std::size_t>(r)], out.cells.begin() + k,
            [](const Likely::Cell& a, const Likely::Cell& b) { return a.p != b.p ? a.p > b.p : a.cell < b.cell; });
    });
}

void SparseSums::add(std::size_t r, std::span<const std::uint32_t> at, std::span<const double> factor,
                     const Likely& likely, int n_cells, Scratch& scratch) {
    scratch.sum.resize(static_cast<std::size_t>(n_cells), 0.0);
    scratch.touched.clear();
    for (std::size_t i = 0; i < at.size(); ++i) {
        if (factor[i] == 0.0) continue;  // a sum of 0 says that a cell is new
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
