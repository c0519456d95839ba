#include "core/corpus/label_strings.hpp"

#include <algorithm>

#include "core/base/error.hpp"
#include "core/corpus/corpus.hpp"

namespace sparsecrf {
namespace {

std::uint64_t key(std::uint32_t high, std::uint32_t low) { return std::uint64_t{high} << 32 | low; }

}  // namespace

LabelStrings::LabelStrings(int n_labels) : n_labels_(static_cast<std::uint32_t>(n_labels)) {
    nodes_.push_back({0, 0xffffffffu, 0xffffffffu, 0, 0});
    for (std::uint32_t y = 0; y <= n_labels_; ++y) nodes_.push_back({1, y, y, 0, 0});
}

std::uint32_t LabelStrings::find(std::uint32_t suffix, std::uint32_t first) const {
    if (suffix == 0) return single(first);
    const auto found = found_.find(key(suffix, first));
    return found == found_.end() ? kNone : found->second;
}

std::uint32_t LabelStrings::extend(std::uint32_t suffix, std::uint32_t first) {
    // First add the missing prefixes, in a loop instead of by recursion, because strings read from a file may be long.
    std::vector<std::uint32_t> missing;
    std::uint32_t found;
    for (; (found = find(suffix, first)) == kNone; suffix = nodes_[suffix].prefix) missing.push_back(suffix);
    for (; !missing.empty(); missing.pop_back()) {
        const std::uint32_t rest = missing.back(), id = size();
        nodes_.push_back({nodes_[rest].length + 1, first, nodes_[rest].last, rest, found});
        found_.emplace(key(rest, first), id);
        found = id;
    }
    return found;
}

std::uint32_t LabelStrings::intern(std::span<const std::int32_t> labels) {
    std::uint32_t id = 0;
    for (std::size_t k = labels.size(); k-- > 0;) id = extend(id, static_cast<std::uint32_t>(labels[k]));
    return id;
}

std::vector<std::int32_t> LabelStrings::labels(std::uint32_t id) const {
    std::vector<std::int32_t> out;
    for (; id != 0; id = nodes_[id].suffix) out.push_back(static_cast<std::int32_t>(nodes_[id].first));
    return out;
}

NgramTable::NgramTable(std::int64_t n_labels) : n_labels_(static_cast<int>(n_labels)) {
    if (n_labels < 1 || n_labels > kMaxLabels) {
        throw InputError("expected 1 to ", kMaxLabels, " labels, found ", n_labels);
    }
    strings_ = LabelStrings(n_labels_);
}

std::int64_t NgramTable::add(std::int64_t attribute, std::span<const std::int32_t> labels) {
    if (attribute < 0 || attribute > kMaxAttributes) {
        throw InputError("n-gram: expected an attribute >= 0, found ", attribute);
    }
    if (labels.size() < 3 || labels.size() > kLongestNgram) {
        throw InputError("n-gram: expected 3 to ", kLongestNgram, " labels, found ", labels.size());
    }
    for (std::size_t k = 0; k < labels.size(); ++k) {
        const std::int32_t last = k == 0 ? n_labels_ : n_labels_ - 1;
        if (labels[k] < 0 || labels[k] > last) {
            throw InputError("n-gram: expected a label from 0 to ", last, ", found ", labels[k]);
        }
    }
    const std::uint32_t string = strings_.intern(labels);
    const auto [found, is_new] = places_.try_emplace(key(static_cast<std::uint32_t>(attribute), string), size());
    if (is_new) entries_.push_back({static_cast<std::uint32_t>(attribute), string});
    return found->second;
}

std::vector<std::int64_t> NgramTable::add_all(std::span<const std::int32_t> attribute,
                                              std::span<const std::int32_t> length,
                                              std::span<const std::int32_t> labels) {
    if (attribute.size() != length.size()) {
        throw InputError("n-grams: expected as many lengths as attributes, found ", length.size(), " and ",
                         attribute.size());
    }
    std::vector<std::int64_t> out;
    std::size_t first = 0;
    for (std::size_t k = 0; k < attribute.size(); ++k) {
        const auto n = static_cast<std::size_t>(std::max(length[k], 0));
        if (n > labels.size() - first) {
            throw InputError("n-grams: expected at least ", first + n, " labels, found ", labels.size());
        }
        out.push_back(add(attribute[k], labels.subspan(first, n)));
        first += n;
    }
    if (first != labels.size()) throw InputError("n-grams: expected ", first, " labels, found ", labels.size());
    return out;
}

}  // namespace sparsecrf
