#include "core/corpus/corpus.hpp"

#include <cmath>
#include <type_traits>
#include <utility>

#include "core/base/bits.hpp"
#include "core/base/error.hpp"
#include "core/base/hash.hpp"
#include "core/base/lanes.hpp"

namespace sparsecrf {
namespace {

void append(const ListPool& lists, std::uint32_t list, std::vector<Attribute>& out) {
    for (std::int64_t k = lists.begin(list); k < lists.end(list); ++k) out.push_back({lists.id(k), lists.value(k)});
}

void check_ids(const Corpus& corpus, const ListPool& lists, std::span<const std::uint32_t> of, const char* kind) {
    std::uint32_t largest = 0;
    for (std::int64_t k = 0; k < lists.n_entries(); ++k) largest = std::max(largest, lists.id(k));
    if (lists.n_entries() == 0 || largest < corpus.n_attributes) return;
    for (std::int64_t t = 0; t < corpus.n_tokens(); ++t) {
        for (std::int64_t k = lists.begin(of[t]); k < lists.end(of[t]); ++k) {
            if (lists.id(k) >= corpus.n_attributes) {
                throw InputError(corpus.where(t), ": expected a ", kind, " attribute below ", corpus.n_attributes,
                                 ", found ", lists.id(k));
            }
        }
    }
}

// The label of a position; if it is a label set, the set is copied to `to`.
std::int32_t copied_label(const Corpus& from, std::int64_t position, CorpusBuilder& to) {
    const std::int32_t y = from.labels[position];
    if (y >= kMissing) return y;
    const std::span<const std::uint32_t> set = from.label_sets.of(label_set_of(y));
    return to.label_set({set.begin(), set.end()});
}

// Computes the base and rest lists of a corpus from its full bigram lists and the list id of each position.
//
// The base list keeps the attributes that occur at least `least` times. `least` is the smallest power of two for which
// the tables of all base lists fit in a cache and each list is shared by several positions; a small number of lists is
// always allowed.
void split_bigrams(Corpus& corpus, const ListPool& lists, std::span<const std::uint32_t> of) {
    constexpr std::size_t kFewLists = 32;
    constexpr double kTableBytes = 8 << 20;
    const double bytes_per_list = 16.0 * corpus.n_labels * padded(corpus.n_labels);
    const auto room = static_cast<std::size_t>(
        std::max<double>(kFewLists, std::min(kTableBytes / bytes_per_list, static_cast<double>(of.size()) / 4)));

    std::vector<std::int64_t> positions(lists.size(), 0);  // number of positions per full list
    for (const std::uint32_t list : of) ++positions[list];
    std::uint32_t largest = 0;
    for (std::int64_t k = 0; k < lists.n_entries(); ++k) largest = std::max(largest, lists.id(k));
    std::vector<std::int64_t> frequency(std::size_t{largest} + 1, 0);  // number of positions with each attribute
    for (std::uint32_t list = 0; list < lists.size(); ++list) {
        for (std::int64_t k = lists.begin(list); k < lists.end(list); ++k) frequency[lists.id(k)] += positions[list];
    }

    std::vector<std::uint32_t> base_of(lists.size()), rest_of(lists.size());
    for (std::int64_t least = 1;; least *= 2) {
        ListPoolBuilder base, rest;
        bool fits = true;
        for (std::uint32_t list = 0; list < lists.size() && fits; ++list) {
            std::vector<Attribute> shared, own;
            for (std::int64_t k = lists.begin(list); k < lists.end(list); ++k) {
                const Attribute a{lists.id(k), lists.value(k)};
                (frequency[a.id] >= least ? shared : own).push_back(a);
            }
            base_of[list] = base.intern(shared);
            rest_of[list] = rest.intern(own);
            fits = base.size() <= room + 1;  // the empty list always exists
        }
        if (!fits) continue;
        corpus.base_lists = base.build();
        corpus.rest_lists = rest.build();
        break;
    }
    std::vector<std::uint32_t> base(of.size()), rest(of.size());
    for (std::size_t t = 0; t < of.size(); ++t) {
        base[t] = base_of[of[t]];
        rest[t] = rest_of[of[t]];
    }
    corpus.base = std::move(base);
    corpus.rest = std::move(rest);
}

}  // namespace

std::string Corpus::where(std::int64_t position) const {
    const auto next = std::upper_bound(offsets.begin(), offsets.end(), position);
    const std::int64_t i = next - offsets.begin() - 1;
    return message("sequence ", i, ", position ", position - offsets[i]);
}

std::int64_t Corpus::n_weighted_tokens() const {
    std::int64_t n = 0;
    for (std::int64_t i = 0; i < n_sequences(); ++i) {
        if (weight(i) == 0.0) continue;
        for (std::int64_t t = offsets[i]; t < offsets[i + 1]; ++t) n += token_weight.empty() || token_weight[t] != 0.0;
    }
    return n;
}

std::vector<Attribute> Corpus::unigram_attributes(std::int64_t position) const {
    std::vector<Attribute> out;
    append(unigram_lists, unigram[position], out);
    return out;
}

std::vector<Attribute> Corpus::bigram_attributes(std::int64_t position) const {
    std::vector<Attribute> out;
    append(base_lists, base[position], out);
    append(rest_lists, rest[position], out);
    std::sort(out.begin(), out.end(), [](const Attribute& a, const Attribute& b) { return a.id < b.id; });
    return out;
}

Corpus Corpus::subset(std::span<const std::int64_t> sequences) const {
    CorpusBuilder builder;
    std::vector<Attribute> u, b;
    for (const std::int64_t i : sequences) {
        if (i < 0 || i >= n_sequences()) {
            throw InputError("subset: expected a sequence from 0 to ", n_sequences() - 1, ", found ", i);
        }
        builder.begin_sequence(weight(i));
        for (std::int64_t t = offsets[i]; t < offsets[i + 1]; ++t) {
            u = unigram_attributes(t);
            b = bigram_attributes(t);
            builder.add_position(u, b, copied_label(*this, t, builder), token_weight.empty() ? 1.0 : token_weight[t]);
        }
        builder.end_sequence();
    }
    Corpus made = builder.build(n_labels, n_attributes);
    if (n_dense == 0) return made;
    std::vector<float> values;
    for (const std::int64_t i : sequences) {
        values.insert(values.end(), dense.begin() + offsets[i] * n_dense, dense.begin() + offsets[i + 1] * n_dense);
    }
    return made.with_dense(std::move(values), dense_attributes);
}

Corpus Corpus::with_dense(std::vector<float> values, std::vector<std::uint32_t> attributes) const {
    const auto d = static_cast<std::int64_t>(attributes.size());
    if (static_cast<std::int64_t>(values.size()) != n_tokens() * d) {
        throw InputError("dense: expected ", n_tokens(), " rows of ", d, " numbers, found ", values.size());
    }
    for (std::size_t k = 0; k < values.size(); ++k) {
        if (std::isfinite(values[k])) continue;
        const auto at = static_cast<std::int64_t>(k);
        throw InputError(where(at / d), ", dense column ", at % d, ": expected a finite number, found ", values[k]);
    }
    for (const std::uint32_t x : attributes) {
        if (x == kNoAttribute || x < n_attributes) continue;
        throw InputError("dense: expected attributes below ", n_attributes, ", found ", x);
    }
    Corpus made = *this;
    made.n_dense = d;
    made.dense = std::move(values);
    made.dense_attributes = std::move(attributes);
    return made;
}

// h <- mix(h ^ word) over every array, preceded by its length.
std::uint64_t Corpus::fingerprint() const {
    std::uint64_t h = 0;
    const auto add = [&](std::uint64_t word) { h = mix(h ^ word); };
    const auto add_all = [&](const auto& words) {
        add(words.size());
        for (const auto word : words) {
            if constexpr (std::is_same_v<std::remove_cv_t<decltype(word)>, float>) {
                add(bits_as<std::uint32_t>(word));
            } else if constexpr (std::is_floating_point_v<std::remove_cv_t<decltype(word)>>) {
                add(bits_as<std::uint64_t>(word));
            } else {
                add(static_cast<std::uint64_t>(word));
            }
        }
    };
    add(static_cast<std::uint64_t>(n_labels));
    add(n_attributes);
    add_all(offsets);
    add_all(labels);
    add_all(unigram);
    add_all(base);
    add_all(rest);
    add_all(sequence_weight);
    add_all(token_weight);
    if (n_dense > 0) {
        add_all(dense_attributes);
        add_all(dense);
    }
    std::vector<const ListPool*> pools{&unigram_lists, &base_lists, &rest_lists};
    if (label_sets.size() > 1) pools.push_back(&label_sets);
    for (const ListPool* lists : pools) {
        add(lists->size());
        for (std::uint32_t list = 0; list < lists->size(); ++list) {
            add(static_cast<std::uint64_t>(lists->end(list)));
            for (std::int64_t k = lists->begin(list); k < lists->end(list); ++k) {
                add(lists->id(k));
                add(bits_as<std::uint64_t>(lists->value(k)));
            }
        }
    }
    return h;
}

std::string CorpusBuilder::here() const {
    return message("sequence ", n_seen(), ", position ", n_tokens() - offsets_.back());
}

void CorpusBuilder::check(const std::vector<Attribute>& list, const char* kind) const {
    for (const Attribute& a : list) {
        if (!(std::abs(a.value) <= kLargest)) {
            throw InputError(here(), ": expected a finite ", kind, " attribute value (at most ", kLargest,
                             " in size), found ", a.value);
        }
    }
}

void CorpusBuilder::begin_sequence(double weight) {
    if (!(weight >= 0.0) || !std::isfinite(weight)) {
        throw InputError("sequence ", n_seen(), ": expected a finite weight >= 0, found ", weight);
    }
    sequence_weight_.push_back(weight);
}

void CorpusBuilder::check(std::int32_t label, double weight) const {
    if (label < 0 && label_set_of(label) >= label_sets_.size()) {
        throw InputError(here(), ": expected a label >= 0, or -1 (missing), found ", label);
    }
    if (!(weight >= 0.0) || !std::isfinite(weight)) {
        throw InputError(here(), ": expected a finite token weight >= 0, found ", weight);
    }
}

std::int32_t CorpusBuilder::label_set(std::vector<std::int32_t> labels) {
    std::sort(labels.begin(), labels.end());
    labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
    if (labels.empty() || !is_known(labels.front())) {
        throw InputError(here(), ": expected a set of labels >= 0, found ",
                         labels.empty() ? std::string("none") : std::to_string(labels.front()));
    }
    if (labels.size() == 1) return labels.front();
    std::vector<Attribute> list;
    for (const std::int32_t y : labels) list.push_back({static_cast<std::uint32_t>(y), 1.0});
    return -1 - static_cast<std::int32_t>(label_sets_.intern(list));
}

template <class List>
void CorpusBuilder::add_lists(List& unigram, List& bigram, std::int32_t label, double weight) {
    check(label, weight);
    unigram_.push_back(share_ ? unigram_lists_.intern(unigram) : unigram_lists_.append(unigram));
    bigram_.push_back(bigram_lists_.intern(bigram));
    labels_.push_back(label);
    token_weight_.push_back(weight);
}

void CorpusBuilder::add_position(std::vector<Attribute>& unigram, std::vector<Attribute>& bigram, std::int32_t label,
                                 double weight) {
    check(unigram, "unigram");
    check(bigram, "bigram");
    add_lists(unigram, bigram, label, weight);
    unigram.clear();
    bigram.clear();
}

void CorpusBuilder::add_position(const PlainList& unigram, const PlainList& bigram, std::int32_t label, double weight) {
    add_lists(unigram, bigram, label, weight);
}

void CorpusBuilder::end_sequence() {
    if (n_tokens() == offsets_.back()) {
        throw InputError("sequence ", n_seen(), ": expected at least one position, found none");
    }
    offsets_.push_back(n_tokens());
}

void CorpusBuilder::abandon_sequence() {
    const auto kept = static_cast<std::size_t>(offsets_.back());
    unigram_.resize(kept);
    bigram_.resize(kept);
    labels_.resize(kept);
    token_weight_.resize(kept);
    sequence_weight_.resize(static_cast<std::size_t>(n_sequences()));
}

void CorpusBuilder::skip_sequence() {
    abandon_sequence();
    ++n_skipped_;
}

void CorpusBuilder::rename_labels(std::span<const std::int32_t> to) {
    for (std::int32_t& y : labels_) {
        if (is_known(y)) y = to[y];
    }
    const ListPool sets = std::exchange(label_sets_, {}).build();
    for (std::uint32_t set = 1; set < sets.size(); ++set) {  // keeps the set numbers
        std::vector<std::int32_t> renamed;
        for (const std::uint32_t y : sets.of(set)) renamed.push_back(to[y]);
        label_set(std::move(renamed));
    }
}

Corpus CorpusBuilder::build(std::int64_t n_labels, std::int64_t n_attributes) {
    if (n_sequences() == 0) throw InputError("empty corpus: expected at least one sequence, found none");
    if (n_labels < 1 || n_labels > kMaxLabels) {
        throw InputError("expected 1 to ", kMaxLabels, " labels, found ", n_labels);
    }
    if (n_attributes < 0 || n_attributes > kMaxAttributes) {
        throw InputError("expected 0 to 2^31 - 1 attributes, found ", n_attributes);
    }
    CorpusBuilder all(share_);
    std::swap(*this, all);
    Corpus made;
    made.n_labels = static_cast<int>(n_labels);
    made.n_attributes = static_cast<std::uint32_t>(n_attributes);
    made.offsets = std::move(all.offsets_);
    made.labels = std::move(all.labels_);
    made.label_sets = all.label_sets_.build();
    made.unigram = std::move(all.unigram_);
    made.unigram_lists = all.unigram_lists_.build();
    const ListPool bigram_lists = all.bigram_lists_.build();
    for (std::int64_t t = 0; t < made.n_tokens(); ++t) {
        if (made.labels[t] >= n_labels) {
            throw InputError(made.where(t), ": expected a label below ", n_labels, ", found ", made.labels[t]);
        }
    }
    for (const std::uint32_t y : made.label_sets.ids()) {
        if (y >= n_labels) throw InputError("a label set: expected labels below ", n_labels, ", found ", y);
    }
    check_ids(made, made.unigram_lists, made.unigram, "unigram");
    check_ids(made, bigram_lists, all.bigram_, "bigram");
    const auto is_one = [](double weight) { return weight == 1.0; };
    const auto unless_all_one = [&](std::vector<double>& weights) -> Array<double> {
        if (std::all_of(weights.begin(), weights.end(), is_one)) return {};
        return std::move(weights);
    };
    made.sequence_weight = unless_all_one(all.sequence_weight_);
    made.token_weight = unless_all_one(all.token_weight_);
    split_bigrams(made, bigram_lists, all.bigram_);
    return made;
}

}  // namespace sparsecrf
