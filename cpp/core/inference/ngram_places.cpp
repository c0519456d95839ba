#include "core/inference/ngram_places.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/parallel.hpp"

namespace sparsecrf {

std::uint32_t NgramPlace::arc_of(std::uint32_t string) const {
    const auto found = std::lower_bound(sorted_string.begin(), sorted_string.end(), string);
    if (found == sorted_string.end() || *found != string) return kNoString;
    return sorted_arc[static_cast<std::size_t>(found - sorted_string.begin())];
}

NgramPlaces::NgramPlaces(const FeatureSet& features) : features_(features), strings_(features.strings) {
    for (const std::uint32_t s : features.ngram_string) {
        longest_ = std::max(longest_, static_cast<std::int64_t>(strings_.length(s)));
    }
    index_.assign(strings_.size(), kNoString);
    list_ids_.emplace(List{}, 0);
    lists_.emplace_back();
    history_ids_.emplace(std::vector<std::uint32_t>{}, 0);
    histories_.emplace_back();
    places_.emplace_back();
}

// The attributes of a position that have n-grams.
std::uint32_t NgramPlaces::list_of(const Corpus& corpus, std::int64_t position) {
    List list;
    const auto add = [&](const ListPool& lists, std::uint32_t of) {
        for (std::int64_t k = lists.begin(of); k < lists.end(of); ++k) {
            if (features_.has_ngrams(lists.id(k))) list.emplace_back(lists.id(k), lists.value(k));
        }
    };
    add(corpus.base_lists, corpus.base[position]);
    add(corpus.rest_lists, corpus.rest[position]);
    const auto [found, is_new] = list_ids_.try_emplace(list, static_cast<std::uint32_t>(lists_.size()));
    if (is_new) lists_.push_back(list);
    return found->second;
}

std::vector<std::uint32_t> NgramPlaces::of(const Corpus& corpus) {
    std::vector<std::uint32_t> out(static_cast<std::size_t>(corpus.n_tokens()), 0);
    std::unordered_map<std::uint64_t, std::uint32_t> lists;  // base and rest list to list
    for (std::int64_t i = 0; i < corpus.n_sequences(); ++i) {
        std::uint32_t after = 0;
        for (std::int64_t p = corpus.offsets[i + 1] - 1; p >= corpus.offsets[i]; --p) {
            const std::uint64_t both = std::uint64_t{corpus.base[p]} << 32 | corpus.rest[p];
            const auto [list, is_new] = lists.try_emplace(both, 0);
            if (is_new) list->second = list_of(corpus, p);
            if (list->second == 0 && after == 0) continue;
            const std::int64_t t = std::min(p - corpus.offsets[i], longest_);
            const auto key = std::tuple{list->second, after, t};
            auto made = made_.find(key);
            if (made == made_.end()) made = made_.emplace(key, make(list->second, after, t)).first;
            out[static_cast<std::size_t>(p)] = made->second.place;
            after = made->second.before;
        }
    }
    return out;
}

std::uint32_t NgramPlaces::intern_histories(std::vector<std::uint32_t>& strings) {
    std::sort(strings.begin(), strings.end(), [&](std::uint32_t a, std::uint32_t b) {
        return std::pair{strings_.length(a), a} < std::pair{strings_.length(b), b};
    });
    strings.erase(std::unique(strings.begin(), strings.end()), strings.end());
    const auto [found, is_new] = history_ids_.try_emplace(strings, static_cast<std::uint32_t>(histories_.size()));
    if (!is_new) return found->second;
    Histories& made = histories_.emplace_back();
    made.string = strings;
    for (std::uint32_t k = 0; k < strings.size(); ++k) {
        std::uint32_t s = strings_.suffix(strings[k]);
        while (s != 0 && index_[s] == kNoString) s = strings_.suffix(s);
        made.suffix.push_back(s == 0 ? kNoString : index_[s]);
        made.label.push_back(strings_.last(strings[k]));
        index_[strings[k]] = k;
    }
    for (const std::uint32_t s : strings) index_[s] = kNoString;
    return found->second;
}

NgramPlaces::Made NgramPlaces::make(std::uint32_t list, std::uint32_t after, std::int64_t t) {
    std::vector<std::uint32_t> arcs;
    for (const auto& [x, value] : lists_[list]) {
        for (std::uint32_t k = features_.ngram_ptr[x]; k < features_.ngram_ptr[x + 1]; ++k) {
            const std::uint32_t s = features_.ngram_string[features_.ngram_of[k]];
            if (strings_.fits(s, t)) arcs.push_back(s);
        }
    }
    for (const std::uint32_t s : histories_[after].string) {
        if (strings_.length(s) > 2) arcs.push_back(s);
    }
    std::sort(arcs.begin(), arcs.end(), [&](std::uint32_t a, std::uint32_t b) {
        return strings_.length(a) != strings_.length(b) ? strings_.length(a) > strings_.length(b) : a < b;
    });
    arcs.erase(std::unique(arcs.begin(), arcs.end()), arcs.end());
    std::vector<std::uint32_t> before;
    for (const std::uint32_t s : arcs) before.push_back(strings_.prefix(s));
    const std::uint32_t before_id = intern_histories(before);
    if (arcs.empty() && after == 0) return {0, 0};

    NgramPlace& place = places_.emplace_back();
    place.before = &histories_[before_id];
    place.after = &histories_[after];
    for (std::uint32_t k = 0; k < place.before->size(); ++k) index_[place.before->string[k]] = k;
    for (const std::uint32_t s : arcs) place.arc_history.push_back(index_[strings_.prefix(s)]);
    for (const std::uint32_t s : place.before->string) index_[s] = kNoString;
    lay_pairs(place, arcs);
    lay_terms(place, lists_[list], t);
    return {static_cast<std::uint32_t>(places_.size()) - 1, before_id};
}

// Pairs, parents and targets. A target of an arc is the longest of its suffixes, itself included, that is a history
// after; those of at least three labels are arcs.
void NgramPlaces::lay_pairs(NgramPlace& place, std::span<const std::uint32_t> arcs) {
    const LabelPairs numbers(features_.n_labels);
    const auto two = [&](std::uint32_t s) {  // the last two labels, as a string
        while (strings_.length(s) > 2) s = strings_.suffix(s);
        return s;
    };
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;  // number, string
    const auto add = [&](std::uint32_t s) {
        pairs.emplace_back(numbers.pair(strings_.first(two(s)), strings_.last(s)), two(s));
    };
    for (const std::uint32_t s : arcs) add(s);
    for (const std::uint32_t s : place.after->string) add(s);
    std::sort(pairs.begin(), pairs.end());
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());

    const auto n_arcs = static_cast<std::uint32_t>(arcs.size());
    std::vector<std::uint32_t> nodes(arcs.begin(), arcs.end());  // strings
    for (const auto& [number, s] : pairs) {
        place.pair.push_back(number);
        place.pair_previous.push_back(numbers.previous(number));
        place.pair_label.push_back(numbers.label(number));
        nodes.push_back(s);
    }
    for (std::uint32_t k = 0; k < nodes.size(); ++k) index_[nodes[k]] = k;
    for (const std::uint32_t s : arcs) {
        std::uint32_t up = strings_.suffix(s);
        while (index_[up] == kNoString) up = strings_.suffix(up);
        place.arc_parent.push_back(index_[up]);
        place.arc_pair.push_back(index_[two(s)] - n_arcs);
    }
    for (const std::uint32_t s : place.after->string) place.after_node.push_back(index_[s]);
    for (const std::uint32_t s : nodes) index_[s] = kNoString;

    for (std::uint32_t k = 0; k < place.after->size(); ++k) index_[place.after->string[k]] = k;
    for (std::uint32_t s : nodes) {
        while (s != 0 && index_[s] == kNoString) s = strings_.suffix(s);
        place.target.push_back(s == 0 ? kNoString : index_[s]);
    }
    for (const std::uint32_t s : place.after->string) index_[s] = kNoString;

    std::vector<std::uint32_t> order(arcs.size());
    for (std::uint32_t k = 0; k < order.size(); ++k) order[k] = k;
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return arcs[a] < arcs[b]; });
    for (const std::uint32_t k : order) place.sorted_string.push_back(arcs[k]);
    place.sorted_arc = std::move(order);
}

void NgramPlaces::lay_terms(NgramPlace& place, const List& list, std::int64_t t) {
    for (const auto& [x, value] : list) {
        for (std::uint32_t k = features_.ngram_ptr[x]; k < features_.ngram_ptr[x + 1]; ++k) {
            const std::uint32_t feature = features_.ngram_of[k], s = features_.ngram_string[feature];
            if (strings_.fits(s, t)) place.terms.push_back({place.arc_of(s), feature, value});
        }
    }
    for (std::vector<double>* x : {&place.log_x, &place.x, &place.x_parent}) x->resize(place.n_arcs());
}

void NgramPlaces::assign(std::span<const double> w, int threads) {
    const double* ngram = w.data() + features_.first_ngram();
    parallel_for(static_cast<std::int64_t>(places_.size()), threads, 1, [&](int, std::int64_t id) {
        NgramPlace& place = places_[static_cast<std::size_t>(id)];
        const std::size_t n = place.n_arcs();
        std::fill(place.log_x.begin(), place.log_x.end(), 0.0);
        for (const NgramPlace::Term& term : place.terms) place.log_x[term.arc] += term.value * ngram[term.feature];
        place.low = place.high = 0.0;
        for (std::size_t g = n; g-- > 0;) {  // parents come after their children
            const std::uint32_t parent = place.arc_parent[g];
            if (parent < n) place.log_x[g] += place.log_x[parent];
            place.x[g] = std::exp(place.log_x[g]);
            place.x_parent[g] = parent < n ? place.x[parent] : 1.0;
            place.low = std::min(place.low, place.log_x[g]);
            place.high = std::max(place.high, place.log_x[g]);
        }
    });
}

}  // namespace sparsecrf
