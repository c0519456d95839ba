#include "core/corpus/label_parts.hpp"

#include <algorithm>

#include "core/base/error.hpp"
#include "core/corpus/corpus.hpp"

namespace sparsecrf {

LabelParts::LabelParts(std::int64_t n_parts, std::span<const std::int64_t> ptr, std::span<const std::int32_t> part) {
    const auto n = static_cast<std::int64_t>(ptr.size()) - 1;
    if (n < 1 || ptr.front() != 0 || !std::is_sorted(ptr.begin(), ptr.end()) ||
        ptr.back() != static_cast<std::int64_t>(part.size())) {
        throw InputError(message("parts of labels: expected rows from 0 to ", part.size(), " for one label or more"));
    }
    if (n_parts < 0 || n + n_parts > kMaxLabels) {
        throw InputError(message("parts of labels: expected at most ", kMaxLabels, " labels and parts, found ", n,
                                 " and ", n_parts));
    }
    n_parts_ = static_cast<int>(n_parts);
    ptr_.assign(ptr.begin(), ptr.end());
    for (const std::int32_t j : part) {
        if (j < 0 || j >= n_parts) {
            throw InputError(message("parts of labels: expected parts from 0 to ", n_parts - 1, ", found ", j));
        }
        cell_.push_back(static_cast<std::uint32_t>(n + j));
    }
    for (std::int64_t y = 0; y < n; ++y) {
        const auto begin = cell_.begin() + ptr[y], end = cell_.begin() + ptr[y + 1];
        std::sort(begin, end);
        if (std::adjacent_find(begin, end) != end) {
            throw InputError(message("parts of labels: expected each part once, found one of label ", y, " twice"));
        }
    }
}

bool LabelParts::has(std::size_t y, std::uint32_t cell) const {
    if (cell == y) return true;
    const auto cells = cells_of(y);
    return std::find(cells.begin(), cells.end(), cell) != cells.end();
}

void LabelParts::fold(const double* cells, double* s) const {
    for (std::size_t y = 0; y + 1 < ptr_.size(); ++y) {
        double sum = cells[y];
        for (std::uint32_t k = ptr_[y]; k < ptr_[y + 1]; ++k) sum += cells[cell_[k]];
        s[y] = sum;
    }
}

void LabelParts::unfold(const double* p, double* cells) const {
    std::copy_n(p, n_labels(), cells);
    std::fill_n(cells + n_labels(), n_parts_, 0.0);
    for (std::size_t y = 0; y + 1 < ptr_.size(); ++y) {
        if (p[y] == 0.0) continue;
        for (std::uint32_t k = ptr_[y]; k < ptr_[y + 1]; ++k) cells[cell_[k]] += p[y];
    }
}

}  // namespace sparsecrf
