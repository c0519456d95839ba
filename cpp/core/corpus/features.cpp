#include "core/corpus/features.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>

#include "core/base/error.hpp"

namespace sparsecrf {
namespace {

// Sorts 64-bit keys (attribute << 32 | cell) and lays them out as rows.
template <class Cell>
void lay_rows(std::vector<std::uint64_t>& keys, std::uint32_t n_attributes, std::vector<std::int64_t>& ptr,
              std::vector<Cell>& cells) {
    if (!std::is_sorted(keys.begin(), keys.end())) std::sort(keys.begin(), keys.end());
    ptr.assign(static_cast<std::size_t>(n_attributes) + 1, 0);
    cells.resize(keys.size());
    for (std::size_t k = 0; k < keys.size(); ++k) {
        ++ptr[(keys[k] >> 32) + 1];
        cells[k] = static_cast<Cell>(keys[k] & 0xffffffffu);
    }
    std::partial_sum(ptr.begin(), ptr.end(), ptr.begin());
}

void reject_duplicates(const std::vector<std::uint64_t>& keys, const char* kind) {
    const auto twice = std::adjacent_find(keys.begin(), keys.end());
    if (twice != keys.end()) {
        throw InputError("expected distinct ", kind, " features, found a feature of attribute ", *twice >> 32,
                         " twice");
    }
}

std::int32_t in_range(std::int32_t x, std::int64_t limit, const char* what, std::size_t feature) {
    if (x < 0 || x >= limit) {
        throw InputError("feature ", feature, ": expected ", what, " from 0 to ", limit - 1, ", found ", x);
    }
    return x;
}

}  // namespace

std::uint64_t FeatureSet::next_serial() {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
}

FeatureSet::FeatureSet(std::int64_t labels, std::int64_t attributes, std::shared_ptr<const LabelParts> of_labels)
    : parts(std::move(of_labels)), serial(next_serial()) {
    if (labels < 1 || labels > kMaxLabels) throw InputError("expected 1 to ", kMaxLabels, " labels, found ", labels);
    if (attributes < 0 || attributes > 0x7fffffff) {
        throw InputError("expected 0 to 2^31 - 1 attributes, found ", attributes);
    }
    if (parts != nullptr && parts->n_labels() != labels) {
        throw InputError("parts of labels: expected parts for ", labels, " labels, found parts for ",
                         parts->n_labels());
    }
    n_labels = static_cast<int>(labels);
    n_attributes = static_cast<std::uint32_t>(attributes);
}

FeatureSet FeatureSet::from_numbers(std::int64_t labels, std::int64_t attributes, std::span<const std::int64_t> numbers,
                                    const NgramTable* table, std::shared_ptr<const LabelParts> parts) {
    FeatureSet made(labels, attributes, std::move(parts));
    const Numbering numbering = made.numbering();
    const std::int64_t size = numbering.size() + (table == nullptr ? 0 : table->size());
    if (table != nullptr && table->n_labels() != made.n_labels) {
        throw InputError("n-grams: expected a table for ", labels, " labels, found one for ", table->n_labels());
    }
    made.unigram_ptr.assign(static_cast<std::size_t>(attributes) + 1, 0);
    made.bigram_ptr.assign(static_cast<std::size_t>(attributes) + 1, 0);
    if (made.n_classes() > 0) made.class_ptr.assign(static_cast<std::size_t>(attributes) + 1, 0);
    std::int64_t last = -1;
    for (const std::int64_t n : numbers) {
        if (n <= last || n >= size) {
            throw InputError("expected ascending feature numbers below ", size, ", found ", n, " after ", last);
        }
        last = n;
        if (n >= numbering.size()) {
            made.add_ngram(n, *table);
        } else if (numbering.unigram.holds(n)) {
            ++made.unigram_ptr[static_cast<std::size_t>(numbering.unigram.attribute(n)) + 1];
            made.unigram_label.push_back(static_cast<std::uint16_t>(numbering.unigram.cell(n)));
        } else if (numbering.bigram.holds(n)) {
            ++made.bigram_ptr[static_cast<std::size_t>(numbering.bigram.attribute(n)) + 1];
            made.bigram_pair.push_back(static_cast<std::uint32_t>(numbering.bigram.cell(n)));
        } else {
            ++made.class_ptr[static_cast<std::size_t>(numbering.classes.attribute(n)) + 1];
            made.class_pair.push_back(static_cast<std::uint32_t>(numbering.classes.cell(n)));
            if (!made.parts->has_features(made.class_pair.back())) {
                throw InputError("feature number ", n,
                                 ": expected a class pair that contains several label pairs, found one that "
                                 "contains a single label pair");
            }
        }
    }
    if (made.n_class() > 0 && made.n_ngram() > 0) {
        throw InputError("expected either class pairs or label n-grams, found ", made.n_class(), " and ",
                         made.n_ngram());
    }
    std::partial_sum(made.unigram_ptr.begin(), made.unigram_ptr.end(), made.unigram_ptr.begin());
    std::partial_sum(made.bigram_ptr.begin(), made.bigram_ptr.end(), made.bigram_ptr.begin());
    std::partial_sum(made.class_ptr.begin(), made.class_ptr.end(), made.class_ptr.begin());
    made.index_ngrams();
    return made;
}

void FeatureSet::add_ngram(std::int64_t number, const NgramTable& table) {
    const NgramTable::Entry& entry = table.entry(number - numbering().size());
    if (entry.attribute >= n_attributes) {
        throw InputError("n-gram: expected an attribute below ", n_attributes, ", found ", entry.attribute);
    }
    if (ngram_string.empty()) strings = LabelStrings(n_labels);
    ngram_number.push_back(number);
    ngram_attribute.push_back(entry.attribute);
    ngram_string.push_back(strings.intern(table.strings().labels(entry.string)));
}

void FeatureSet::index_ngrams() {
    if (ngram_string.empty()) return;
    ngram_ptr.assign(static_cast<std::size_t>(n_attributes) + 1, 0);
    for (const std::uint32_t x : ngram_attribute) ++ngram_ptr[std::size_t{x} + 1];
    std::partial_sum(ngram_ptr.begin(), ngram_ptr.end(), ngram_ptr.begin());
    std::vector<std::uint32_t> next(ngram_ptr.begin(), ngram_ptr.end() - 1);
    ngram_of.resize(ngram_string.size());
    for (std::uint32_t k = 0; k < ngram_of.size(); ++k) ngram_of[next[ngram_attribute[k]]++] = k;
}

std::vector<std::int64_t> FeatureSet::numbers() const {
    std::vector<std::int64_t> out;
    out.reserve(static_cast<std::size_t>(size()));
    const auto add = [&](const FeatureRange& range, const std::vector<std::int64_t>& ptr, const auto& cells) {
        for (std::int64_t x = 0; x < range.n_attributes; ++x) {
            for (std::int64_t k = ptr[x]; k < ptr[x + 1]; ++k) out.push_back(range.number(x, cells[k]));
        }
    };
    add(numbering().unigram, unigram_ptr, unigram_label);
    add(numbering().bigram, bigram_ptr, bigram_pair);
    if (n_class() > 0) add(numbering().classes, class_ptr, class_pair);
    out.insert(out.end(), ngram_number.begin(), ngram_number.end());
    return out;
}

FeatureSet::FeatureSet(std::int64_t labels, std::int64_t attributes, std::span<const std::int32_t> unigram_attribute,
                       std::span<const std::int32_t> unigram_y, std::span<const std::int32_t> bigram_attribute,
                       std::span<const std::int32_t> bigram_previous, std::span<const std::int32_t> bigram_y)
    : FeatureSet(labels, attributes) {
    if (unigram_attribute.size() != unigram_y.size()) {
        throw InputError("unigram features: expected arrays of equal length, found ", unigram_attribute.size(),
                         " attributes and ", unigram_y.size(), " labels");
    }
    if (bigram_attribute.size() != bigram_y.size() || bigram_attribute.size() != bigram_previous.size()) {
        throw InputError("bigram features: expected arrays of equal length, found ", bigram_attribute.size(),
                         " attributes, ", bigram_previous.size(), " previous labels and ", bigram_y.size(), " labels");
    }
    std::vector<std::uint64_t> keys(unigram_y.size());
    for (std::size_t k = 0; k < keys.size(); ++k) {
        const std::uint64_t x = in_range(unigram_attribute[k], attributes, "an attribute", k);
        keys[k] = x << 32 | static_cast<std::uint32_t>(in_range(unigram_y[k], labels, "a label", k));
    }
    lay_rows(keys, n_attributes, unigram_ptr, unigram_label);
    reject_duplicates(keys, "unigram");
    keys.resize(bigram_y.size());
    for (std::size_t k = 0; k < keys.size(); ++k) {
        const std::uint64_t x = in_range(bigram_attribute[k], attributes, "an attribute", k);
        const auto previous =
            static_cast<std::uint32_t>(in_range(bigram_previous[k], labels + 1, "a previous label", k));
        const auto y = static_cast<std::uint32_t>(in_range(bigram_y[k], labels, "a label", k));
        keys[k] = x << 32 | LabelPairs(labels).pair(previous, y);
    }
    lay_rows(keys, n_attributes, bigram_ptr, bigram_pair);
    reject_duplicates(keys, "bigram");
}

void FeatureSet::check_weights(std::span<const double> w) const {
    if (static_cast<std::int64_t>(w.size()) != size()) {
        throw InputError("expected ", size(), " weights, one per feature, found ", w.size());
    }
    for (std::size_t k = 0; k < w.size(); ++k) {
        if (!(std::abs(w[k]) <= kLargest)) {
            throw InputError("weight of feature ", k, ": expected a finite number (at most ", kLargest,
                             " in size), found ", w[k]);
        }
    }
}

void FeatureSet::check_fits(const Corpus& corpus) const {
    if (n_labels != corpus.n_labels || n_attributes != corpus.n_attributes) {
        throw InputError("expected a corpus of ", n_labels, " labels and ", n_attributes, " attributes, found ",
                         corpus.n_labels, " and ", corpus.n_attributes);
    }
    if (parts != nullptr && corpus.n_dense > 0) {
        throw InputError("features: expected whole labels for dense columns, found labels with parts");
    }
}

void FeatureSet::check_pairs_at_most(const char* who) const {
    if (n_ngram() > 0) {
        throw InputError(who, ": expected features of at most two labels, found ", n_ngram(),
                         " label n-grams of three or more");
    }
}

void FeatureSet::check_whole_labels(const char* who) const {
    if (parts != nullptr) {
        throw InputError(who, ": expected features of whole labels, found labels with ", parts->n_parts(), " parts");
    }
}

}  // namespace sparsecrf
