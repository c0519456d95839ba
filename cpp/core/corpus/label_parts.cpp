#include "core/corpus/label_parts.hpp"

#include <algorithm>

#include "core/base/error.hpp"
#include "core/corpus/corpus.hpp"

namespace sparsecrf {

LabelParts::LabelParts(std::int64_t n_parts, std::span<const std::int64_t> ptr, std::span<const std::int32_t> part,
                       std::span<const std::int32_t> class_cell) {
    const auto n = static_cast<std::int64_t>(ptr.size()) - 1;
    if (n < 1 || ptr.front() != 0 || !std::is_sorted(ptr.begin(), ptr.end()) ||
        ptr.back() != static_cast<std::int64_t>(part.size())) {
        throw InputError("parts of labels: expected rows from 0 to ", part.size(), " for one label or more");
    }
    if (n_parts < 0 || n + n_parts > kMaxLabels) {
        throw InputError("parts of labels: expected at most ", kMaxLabels, " labels and parts, found ", n, " and ",
                         n_parts);
    }
    n_parts_ = static_cast<int>(n_parts);
    ptr_.assign(ptr.begin(), ptr.end());
    for (const std::int32_t j : part) {
        if (j < 0 || j >= n_parts) {
            throw InputError("parts of labels: expected parts from 0 to ", n_parts - 1, ", found ", j);
        }
        cell_.push_back(static_cast<std::uint32_t>(n + j));
    }
    for (std::int64_t y = 0; y < n; ++y) {
        const auto begin = cell_.begin() + ptr[y], end = cell_.begin() + ptr[y + 1];
        std::sort(begin, end);
        if (std::adjacent_find(begin, end) != end) {
            throw InputError("parts of labels: expected each part once, found a part of label ", y, " twice");
        }
    }
    if (!class_cell.empty()) set_classes(class_cell);
}

void LabelParts::set_classes(std::span<const std::int32_t> class_cell) {
    if (static_cast<int>(class_cell.size()) != n_labels()) {
        throw InputError("classes of labels: expected ", n_labels(), ", one for each label, found ", class_cell.size());
    }
    for (std::size_t y = 0; y < class_cell.size(); ++y) {
        if (class_cell[y] < 0 || !has(y, static_cast<std::uint32_t>(class_cell[y]))) {
            throw InputError("classes of labels: expected label ", y, " itself or one of its parts, found ",
                             class_cell[y]);
        }
        class_cell_.push_back(static_cast<std::uint32_t>(class_cell[y]));
    }
    std::sort(class_cell_.begin(), class_cell_.end());
    class_cell_.erase(std::unique(class_cell_.begin(), class_cell_.end()), class_cell_.end());
    member_ptr_.assign(class_cell_.size() + 1, 0);
    for (const std::int32_t cell : class_cell) {
        const auto found = std::lower_bound(class_cell_.begin(), class_cell_.end(), static_cast<std::uint32_t>(cell));
        class_of_.push_back(static_cast<std::uint32_t>(found - class_cell_.begin()));
        ++member_ptr_[class_of_.back() + 1];
    }
    for (std::size_t c = 0; c + 1 < member_ptr_.size(); ++c) member_ptr_[c + 1] += member_ptr_[c];
    std::vector<std::uint32_t> next(member_ptr_.begin(), member_ptr_.end() - 1);
    member_.resize(class_of_.size());
    for (std::uint32_t y = 0; y < class_of_.size(); ++y) member_[next[class_of_[y]]++] = y;
}

bool LabelParts::has_features(std::uint32_t class_pair) const {
    const LabelPairs pairs = class_pairs();
    const std::uint32_t previous = pairs.previous(class_pair);
    return members(pairs.label(class_pair)).size() > 1 || (previous < pairs.start() && members(previous).size() > 1);
}

void LabelParts::sum_classes(const double* p, double* out) const {
    std::fill_n(out, class_cell_.size(), 0.0);
    for (std::size_t y = 0; y < class_of_.size(); ++y) out[class_of_[y]] += p[y];
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
