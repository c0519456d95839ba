// Forward-backward of many sequences at once where label n-grams matter: positions that have the same arcs are done
// side by side, eight at a time (a chunk), so that every number of ngram_correction.cpp becomes a row of eight.
//
// A sequence waits at each position that has arcs until there are eight with these arcs, or until all others wait, too;
// backward has the same chunks in the opposite order. What a position needs of its own goes from lanes to rows and
// back: alpha, u, v, beta. Rows of histories and nodes are gone when their chunk is done: kept, they would leave the
// caches. The masses of the histories before a position are alpha e / c of pairs, computed again on the way back;
// only those that are more (E is not 1, or arcs end in it: NgramTables::special) are kept, one by one. Likewise
// NgramSums and the extras of listed pairs are taken as soon as a chunk is done.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/inference/recursion.hpp"
#include "core/simd/ngram_rows.hpp"

namespace sparsecrf {

// Sums of w p and, if asked for, w p^2 over the positions of some sequences, by arc; of leaves without X and X^2.
struct NgramSums {
    bool squares = false;
    std::vector<std::uint32_t> used;   // ids of the arcs that have sums
    std::vector<std::uint32_t> place;  // [ids] of the arcs among those used; kNoString: not used
    std::vector<std::size_t> first;    // [used] the first arc of each among the sums
    std::vector<double> p, square;

    void clear(std::size_t n_ids, bool with_squares);
    // The first sum of these arcs, created if missing.
    std::size_t of(std::uint32_t id, std::size_t n_arcs);
};

// Not thread-safe: one per thread.
class NgramBatch {
   public:
    // References are kept.
    NgramBatch(const Potentials& potentials, Recursion& recursion);

    // Whether positions share arcs so that this is faster than one sequence after the other.
    static bool suits(const Potentials& potentials) {
        return potentials.ngrams() != nullptr && potentials.ngrams()->together && potentials.kernel() != Kernel::log;
    }

    // alpha, log Z and, if `derivatives`, v, p and the pairs of the rest lists. Where the linear domain is not safe, all
    // that Recursion::forward and backward leave.
    // weights: of the sequences, for the sums; sums: null, or what they are added to, cleared by the caller; then there
    // are also the extras of the pairs that the tables list.
    void run(std::span<Lattice* const> lattices, std::span<const double> weights, bool derivatives, NgramSums* sums);

   private:
    // The state of a sequence from one position to the next.
    struct Track {
        LogZ log_z;
        bool failed = false;
        AlignedVector<double> beta, p, step;  // [Yp] p, step: what the histories after a position add there
        std::vector<double> rise;             // [leading] of the targets of the position's nodes
        std::vector<double> rest_extra;       // of the pairs of the rest list that no arc ends in; empty: 0
    };
    // Up to eight positions of different sequences that have the same arcs.
    struct Chunk {
        const NgramArcs* arcs = nullptr;
        std::uint32_t arcs_id = 0;
        std::size_t n = 0;
        std::array<std::uint32_t, kLanes> item{}, t{};  // of the batch, and in the sequence
    };
    // A chunk, or (no arcs here) one position.
    struct Event {
        std::uint32_t chunk, item, t;
    };

    void schedule();
    void add_chunk(std::vector<std::uint32_t>& waiting);
    NgramRows rows_of(const Chunk& chunk);
    bool forward();
    void forward_one(std::uint32_t item, std::int64_t t);
    void forward_chunk(const Chunk& chunk);
    // Rows of the masses of the histories before the positions.
    void lay_masses(const Chunk& chunk, NgramRows& rows);
    void lay_weights(const Chunk& chunk, NgramRows& rows);
    // The special masses after a position; node: its lane of the rows of the nodes, or null where there are no arcs.
    void keep_special(std::uint32_t item, std::int64_t t, const double* node);
    bool backward();
    void backward_one(std::uint32_t item, std::int64_t t);
    void backward_chunk(const Chunk& chunk);
    void onward(const Chunk& chunk, std::size_t lane);
    // What the rest list's pairs have more at t; beta of the position before. node: as above.
    void leave(std::uint32_t item, std::int64_t t, double total, const double* node);
    // What the position before t needs of the histories between: mass and rise are their lane of the rows.
    void keep_histories(std::uint32_t item, std::int64_t t, const double* mass, const double* rise);
    // visit(index, E) for the histories after t whose mass is not plainly alpha e / c.
    template <class Visit>
    void for_each_special(const Lattice& lattice, std::int64_t t, Visit visit) const;
    bool waits(const Lattice& lattice, std::int64_t t) const {  // whether there are arcs
        const auto& places = lattice.ngrams.place;
        return t < lattice.length && places[t] != nullptr && places[t]->arcs_id != 0;
    }
    std::size_t first_live(const Chunk& chunk) const;  // the first lane that has not failed, or n
    void mark_failed(const Chunk& chunk);

    const Potentials& potentials_;
    Recursion& recursion_;
    const Kernels& kernels_;
    const int n_labels_, stride_;  // Y, Yp
    std::span<Lattice* const> lattices_;
    std::span<const double> weights_;
    NgramSums* sums_ = nullptr;
    std::vector<Track> tracks_;
    std::vector<std::uint32_t> next_;  // [items] the position that comes next
    std::vector<Chunk> chunks_;
    std::vector<Event> events_;
    std::vector<std::vector<std::uint32_t>> queues_;  // [arcs ids] items that wait
    std::vector<std::uint32_t> open_, ready_;         // ids of queues that are not empty; items that do not wait
    // Rows of a chunk: [Yp + 1] each, and [nodes], [histories].
    AlignedVector<double> alpha_, u_, v_, beta_, scaled_, p_, step_;
    AlignedVector<double> mass_, rise_, steps_, leaves_, node_, weight_, value_, node_sum_;
    AlignedVector<double> lanes_, own_scaled_;  // [kLanes, Yp] u or zeros; e / c
    AlignedVector<double> safe_, item_;         // one row
    AlignedVector<double> zeros_, unused_;      // [Yp] read and written for lanes that are empty
    AlignedVector<double> term_, term_square_;  // rows of arcs
};

}  // namespace sparsecrf
