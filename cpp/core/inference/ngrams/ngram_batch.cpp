#include "core/inference/ngrams/ngram_batch.hpp"

#include <algorithm>

namespace sparsecrf {
namespace {

using Pointers = std::array<const double*, kLanes>;

}  // namespace

void NgramSums::clear(std::size_t n_ids, bool with_squares) {
    squares = with_squares;
    for (const std::uint32_t id : used) place[id] = kNoString;
    place.resize(n_ids, kNoString);
    used.clear();
    first.clear();
    p.clear();
    square.clear();
}

std::size_t NgramSums::of(std::uint32_t id, std::size_t n_arcs) {
    if (place[id] == kNoString) {
        place[id] = static_cast<std::uint32_t>(used.size());
        used.push_back(id);
        first.push_back(p.size());
        p.resize(p.size() + (n_arcs + kLanes - 1) / kLanes * kLanes, 0.0);
        if (squares) square.resize(p.size(), 0.0);
    }
    return first[place[id]];
}

NgramBatch::NgramBatch(const Potentials& potentials, Recursion& recursion)
    : potentials_(potentials),
      recursion_(recursion),
      kernels_(kernels()),
      n_labels_(potentials.n_labels()),
      stride_(potentials.stride()),
      safe_(kLanes),
      item_(kLanes) {
    const auto size = (static_cast<std::size_t>(stride_) + 1) * kLanes;
    for (AlignedVector<double>* x : {&alpha_, &u_, &v_, &beta_, &scaled_, &p_, &step_, &lanes_, &own_scaled_})
        x->assign(size, 0.0);
    zeros_.assign(static_cast<std::size_t>(stride_), 0.0);
    unused_.assign(static_cast<std::size_t>(stride_), 0.0);
    if (potentials.ngrams() != nullptr) queues_.resize(potentials.ngrams()->places->n_arcs());
}

void NgramBatch::run(std::span<Lattice* const> lattices, std::span<const double> weights, bool derivatives,
                     NgramSums* sums) {
    const auto alone = [&](Lattice& lattice) {
        recursion_.forward(lattice);
        if (derivatives) recursion_.backward(lattice);
    };
    if (!suits(potentials_)) {
        for (Lattice* lattice : lattices) alone(*lattice);
        return;
    }
    lattices_ = lattices;
    weights_ = weights;
    sums_ = sums;
    const std::size_t n = lattices.size();
    tracks_.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
        tracks_[i].failed = false;
        recursion_.gather_rest(*lattices[i]);
        recursion_.ngrams().open_together(*lattices[i], sums != nullptr);
    }
    // Lanes are independent of each other, so the next attempt, without the failed lanes, succeeds.
    const auto all = [&] {
        schedule();
        return forward() && (!derivatives || backward());
    };
    while (!all()) {
        if (sums != nullptr) sums->clear(sums->place.size(), sums->squares);
    }
    for (std::size_t i = 0; i < n; ++i) {
        if (tracks_[i].failed) alone(*lattices[i]);
    }
}

// Groups sequences that wait at positions with the same arcs into chunks. Full chunks are created as soon as possible;
// otherwise the largest group becomes a chunk. Long sequences start first: the fewer sequences are left, the fewer wait
// for the same arcs, so all should end at about the same time.
void NgramBatch::schedule() {
    chunks_.clear();
    events_.clear();
    ready_.clear();
    next_.assign(lattices_.size(), 0);
    for (std::size_t i = lattices_.size(); i-- > 0;) {
        if (!tracks_[i].failed) ready_.push_back(static_cast<std::uint32_t>(i));
    }
    std::stable_sort(ready_.begin(), ready_.end(), [&](std::uint32_t a, std::uint32_t b) {
        return lattices_[a]->length < lattices_[b]->length;  // the last one is the first to start
    });
    while (true) {
        while (!ready_.empty()) {
            const std::uint32_t i = ready_.back();
            ready_.pop_back();
            const Lattice& lattice = *lattices_[i];
            std::uint32_t& t = next_[i];
            for (; t < lattice.length && !waits(lattice, t); ++t) events_.push_back({kNoString, i, t});
            if (t == lattice.length) continue;
            const std::uint32_t id = lattice.ngrams.place[t]->arcs_id;
            if (queues_[id].empty()) open_.push_back(id);
            queues_[id].push_back(i);
            if (queues_[id].size() == kLanes) {
                open_.erase(std::find(open_.begin(), open_.end(), id));
                add_chunk(queues_[id]);
            }
        }
        if (open_.empty()) break;
        const auto largest = std::max_element(open_.begin(), open_.end(), [&](std::uint32_t a, std::uint32_t b) {
            return queues_[a].size() < queues_[b].size();
        });
        std::vector<std::uint32_t>& waiting = queues_[*largest];
        open_.erase(largest);
        add_chunk(waiting);
    }
    const auto resize = [](AlignedVector<double>& x, std::size_t rows) {
        if (x.size() < rows * kLanes) x.resize(rows * kLanes);
    };
    std::size_t n_nodes = 0;
    for (Chunk& chunk : chunks_) {
        for (AlignedVector<double>* x : {&mass_, &rise_, &steps_}) resize(*x, chunk.arcs->before->size());
        for (AlignedVector<double>* x : {&node_, &value_, &node_sum_}) resize(*x, chunk.arcs->n_nodes());
        resize(weight_, chunk.arcs->pair.size());
        chunk.first_node = n_nodes;
        n_nodes += chunk.arcs->n_nodes();
    }
    resize(leaves_, n_nodes);
}

void NgramBatch::add_chunk(std::vector<std::uint32_t>& waiting) {
    const auto number = static_cast<std::uint32_t>(chunks_.size());
    Chunk& chunk = chunks_.emplace_back();
    chunk.n = waiting.size();
    for (std::size_t l = 0; l < chunk.n; ++l) {
        chunk.item[l] = waiting[l];
        chunk.t[l] = next_[waiting[l]]++;
    }
    const NgramPlace& place = *lattices_[chunk.item[0]]->ngrams.place[chunk.t[0]];
    chunk.arcs = place.arcs;
    chunk.arcs_id = place.arcs_id;
    events_.push_back({number, 0, 0});
    ready_.insert(ready_.end(), waiting.rbegin(), waiting.rend());
    waiting.clear();
}

NgramRows NgramBatch::rows_of(const Chunk& chunk) {
    const NgramArcs& arcs = *chunk.arcs;
    const Histories& before = *arcs.before;
    const NgramPlace& place = *lattices_[chunk.item[0]]->ngrams.place[chunk.t[0]];
    NgramRows of{};
    of.n_histories = before.size();
    of.n_history_pairs = before.n_pairs;
    of.n_leaves = arcs.n_leaves();
    of.n_inner = arcs.n_inner();
    of.n_own = arcs.pair.size();
    of.parent = arcs.parent.data();
    of.history = arcs.history.data();
    of.pair_of = arcs.pair_of.data();
    of.x = arcs.x.data();
    of.x_parent = arcs.x_parent.data();
    of.more = arcs.more.data();
    of.pair_previous = place.pair_previous.data();  // the pairs of the arcs come first
    of.pair_label = place.pair_label.data();
    of.first = before.first.data();
    of.label = before.label.data();
    of.suffix = before.suffix.data();
    of.mass = mass_.data();
    of.rise = rise_.data();
    of.leaves = leaves_.data() + chunk.first_node * kLanes;
    of.node = node_.data();
    of.weight = weight_.data();
    of.alpha = alpha_.data();
    of.u = u_.data();
    of.v = v_.data();
    of.value = value_.data();
    of.node_sum = node_sum_.data();
    of.beta = beta_.data();
    of.scaled = scaled_.data();
    of.p = p_.data();
    of.step = step_.data();
    of.steps = steps_.data();
    of.safe = safe_.data();
    of.least = kCancelled;
    of.most = kLargeTerm;
    of.item = item_.data();
    return of;
}

std::size_t NgramBatch::first_live(const Chunk& chunk) const {
    std::size_t l = 0;
    while (l < chunk.n && tracks_[chunk.item[l]].failed) ++l;
    return l;
}

void NgramBatch::mark_failed(const Chunk& chunk) {
    for (std::size_t l = 0; l < chunk.n; ++l) {
        if (safe_[l] == 0.0) tracks_[chunk.item[l]].failed = true;
    }
}

bool NgramBatch::forward() {
    const auto n_failed = [&] {
        return std::count_if(tracks_.begin(), tracks_.end(), [](const Track& track) { return track.failed; });
    };
    const auto before = n_failed();
    for (Track& track : tracks_) track.log_z = {};
    for (const Event& event : events_) {
        if (event.chunk == kNoString) {
            if (!tracks_[event.item].failed) forward_one(event.item, event.t);
        } else {
            forward_chunk(chunks_[event.chunk]);
        }
    }
    for (std::size_t i = 0; i < lattices_.size(); ++i) {
        if (!tracks_[i].failed) lattices_[i]->log_z = tracks_[i].log_z.finish();
    }
    return n_failed() == before;
}

void NgramBatch::forward_one(std::uint32_t item, std::int64_t t) {
    Lattice& lattice = *lattices_[item];
    if (lattice.ngrams.place[t] != nullptr) recursion_.ngrams().pair_weights(lattice, t);
    recursion_.start_forward(lattice, t, lanes_.data());
    tracks_[item].failed = !recursion_.finish_forward(lattice, t, lanes_.data(), tracks_[item].log_z);
    keep_special(item, t, nullptr);
}

template <class Visit>
void NgramBatch::for_each_special(const Lattice& lattice, std::int64_t t, Visit visit) const {
    using Special = NgramTables::Special;
    if (lattice.rest.ptr[t] == lattice.rest.ptr[t + 1]) {
        for (const Special& each : potentials_.ngrams()->special_at(lattice.first + t)) visit(each);
        return;
    }
    const NgramPlace& place = *lattice.ngrams.place[t];  // E of any pair may include the rest list
    const Histories& after = *place.after;
    const double* weight = lattice.ngrams.weight[t];
    for (std::uint32_t k = 0; k < after.size(); ++k) {
        const std::uint32_t node = place.after_node[k] < place.arcs->n_nodes() ? place.after_node[k] : kNoString;
        visit(Special{weight[place.after_pair[k]], k, node, after.first[k], after.label[k]});
    }
}

// A'(y' y) = e / c E(y', y) mass(y' y), and the same for longer histories.
void NgramBatch::keep_special(std::uint32_t item, std::int64_t t, const double* node) {
    Lattice& lattice = *lattices_[item];
    if (!waits(lattice, t + 1)) return;
    const double* scaled = lattice.v + t * stride_;
    const double* alpha = t == 0 ? nullptr : lattice.alpha + (t - 1) * stride_;
    double* out = lattice.ngrams.special.data() + lattice.ngrams.special_ptr[t + 1];
    for_each_special(lattice, t, [&](const NgramTables::Special& each) {
        const double mass = each.node != kNoString ? node[std::size_t{each.node} * kLanes]
                            : alpha == nullptr     ? 1.0
                                                   : alpha[each.first];
        *out++ = scaled[each.label] * each.weight * mass;
    });
}

void NgramBatch::lay_masses(const Chunk& chunk, NgramRows& rows) {
    Pointers scaled, before;
    scaled.fill(zeros_.data());
    before.fill(zeros_.data());
    const auto live = [&](std::size_t l) { return l < chunk.n && !tracks_[chunk.item[l]].failed; };
    for (std::size_t l = 0; l < chunk.n; ++l) {
        if (!live(l)) continue;
        const Lattice& lattice = *lattices_[chunk.item[l]];
        const std::int64_t t = chunk.t[l];
        scaled[l] = lattice.v + (t - 1) * stride_;
        if (t > 1) before[l] = lattice.alpha + (t - 2) * stride_;
    }
    kernels_.to_rows(scaled.data(), stride_, rows.scaled);
    kernels_.to_rows(before.data(), stride_, rows.alpha);
    for (std::size_t l = 0; l < kLanes; ++l) {  // only the start label precedes the first position
        rows.alpha[static_cast<std::size_t>(n_labels_) * kLanes + l] = live(l) && chunk.t[l] == 1;
    }
    kernels_.ngram_masses(rows);
    for (std::size_t l = 0; l < kLanes; ++l) {
        if (!live(l)) {
            for (std::size_t h = rows.n_history_pairs; h < rows.n_histories; ++h) rows.mass[h * kLanes + l] = 0.0;
            continue;
        }
        const Lattice& lattice = *lattices_[chunk.item[l]];
        const std::int64_t t = chunk.t[l];
        const double* special = lattice.ngrams.special.data() + lattice.ngrams.special_ptr[t];
        for_each_special(lattice, t - 1, [&](const NgramTables::Special& each) {
            rows.mass[std::size_t{each.history} * kLanes + l] = *special++;
        });
    }
}

// Sets E of the pairs that arcs end in. It is the same for positions with the same base list and no rest list.
void NgramBatch::lay_weights(const Chunk& chunk, NgramRows& rows) {
    Pointers weight;
    const Corpus& corpus = potentials_.corpus();
    const std::size_t live = first_live(chunk);
    bool same = true;
    for (std::size_t l = 0; l < kLanes; ++l) {
        const std::size_t k = l < chunk.n && !tracks_[chunk.item[l]].failed ? l : live;
        const Lattice &lattice = *lattices_[chunk.item[k]], &first = *lattices_[chunk.item[live]];
        weight[l] = lattice.ngrams.weight[chunk.t[k]];
        same = same && lattice.rest.ptr[chunk.t[k]] == lattice.rest.ptr[chunk.t[k] + 1] &&
               corpus.base[lattice.first + chunk.t[k]] == corpus.base[first.first + chunk.t[live]];
    }
    if (!same) return kernels_.to_rows(weight.data(), static_cast<int>(rows.n_own), rows.weight);
    kernels_.spread(weight[0], rows.n_own, rows.weight);
}

void NgramBatch::forward_chunk(const Chunk& chunk) {
    if (first_live(chunk) == chunk.n) return;
    NgramRows rows = rows_of(chunk);
    Pointers u, alpha;
    std::array<double*, kLanes> back;
    u.fill(zeros_.data());
    alpha.fill(zeros_.data());
    back.fill(unused_.data());
    for (std::size_t l = 0; l < chunk.n; ++l) {
        if (tracks_[chunk.item[l]].failed) continue;
        Lattice& lattice = *lattices_[chunk.item[l]];
        const std::int64_t t = chunk.t[l];
        u[l] = back[l] = lanes_.data() + l * static_cast<std::size_t>(stride_);
        recursion_.ngrams().pair_weights(lattice, t);
        recursion_.start_forward(lattice, t, back[l]);
        alpha[l] = lattice.alpha + (t - 1) * stride_;
    }
    lay_masses(chunk, rows);
    lay_weights(chunk, rows);
    kernels_.to_rows(u.data(), stride_, rows.u);
    kernels_.to_rows(alpha.data(), stride_, rows.alpha);
    std::fill(safe_.begin(), safe_.end(), 1.0);
    kernels_.ngram_forward(rows, stride_);
    mark_failed(chunk);
    kernels_.from_rows(rows.u, stride_, back.data());
    for (std::size_t l = 0; l < chunk.n; ++l) {
        Track& track = tracks_[chunk.item[l]];
        if (track.failed) continue;
        track.failed = !recursion_.finish_forward(*lattices_[chunk.item[l]], chunk.t[l], u[l], track.log_z);
        keep_special(chunk.item[l], chunk.t[l], rows.node + l);
    }
}

bool NgramBatch::backward() {
    const auto width = static_cast<std::size_t>(stride_);
    std::vector<char> before;
    for (Track& track : tracks_) {
        track.beta.assign(width, 1.0);
        track.p.assign(width, 0.0);
        track.step.assign(width, 0.0);
        track.rest_extra.clear();
        before.push_back(track.failed);
    }
    for (std::size_t k = events_.size(); k-- > 0;) {
        const Event& event = events_[k];
        if (event.chunk == kNoString) {
            if (!tracks_[event.item].failed) backward_one(event.item, event.t);
        } else {
            backward_chunk(chunks_[event.chunk]);
        }
    }
    for (std::size_t i = 0; i < tracks_.size(); ++i) {
        if (tracks_[i].failed != static_cast<bool>(before[i])) return false;
    }
    return true;
}

// Computes p of the position, including the contribution of the histories after it, then beta of the previous position.
void NgramBatch::backward_one(std::uint32_t item, std::int64_t t) {
    Lattice& lattice = *lattices_[item];
    Track& track = tracks_[item];
    const double total = recursion_.start_backward(lattice, t, track.beta.data());
    kernels_.axpy(1.0, track.p.data(), stride_, lattice.p + t * stride_);
    leave(item, t, total, nullptr);
    std::fill(track.p.begin(), track.p.end(), 0.0);
    std::fill(track.step.begin(), track.step.end(), 0.0);
    track.rest_extra.clear();
}

// Computes e / c B'(target) of the nodes that lead to a history after the position.
void NgramBatch::onward(const Chunk& chunk, std::size_t lane) {
    const Track& track = tracks_[chunk.item[lane]];
    const NgramPlace& place = *lattices_[chunk.item[lane]]->ngrams.place[chunk.t[lane]];
    const double* scaled = own_scaled_.data() + lane * static_cast<std::size_t>(stride_);
    const double *beta = track.beta.data(), *rise = track.rise.data();
    double* value = value_.data() + lane;
    for (const NgramPlace::Leading& each : place.leading)
        value[std::size_t{each.node} * kLanes] = scaled[each.label] * (beta[each.label] + *rise++);
}

void NgramBatch::backward_chunk(const Chunk& chunk) {
    if (first_live(chunk) == chunk.n) return;
    NgramRows rows = rows_of(chunk);
    Pointers v, alpha, beta;
    std::array<double*, kLanes> p, step;
    std::array<double, kLanes> total{};
    std::array<bool, kLanes> live{};
    for (Pointers* of : {&v, &alpha, &beta}) of->fill(zeros_.data());
    p.fill(unused_.data());
    step.fill(unused_.data());
    const auto width = static_cast<std::size_t>(stride_);
    for (std::size_t l = 0; l < kLanes; ++l) {
        item_[l] = 0.0;
        if (l >= chunk.n || tracks_[chunk.item[l]].failed) continue;
        Lattice& lattice = *lattices_[chunk.item[l]];
        Track& track = tracks_[chunk.item[l]];
        const std::int64_t t = chunk.t[l];
        live[l] = true;
        v[l] = lattice.v + t * stride_;
        std::copy_n(v[l], width, own_scaled_.data() + l * width);
        total[l] = recursion_.start_backward(lattice, t, track.beta.data());
        kernels_.axpy(1.0, track.p.data(), stride_, lattice.p + t * stride_);
        alpha[l] = lattice.alpha + (t - 1) * stride_;
        beta[l] = track.beta.data();
        p[l] = track.p.data();
        step[l] = track.step.data();
        item_[l] = weights_[chunk.item[l]];
    }
    lay_masses(chunk, rows);
    kernels_.to_rows(v.data(), stride_, rows.v);
    kernels_.to_rows(alpha.data(), stride_, rows.alpha);
    lay_weights(chunk, rows);
    kernels_.ngram_values(rows);
    for (std::size_t l = 0; l < chunk.n; ++l) {
        if (live[l]) onward(chunk, l);
    }
    if (sums_ != nullptr) {
        const std::size_t first = sums_->of(chunk.arcs_id, chunk.arcs->n_arcs());
        rows.sum = sums_->p.data() + first;
        if (sums_->squares) rows.square = sums_->square.data() + first;
        const std::size_t n = (chunk.arcs->n_arcs() + std::size_t{kLanes} - 1) / kLanes * kLanes * kLanes;
        if (term_.size() < n) term_.resize(n);
        if (sums_->squares && term_square_.size() < n) term_square_.resize(n);
        rows.term = term_.data();
        rows.term_square = term_square_.data();
    }
    std::fill(safe_.begin(), safe_.end(), 1.0);
    kernels_.ngram_backward(rows);
    for (std::size_t l = 0; l < chunk.n; ++l) {
        if (live[l]) leave(chunk.item[l], chunk.t[l], total[l], rows.node + l);
    }
    kernels_.to_rows(beta.data(), stride_, rows.beta);
    kernels_.ngram_histories(rows, stride_);
    for (std::size_t l = 0; l < chunk.n; ++l) {
        if (!live[l]) continue;
        for_each_special(*lattices_[chunk.item[l]], chunk.t[l] - 1, [&](const NgramTables::Special& each) {
            if (each.weight != 1.0 && each.history < rows.n_history_pairs)
                rows.steps[std::size_t{each.history} * kLanes + l] *= each.weight;
        });
        keep_histories(chunk.item[l], chunk.t[l], rows.mass + l, rows.rise + l);
    }
    kernels_.ngram_steps(rows, stride_);
    kernels_.from_rows(rows.p, stride_, p.data());
    kernels_.from_rows(rows.step, stride_, step.data());
    mark_failed(chunk);
}

void NgramBatch::leave(std::uint32_t item, std::int64_t t, double total, const double* node) {
    Lattice& lattice = *lattices_[item];
    Track& track = tracks_[item];
    NgramLattice& of = lattice.ngrams;
    const NgramPlace* place = of.place[t];
    if (place != nullptr) {
        const std::size_t n_inner = place->arcs->n_inner(), n_own = place->arcs->pair.size();
        const auto listed =
            sums_ == nullptr ? std::span<const std::uint32_t>{} : potentials_.ngrams()->listed_at(lattice.first + t);
        double* extra = of.listed.data() + of.listed_ptr[t];
        for (std::size_t k = 0; k < listed.size() && listed[k] < n_own; ++k)
            extra[k] = node[(n_inner + listed[k]) * kLanes];
        RestPairs& rest = lattice.rest;
        for (std::int64_t k = rest.ptr[t]; k < rest.ptr[t + 1]; ++k) {
            const std::uint32_t found = place->find_pair(rest.pair[k]);
            if (found == kNoString) continue;
            const auto index = static_cast<std::size_t>(k - rest.ptr[t]);
            const double more = found < n_own              ? node[(n_inner + found) * kLanes]
                                : track.rest_extra.empty() ? 0.0
                                                           : track.rest_extra[index];
            rest.p[k] += more;
            rest.extra[k] += more;
            const auto at = std::lower_bound(listed.begin(), listed.end(), found);  // is in the rest list
            if (at != listed.end() && *at == found) extra[at - listed.begin()] = 0.0;
        }
    }
    if (t == 0) return;
    recursion_.finish_backward(lattice, t, total, track.beta.data());
    if (place == nullptr) return;
    double* beta = track.beta.data();
    const double* step = track.step.data();
    for (int y = 0, n = stride_; y < n; ++y) beta[y] = std::max(beta[y] + step[y], 0.0);
}

// Stores the rise of the targets, and p - alpha E v = A'(q) (B'(q) - beta(y)) of the pairs that are listed or in the
// rest list.
void NgramBatch::keep_histories(std::uint32_t item, std::int64_t t, const double* mass, const double* rise) {
    Lattice& lattice = *lattices_[item];
    Track& track = tracks_[item];
    NgramLattice& of = lattice.ngrams;
    const NgramPlace& place = *of.place[t - 1];
    const std::size_t n_inner = place.arcs->n_inner(), n_own = place.arcs->pair.size();
    const auto extra_of = [&](std::size_t pair) {
        const std::uint32_t h = place.target[n_inner + pair];
        return h == kNoString ? 0.0 : mass[h * kLanes] * rise[h * kLanes];  // not a history, but the end of one
    };
    track.rise.resize(place.leading.size());
    double* rises = track.rise.data();
    for (const NgramPlace::Leading& each : place.leading) *rises++ = rise[std::size_t{each.history} * kLanes];
    track.rest_extra.clear();
    for (std::int64_t k = lattice.rest.ptr[t - 1]; k < lattice.rest.ptr[t]; ++k) {
        const std::uint32_t found = place.find_pair(lattice.rest.pair[k]);
        track.rest_extra.push_back(found == kNoString || found < n_own ? 0.0 : extra_of(found));
    }
    if (sums_ == nullptr) return;
    const auto listed = potentials_.ngrams()->listed_at(lattice.first + t - 1);
    double* extra = of.listed.data() + of.listed_ptr[t - 1];
    for (std::size_t k = listed.size(); k-- > 0 && listed[k] >= n_own;) extra[k] = extra_of(listed[k]);
}

}  // namespace sparsecrf
