#include "corpus.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

#include "error.hpp"
#include "hash.hpp"
#include "simd/kernels.hpp"

namespace sparsecrf {
namespace {

void append(const ListPool& lists, std::uint32_t list, std::vector<Attribute>& out) {
    for (std::int64_t k = lists.begin(list); k < lists.end(list); ++k) out.push_back({lists.id(k), lists.value(k)});
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
            throw InputError(message("subset: expected a sequence from 0 to ", n_sequences() - 1, ", found ", i));
        }
        builder.begin_sequence(weight(i));
        for (std::int64_t t = offsets[i]; t < offsets[i + 1]; ++t) {
            u = unigram_attributes(t);
            b = bigram_attributes(t);
            builder.add_position(u, b, labels[t], token_weight.empty() ? 1.0 : token_weight[t]);
        }
        builder.end_sequence();
    }
    return builder.build(n_labels, n_attributes);
}

// h <- mix(h ^ word) over every array, each after its length.
std::uint64_t Corpus::fingerprint() const {
    std::uint64_t h = 0;
    const auto add = [&](std::uint64_t word) { h = mix(h ^ word); };
    const auto add_all = [&](const auto& words) {
        add(words.size());
        for (const auto word : words) {
            if constexpr (std::is_floating_point_v<std::remove_cv_t<decltype(word)>>) {
                add(std::bit_cast<std::uint64_t>(word));
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
    for (const ListPool* lists : {&unigram_lists, &base_lists, &rest_lists}) {
        add(lists->size());
        for (std::uint32_t list = 0; list < lists->size(); ++list) {
            add(static_cast<std::uint64_t>(lists->end(list)));
            for (std::int64_t k = lists->begin(list); k < lists->end(list); ++k) {
                add(lists->id(k));
                add(std::bit_cast<std::uint64_t>(lists->value(k)));
            }
        }
    }
    return h;
}

std::string CorpusBuilder::here() const {
    return message("sequence ", n_seen(), ", position ", n_tokens() - corpus_.offsets.back());
}

void CorpusBuilder::check(const std::vector<Attribute>& list, const char* kind) const {
    for (const Attribute& a : list) {
        if (!(std::abs(a.value) <= kLargest)) {
            throw InputError(message(here(), ": expected a finite ", kind, " attribute value (at most ", kLargest,
                                     " in size), found ", a.value));
        }
    }
}

void CorpusBuilder::begin_sequence(double weight) {
    if (!(weight >= 0.0) || !std::isfinite(weight)) {
        throw InputError(message("sequence ", n_seen(), ": expected a finite weight >= 0, found ", weight));
    }
    corpus_.sequence_weight.push_back(weight);
}

void CorpusBuilder::add_position(std::vector<Attribute>& unigram, std::vector<Attribute>& bigram, std::int32_t label,
                                 double weight) {
    check(unigram, "unigram");
    check(bigram, "bigram");
    if (label < kMissing) throw InputError(message(here(), ": expected a label >= 0, or -1 (missing), found ", label));
    if (!(weight >= 0.0) || !std::isfinite(weight)) {
        throw InputError(message(here(), ": expected a finite token weight >= 0, found ", weight));
    }
    corpus_.unigram.push_back(share_ ? corpus_.unigram_lists.intern(unigram) : corpus_.unigram_lists.append(unigram));
    bigram_.push_back(bigram_lists_.intern(bigram));
    unigram.clear();
    bigram.clear();
    corpus_.labels.push_back(label);
    corpus_.token_weight.push_back(weight);
}

void CorpusBuilder::end_sequence() {
    if (n_tokens() == corpus_.offsets.back()) {
        throw InputError(message("sequence ", n_seen(), ": expected at least one position, found none"));
    }
    corpus_.offsets.push_back(n_tokens());
}

void CorpusBuilder::abandon_sequence() {
    const auto kept = static_cast<std::size_t>(corpus_.offsets.back());
    corpus_.unigram.resize(kept);
    bigram_.resize(kept);
    corpus_.labels.resize(kept);
    corpus_.token_weight.resize(kept);
    corpus_.sequence_weight.resize(static_cast<std::size_t>(corpus_.n_sequences()));
}

void CorpusBuilder::skip_sequence() {
    abandon_sequence();
    ++n_skipped_;
}

void CorpusBuilder::rename_labels(std::span<const std::int32_t> to) {
    for (std::int32_t& y : corpus_.labels) {
        if (y != kMissing) y = to[y];
    }
}

Corpus CorpusBuilder::build(std::int64_t n_labels, std::int64_t n_attributes) {
    if (corpus_.n_sequences() == 0) throw InputError("empty corpus: expected at least one sequence, found none");
    if (n_labels < 1 || n_labels > kMaxLabels) {
        throw InputError(message("expected 1 to ", kMaxLabels, " labels, found ", n_labels));
    }
    if (n_attributes < 0 || n_attributes > 0x7fffffff) {
        throw InputError(message("expected 0 to 2^31 - 1 attributes, found ", n_attributes));
    }
    corpus_.n_labels = static_cast<int>(n_labels);
    corpus_.n_attributes = static_cast<std::uint32_t>(n_attributes);
    for (std::int64_t t = 0; t < n_tokens(); ++t) {
        if (corpus_.labels[t] >= n_labels) {
            throw InputError(
                message(corpus_.where(t), ": expected a label below ", n_labels, ", found ", corpus_.labels[t]));
        }
    }
    const auto check_ids = [&](const ListPool& lists, const std::vector<std::uint32_t>& of, const char* kind) {
        std::uint32_t largest = 0;
        for (std::int64_t k = 0; k < lists.n_entries(); ++k) largest = std::max(largest, lists.id(k));
        if (lists.n_entries() == 0 || largest < n_attributes) return;
        for (std::int64_t t = 0; t < n_tokens(); ++t) {
            for (std::int64_t k = lists.begin(of[t]); k < lists.end(of[t]); ++k) {
                if (lists.id(k) >= n_attributes) {
                    throw InputError(message(corpus_.where(t), ": expected a ", kind, " attribute below ", n_attributes,
                                             ", found ", lists.id(k)));
                }
            }
        }
    };
    check_ids(corpus_.unigram_lists, corpus_.unigram, "unigram");
    check_ids(bigram_lists_, bigram_, "bigram");
    const auto is_one = [](double weight) { return weight == 1.0; };
    for (std::vector<double>* weights : {&corpus_.sequence_weight, &corpus_.token_weight}) {
        if (std::all_of(weights->begin(), weights->end(), is_one)) *weights = {};
    }
    split_bigrams();
    for (ListPool* pool : {&corpus_.unigram_lists, &corpus_.base_lists, &corpus_.rest_lists}) pool->freeze();
    Corpus done = std::move(corpus_);
    *this = CorpusBuilder(share_);
    return done;
}

// The base takes the attributes that occur at least `least` times. `least` is the smallest power of two for which the
// tables of all base lists stay within a cache and each list serves several positions; a few lists are always allowed.
void CorpusBuilder::split_bigrams() {
    constexpr std::size_t kFewLists = 32;
    constexpr double kTableBytes = 8 << 20;
    const double bytes_per_list = 16.0 * corpus_.n_labels * padded(corpus_.n_labels);
    const auto room = static_cast<std::size_t>(
        std::max<double>(kFewLists, std::min(kTableBytes / bytes_per_list, static_cast<double>(n_tokens()) / 4)));

    std::vector<std::int64_t> positions(bigram_lists_.size(), 0);  // of each full list
    for (const std::uint32_t list : bigram_) ++positions[list];
    std::uint32_t largest = 0;
    for (std::int64_t k = 0; k < bigram_lists_.n_entries(); ++k) largest = std::max(largest, bigram_lists_.id(k));
    std::vector<std::int64_t> frequency(std::size_t{largest} + 1, 0);  // of each attribute up to the last one here
    for (std::uint32_t list = 0; list < bigram_lists_.size(); ++list) {
        for (std::int64_t k = bigram_lists_.begin(list); k < bigram_lists_.end(list); ++k) {
            frequency[bigram_lists_.id(k)] += positions[list];
        }
    }

    std::vector<std::uint32_t> base_of(bigram_lists_.size()), rest_of(bigram_lists_.size());
    for (std::int64_t least = 1;; least *= 2) {
        ListPool base, rest;
        bool fits = true;
        for (std::uint32_t list = 0; list < bigram_lists_.size() && fits; ++list) {
            std::vector<Attribute> shared, own;
            for (std::int64_t k = bigram_lists_.begin(list); k < bigram_lists_.end(list); ++k) {
                const Attribute a{bigram_lists_.id(k), bigram_lists_.value(k)};
                (frequency[a.id] >= least ? shared : own).push_back(a);
            }
            base_of[list] = base.intern(shared);
            rest_of[list] = rest.intern(own);
            fits = base.size() <= room + 1;  // the empty list is always there
        }
        if (!fits) continue;
        corpus_.base_lists = std::move(base);
        corpus_.rest_lists = std::move(rest);
        break;
    }
    corpus_.base.resize(bigram_.size());
    corpus_.rest.resize(bigram_.size());
    for (std::size_t t = 0; t < bigram_.size(); ++t) {
        corpus_.base[t] = base_of[bigram_[t]];
        corpus_.rest[t] = rest_of[bigram_[t]];
    }
}

}  // namespace sparsecrf
