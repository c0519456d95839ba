#include "core/inference/ngrams/ngram_places.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/error.hpp"
#include "core/base/parallel.hpp"
#include "core/base/usable_memory.hpp"

namespace sparsecrf {
namespace {

constexpr std::size_t kOfKey = 128;  // approximate bytes of a map entry

}  // namespace

std::uint32_t NgramArcs::arc_of(std::uint32_t wanted) const {
    const auto found = std::lower_bound(sorted_arc.begin(), sorted_arc.end(), wanted,
                                        [&](std::uint32_t arc, std::uint32_t s) { return string[arc] < s; });
    return found == sorted_arc.end() || string[*found] != wanted ? kNoString : *found;
}

std::uint32_t NgramPlace::find_pair(std::uint32_t number) const {
    for (const auto part : {own_pairs(), other_pairs()}) {
        const auto found = std::lower_bound(part.begin(), part.end(), number);
        if (found != part.end() && *found == number) return static_cast<std::uint32_t>(&*found - pair.data());
    }
    return kNoString;
}

NgramPlaces::NgramPlaces(const FeatureSet& features) : features_(features), strings_(features.strings) {
    for (const std::uint32_t s : features.ngram_string) {
        longest_ = std::max(longest_, static_cast<std::int64_t>(strings_.length(s)));
    }
    index_.assign(strings_.size(), kNoString);
    for (const std::uint32_t s : features.ngram_string) {
        for (std::uint32_t h = strings_.prefix(s); strings_.length(h) > 3; h = strings_.prefix(h))
            ahead_.push_back(strings_.prefix(h));
    }
    std::sort(ahead_.begin(), ahead_.end());
    ahead_.erase(std::unique(ahead_.begin(), ahead_.end()), ahead_.end());
    list_ids_.emplace(List{}, 0);
    lists_.emplace_back();
    history_ids_.emplace(std::vector<std::uint32_t>{}, 0);
    histories_.emplace_back();
    places_.emplace_back();
    arcs_.emplace_back().leaf_ptr.assign(1, 0);
    arcs_.back().before = &histories_[0];
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
    if (is_new) {
        lists_.push_back(list);
        count_bytes(kOfKey + 2 * list.size() * sizeof(List::value_type));
    }
    return found->second;
}

std::vector<std::uint32_t> NgramPlaces::of(const Corpus& corpus) {
    std::vector<std::uint32_t> out(static_cast<std::size_t>(corpus.n_tokens()), 0);
    std::unordered_map<std::uint64_t, std::uint32_t> lists;  // (base list, rest list) to list
    for (std::int64_t i = 0; i < corpus.n_sequences(); ++i) {
        std::uint32_t after = 0, longer = 0;
        for (std::int64_t p = corpus.offsets[i + 1] - 1; p >= corpus.offsets[i]; --p) {
            const std::uint64_t both = std::uint64_t{corpus.base[p]} << 32 | corpus.rest[p];
            const auto [list, is_new] = lists.try_emplace(both, 0);
            if (is_new) list->second = list_of(corpus, p);
            if (list->second == 0 && after == 0) continue;
            const std::int64_t t = std::min(p - corpus.offsets[i], longest_ - 1);  // the same for all later positions
            const Key key{list->second, after, t};
            auto made = made_places_.find(key);
            if (made == made_places_.end()) {
                made = made_places_.emplace(key, make_place(list->second, after, longer, t)).first;
                count_bytes(kOfKey);
            }
            out[static_cast<std::size_t>(p)] = made->second.id;
            after = made->second.before;
            longer = after == 0 ? 0 : longer_before(list->second, t);
        }
    }
    return out;
}

std::uint32_t NgramPlaces::intern_histories(std::vector<std::uint32_t>& strings) {
    const auto key = [&](std::uint32_t s) {
        return std::pair{strings_.length(s), strings_.length(s) == 2 ? pair_number(s) : s};
    };
    std::sort(strings.begin(), strings.end(), [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
    strings.erase(std::unique(strings.begin(), strings.end()), strings.end());
    const auto [found, is_new] = history_ids_.try_emplace(strings, static_cast<std::uint32_t>(histories_.size()));
    if (!is_new) return found->second;
    const std::uint32_t id = found->second;
    Histories& made = histories_.emplace_back();
    made.string = strings;
    for (std::uint32_t k = 0; k < strings.size(); ++k) {
        std::uint32_t s = strings_.suffix(strings[k]);
        while (s != 0 && index_[s] == kNoString) s = strings_.suffix(s);
        made.suffix.push_back(s == 0 ? kNoString : index_[s]);
        made.label.push_back(static_cast<std::uint16_t>(strings_.last(strings[k])));
        made.first.push_back(static_cast<std::uint16_t>(strings_.first(strings[k])));
        if (strings_.length(strings[k]) == 2) ++made.n_pairs;
        index_[strings[k]] = k;
    }
    for (const std::uint32_t s : strings) index_[s] = kNoString;
    return id;
}

// The histories of at least three labels to distinguish before a position: the histories of its own features, and all
// histories that later features could need.
std::uint32_t NgramPlaces::longer_before(std::uint32_t list, std::int64_t t) {
    const auto [found, is_new] = longer_ids_.try_emplace(std::pair{list, t}, 0);
    if (!is_new) return found->second;
    std::vector<std::uint32_t> strings;
    for (const auto& [x, value] : lists_[list]) {
        for (std::uint32_t k = features_.ngram_ptr[x]; k < features_.ngram_ptr[x + 1]; ++k) {
            const std::uint32_t s = features_.ngram_string[features_.ngram_of[k]];
            if (strings_.length(s) > 3 && strings_.fits(s, t)) strings.push_back(strings_.prefix(s));
        }
    }
    for (const std::uint32_t s : ahead_) {
        if (t > 0 && strings_.fits(s, t - 1)) strings.push_back(s);
    }
    return found->second = intern_histories(strings);
}

NgramPlaces::Made NgramPlaces::make_place(std::uint32_t list, std::uint32_t after, std::uint32_t longer,
                                          std::int64_t t) {
    const Key key{list, longer, t};
    auto made = made_arcs_.find(key);
    if (made == made_arcs_.end()) made = made_arcs_.emplace(key, make_arcs(list, longer, t)).first;
    const auto [arcs, before] = made->second;
    if (arcs == 0 && after == 0) return {0, 0};
    NgramPlace& place = places_.emplace_back();
    place.arcs_id = arcs;
    place.arcs = &arcs_[arcs];
    place.after = &histories_[after];
    lay_pairs(place);
    lay_targets(place);
    count_bytes(place.pair.size() * 8 + place.target.size() * 4 + place.after_node.size() * 8);
    return {static_cast<std::uint32_t>(places_.size()) - 1, before};
}

NgramPlaces::Made NgramPlaces::make_arcs(std::uint32_t list, std::uint32_t longer, std::int64_t t) {
    std::vector<std::uint32_t> strings = histories_[longer].string;
    for (const auto& [x, value] : lists_[list]) {
        for (std::uint32_t k = features_.ngram_ptr[x]; k < features_.ngram_ptr[x + 1]; ++k) {
            const std::uint32_t s = features_.ngram_string[features_.ngram_of[k]];
            if (strings_.fits(s, t)) strings.push_back(s);
        }
    }
    std::sort(strings.begin(), strings.end());
    strings.erase(std::unique(strings.begin(), strings.end()), strings.end());
    if (strings.empty()) return {0, 0};
    std::vector<std::uint32_t> before;
    for (const std::uint32_t s : strings) before.push_back(strings_.prefix(s));
    const std::uint32_t before_id = intern_histories(before);

    NgramArcs& arcs = arcs_.emplace_back();
    arcs.before = &histories_[before_id];
    order_arcs(arcs, strings, histories_[longer]);
    lay_parents(arcs);
    lay_terms(arcs, lists_[list], t);
    constexpr std::size_t kOfArc = 5 * sizeof(std::uint32_t) + 4 * sizeof(double), kOfHistory = 20;
    count_bytes(arcs.n_arcs() * kOfArc + arcs.terms.size() * sizeof(NgramArcs::Term) +
                arcs.before->size() * kOfHistory);
    return {static_cast<std::uint32_t>(arcs_.size()) - 1, before_id};
}

void NgramPlaces::count_bytes(std::size_t more) {
    static const std::uint64_t most = usable_memory() / 3;
    bytes_ += more;
    if (bytes_ <= most) return;
    constexpr double kGigabyte = 1e9;
    throw InputError(message("label n-grams: expected tables of at most ", static_cast<double>(most) / kGigabyte,
                             " GB, a third of the memory, found larger ones for ", features_.n_ngram(),
                             " n-grams of up to ", longest_,
                             " labels: set a smaller order, a larger rho1 or order_factor, or condition fewer ",
                             "attributes on them (lines T.. of a template, n-grams without attributes)"));
}

// Orders the leaves by history, followed by the inner arcs, longest first. `strings` must be ascending.
void NgramPlaces::order_arcs(NgramArcs& arcs, std::span<const std::uint32_t> strings, const Histories& longer) {
    for (const std::uint32_t s : strings) index_[s] = 0;  // 0: arc, 1: inner arc
    for (const std::uint32_t s : strings) {
        std::uint32_t up = strings_.suffix(s);
        while (strings_.length(up) > 2 && index_[up] == kNoString) up = strings_.suffix(up);
        if (strings_.length(up) > 2) index_[up] = 1;
    }
    for (const std::uint32_t s : longer.string) index_[s] = 1;
    std::vector<std::uint32_t> leaves, others;
    for (const std::uint32_t s : strings) (index_[s] == 0 ? leaves : others).push_back(s);
    for (const std::uint32_t s : strings) index_[s] = kNoString;

    const Histories& before = *arcs.before;
    for (std::uint32_t k = 0; k < before.size(); ++k) index_[before.string[k]] = k;
    const auto history = [&](std::uint32_t s) { return index_[strings_.prefix(s)]; };
    std::sort(leaves.begin(), leaves.end(), [&](std::uint32_t a, std::uint32_t b) {
        return std::tuple{history(a), strings_.last(a), a} < std::tuple{history(b), strings_.last(b), b};
    });
    std::sort(others.begin(), others.end(), [&](std::uint32_t a, std::uint32_t b) {
        return strings_.length(a) != strings_.length(b) ? strings_.length(a) > strings_.length(b) : a < b;
    });
    arcs.string = leaves;
    arcs.string.insert(arcs.string.end(), others.begin(), others.end());
    for (const std::uint32_t s : arcs.string) arcs.history.push_back(history(s));
    arcs.leaf_ptr.assign(before.size() + 1, 0);
    for (const std::uint32_t s : leaves) ++arcs.leaf_ptr[history(s) + 1];
    for (std::size_t h = 0; h < before.size(); ++h) arcs.leaf_ptr[h + 1] += arcs.leaf_ptr[h];
    for (const std::uint32_t s : before.string) index_[s] = kNoString;

    arcs.sorted_arc.resize(arcs.string.size());
    for (std::uint32_t k = 0; k < arcs.sorted_arc.size(); ++k) arcs.sorted_arc[k] = k;
    std::sort(arcs.sorted_arc.begin(), arcs.sorted_arc.end(),
              [&](std::uint32_t a, std::uint32_t b) { return arcs.string[a] < arcs.string[b]; });
}

std::uint32_t NgramPlaces::last_two(std::uint32_t string) const {
    while (strings_.length(string) > 2) string = strings_.suffix(string);
    return string;
}

std::uint32_t NgramPlaces::pair_number(std::uint32_t two) const {
    return LabelPairs(features_.n_labels).pair(strings_.first(two), strings_.last(two));
}

std::uint32_t NgramPlaces::pair_string(std::uint32_t number) const {
    const LabelPairs numbers(features_.n_labels);
    return strings_.find(strings_.single(numbers.label(number)), numbers.previous(number));
}

void NgramPlaces::lay_parents(NgramArcs& arcs) {
    for (const std::uint32_t s : arcs.string) arcs.pair.push_back(pair_number(last_two(s)));
    std::sort(arcs.pair.begin(), arcs.pair.end());
    arcs.pair.erase(std::unique(arcs.pair.begin(), arcs.pair.end()), arcs.pair.end());
    const std::uint32_t n_leaves = arcs.n_leaves(), n_inner = arcs.n_inner();
    std::vector<std::uint32_t> nodes(arcs.string.begin() + n_leaves, arcs.string.end());  // strings
    for (const std::uint32_t number : arcs.pair) nodes.push_back(pair_string(number));
    for (std::uint32_t k = 0; k < nodes.size(); ++k) index_[nodes[k]] = k;
    for (const std::uint32_t s : arcs.string) {
        std::uint32_t up = strings_.suffix(s);
        while (index_[up] == kNoString) up = strings_.suffix(up);
        arcs.parent.push_back(index_[up]);
        arcs.pair_of.push_back(index_[last_two(s)] - n_inner);
    }
    for (const std::uint32_t s : nodes) index_[s] = kNoString;
}

void NgramPlaces::lay_terms(NgramArcs& arcs, const List& list, std::int64_t t) {
    for (const auto& [x, value] : list) {
        for (std::uint32_t k = features_.ngram_ptr[x]; k < features_.ngram_ptr[x + 1]; ++k) {
            const std::uint32_t feature = features_.ngram_of[k], s = features_.ngram_string[feature];
            if (strings_.fits(s, t)) arcs.terms.push_back({arcs.arc_of(s), feature, value});
        }
    }
    for (std::vector<double>* x : {&arcs.log_x, &arcs.x, &arcs.x_parent, &arcs.more}) x->resize(arcs.n_arcs());
}

void NgramPlaces::lay_pairs(NgramPlace& place) {
    const std::vector<std::uint32_t>& own = place.arcs->pair;
    std::vector<std::uint32_t> others;
    for (const std::uint32_t s : place.after->string) {
        const std::uint32_t number = pair_number(last_two(s));
        if (!std::binary_search(own.begin(), own.end(), number)) others.push_back(number);
    }
    std::sort(others.begin(), others.end());
    others.erase(std::unique(others.begin(), others.end()), others.end());
    place.pair = own;
    place.pair.insert(place.pair.end(), others.begin(), others.end());
    const LabelPairs numbers(features_.n_labels);
    for (const std::uint32_t number : place.pair) {
        place.pair_previous.push_back(static_cast<std::uint16_t>(numbers.previous(number)));
        place.pair_label.push_back(static_cast<std::uint16_t>(numbers.label(number)));
    }
}

// The target of a node is its longest suffix (or itself) that is a history after the position; targets of at least
// three labels are inner arcs.
void NgramPlaces::lay_targets(NgramPlace& place) {
    const NgramArcs& arcs = *place.arcs;
    std::vector<std::uint32_t> nodes(arcs.string.begin() + arcs.n_leaves(), arcs.string.end());  // strings
    for (const std::uint32_t number : place.pair) nodes.push_back(pair_string(number));
    for (std::uint32_t k = 0; k < nodes.size(); ++k) index_[nodes[k]] = k;
    for (const std::uint32_t s : place.after->string) {
        place.after_node.push_back(index_[s]);
        place.after_pair.push_back(index_[last_two(s)] - arcs.n_inner());
    }
    for (const std::uint32_t s : nodes) index_[s] = kNoString;

    for (std::uint32_t k = 0; k < place.after->size(); ++k) index_[place.after->string[k]] = k;
    for (std::uint32_t s : nodes) {
        while (s != 0 && index_[s] == kNoString) s = strings_.suffix(s);
        if (s != 0 && place.target.size() < arcs.n_nodes()) {
            const auto node = static_cast<std::uint32_t>(place.target.size());
            place.leading.push_back({node, index_[s], place.after->label[index_[s]]});
        }
        place.target.push_back(s == 0 ? kNoString : index_[s]);
    }
    for (const std::uint32_t s : place.after->string) index_[s] = kNoString;
}

std::shared_ptr<NgramTables> NgramTables::of(const Corpus& corpus, const FeatureSet& features) {
    if (features.n_ngram() == 0) return nullptr;
    return std::make_shared<NgramTables>(std::make_shared<NgramPlaces>(features), corpus);
}

NgramTables::NgramTables(std::shared_ptr<NgramPlaces> shared, const Corpus& corpus)
    : places(std::move(shared)), kind_of(static_cast<std::size_t>(corpus.n_tokens()), kNoString) {
    const std::vector<std::uint32_t> of = places->of(corpus);
    std::unordered_map<std::uint64_t, std::uint32_t> found;
    std::size_t n = 0;
    for (std::size_t p = 0; p < of.size(); ++p) {
        if (of[p] == 0) continue;
        const auto [at, is_new] =
            found.try_emplace(std::uint64_t{of[p]} << 32 | corpus.base[p], static_cast<std::uint32_t>(kinds.size()));
        if (is_new) {
            kinds.push_back({&places->place(of[p]), corpus.base[p], n});
            n += places->place(of[p]).n_pairs();
        }
        kind_of[p] = at->second;
    }
    weights.resize(n);
    constexpr std::size_t kPositionsOfArcs = 4, kBlock = 1024;  // at least 4 positions per arc set, in a block
    std::size_t n_positions = 0, n_arcs = 0;
    std::vector<char> seen(places->n_arcs(), 0);
    for (const std::uint32_t id : of) {
        const std::uint32_t arcs = places->place(id).arcs_id;
        if (id == 0 || arcs == 0) continue;
        ++n_positions;
        if (!seen[arcs]) ++n_arcs;
        seen[arcs] = 1;
    }
    together = std::min(n_positions, kBlock) >= kPositionsOfArcs * n_arcs && n_arcs > 0;
}

void NgramTables::find_special() {
    special.clear();
    for (Kind& kind : kinds) {
        const NgramPlace& place = *kind.place;
        const std::uint32_t n_nodes = place.arcs->n_nodes();
        kind.first_special = special.size();
        for (const bool with_node : {true, false}) {  // so that consecutive entries take the same branch
            for (std::uint32_t k = 0; k < place.after->size(); ++k) {
                const std::uint32_t node = place.after_node[k] < n_nodes ? place.after_node[k] : kNoString;
                const double weight = weights[kind.first + place.after_pair[k]];
                if ((node != kNoString) != with_node) continue;
                if (node == kNoString && weight == 1.0 && k < place.after->n_pairs) continue;
                special.push_back({weight, k, node, place.after->first[k], place.after->label[k]});
            }
        }
        kind.n_special = special.size() - kind.first_special;
    }
}

void NgramPlaces::assign(std::span<const double> w, int threads, bool only_new) {
    const std::size_t first = only_new ? n_assigned_ : 0;
    n_assigned_ = arcs_.size();
    parallel_for(static_cast<std::int64_t>(arcs_.size() - first), threads, 1,
                 [&](int, std::int64_t k) { assign_arcs(w, arcs_[first + static_cast<std::size_t>(k)]); });
}

void NgramPlaces::assign(std::span<const double> w, int threads, std::span<const std::uint32_t> arcs) {
    parallel_for(static_cast<std::int64_t>(arcs.size()), threads, 1,
                 [&](int, std::int64_t k) { assign_arcs(w, arcs_[arcs[static_cast<std::size_t>(k)]]); });
}

void NgramPlaces::assign_arcs(std::span<const double> w, NgramArcs& arcs) const {
    const double* ngram = w.data() + features_.first_ngram();
    const std::uint32_t n_leaves = arcs.n_leaves(), n_inner = arcs.n_inner();
    std::fill(arcs.log_x.begin(), arcs.log_x.end(), 0.0);
    for (const NgramArcs::Term& term : arcs.terms) arcs.log_x[term.arc] += term.value * ngram[term.feature];
    arcs.low = arcs.high = 0.0;
    for (std::size_t g = arcs.n_arcs(); g-- > 0;) {  // parents come after their children
        const double own = arcs.log_x[g];
        const bool pair = arcs.parent[g] >= n_inner;
        const std::size_t parent = n_leaves + arcs.parent[g];
        if (!pair) arcs.log_x[g] += arcs.log_x[parent];
        arcs.x[g] = std::exp(arcs.log_x[g]);
        arcs.x_parent[g] = pair ? 1.0 : arcs.x[parent];
        arcs.more[g] = arcs.x_parent[g] * std::expm1(own);
        arcs.low = std::min(arcs.low, arcs.log_x[g]);
        arcs.high = std::max(arcs.high, arcs.log_x[g]);
    }
}

}  // namespace sparsecrf
