// Forward-backward for many sequences with label n-grams at once. Positions that have the same arcs are processed side
// by side in chunks of eight, so every scalar of ngram_correction.cpp becomes a row of eight values.
//
// At each position with arcs, a sequence waits until eight positions with the same arcs are available or all other
// sequences are waiting as well. The backward pass uses the same chunks in reverse order. Per-position data (alpha, u,
// v, beta) are copied from lanes to rows and back. Most rows of histories and nodes are discarded with their chunk,
// because they would not fit in the caches; only the sums over leaves are kept for the backward pass. Most masses of
// the histories before a position equal alpha e / c of pairs and are recomputed in the backward pass. Only the other
// masses (E is not 1, or arcs end in the history; see NgramTables::special) are stored individually. NgramSums and the
// extras of listed pairs are collected as soon as a chunk is done.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/inference/recursion.hpp"
#include "core/simd/ngram_rows.hpp"

namespace sparsecrf {

// Per-arc sums of w p and optionally w p^2 over the positions of some sequences. The sums of leaves lack the factors X
// and X^2.
struct NgramSums {
    bool squares = false;
    std::vector<std::uint32_t> used;   // ids of the arc sets with sums
    std::vector<std::uint32_t> place;  // [ids] index in `used`; kNoString if not used
    std::vector<std::size_t> first;    // [used] index of the first sum of each arc set
    std::vector<double> p, square;

    void clear(std::size_t n_ids, bool with_squares);
    // The index of the first sum of arc set `id`; creates its sums if missing.
    std::size_t of(std::uint32_t id, std::size_t n_arcs);
};

// Not thread-safe; use one object per thread.
class NgramBatch {
   public:
    // Keeps references to its arguments.
    NgramBatch(const Potentials& potentials, Recursion& recursion);

    // Whether enough positions share arcs to make this faster than processing one sequence after another.
    static bool suits(const Potentials& potentials) {
        return potentials.ngrams() != nullptr && potentials.ngrams()->together && potentials.kernel() != Kernel::log;
    }

    // Computes alpha, log Z and, with `derivatives`, v, p and the pairs of the rest lists. If the linear domain is not
    // safe for a sequence, its lattice receives everything that Recursion::forward and backward compute.
    // weights: sequence weights for the sums. sums: null, or the sums to add to, cleared by the caller; if not null,
    // the extras of the pairs listed in the tables are set as well.
    void run(std::span<Lattice* const> lattices, std::span<const double> weights, bool derivatives, NgramSums* sums);

   private:
    // The state of a sequence carried from one position to the next.
    struct Track {
        LogZ log_z;
        bool failed = false;
        AlignedVector<double> beta, p, step;  // [Yp] p, step: contributions of the histories after a position
        std::vector<double> rise;             // [leading] rise of the targets of the position's nodes
        std::vector<double> rest_extra;       // extras of rest-list pairs that no arc ends in; empty means 0
    };
    // Up to eight positions of different sequences with the same arcs.
    struct Chunk {
        const NgramArcs* arcs = nullptr;
        std::uint32_t arcs_id = 0;
        std::size_t n = 0, first_node = 0;              // first_node: index of its first row in leaves_
        std::array<std::uint32_t, kLanes> item{}, t{};  // index in the batch, and position in the sequence
    };
    // A chunk, or a single position without arcs.
    struct Event {
        std::uint32_t chunk, item, t;
    };

    void schedule();
    void add_chunk(std::vector<std::uint32_t>& waiting);
    NgramRows rows_of(const Chunk& chunk);
    bool forward();
    void forward_one(std::uint32_t item, std::int64_t t);
    void forward_chunk(const Chunk& chunk);
    // Fills the rows of masses of the histories before the positions.
    void lay_masses(const Chunk& chunk, NgramRows& rows);
    void lay_weights(const Chunk& chunk, NgramRows& rows);
    // Stores the special masses after a position. node: the sequence's lane of the node rows, or null
    // without arcs.
    void keep_special(std::uint32_t item, std::int64_t t, const double* node);
    bool backward();
    void backward_one(std::uint32_t item, std::int64_t t);
    void backward_chunk(const Chunk& chunk);
    void onward(const Chunk& chunk, std::size_t lane);
    // Sets the extras of the rest list's pairs at t, and beta of the previous position. node: as for keep_special.
    void leave(std::uint32_t item, std::int64_t t, double total, const double* node);
    // Stores the data of the histories between t - 1 and t that position t - 1 needs. mass, rise: the sequence's lane
    // of the rows.
    void keep_histories(std::uint32_t item, std::int64_t t, const double* mass, const double* rise);
    // Calls visit(index, E) for the histories after t whose mass is not simply alpha e / c.
    template <class Visit>
    void for_each_special(const Lattice& lattice, std::int64_t t, Visit visit) const;
    bool waits(const Lattice& lattice, std::int64_t t) const {  // whether position t has arcs
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
    std::vector<std::uint32_t> next_;  // [items] next position
    std::vector<Chunk> chunks_;
    std::vector<Event> events_;
    std::vector<std::vector<std::uint32_t>> queues_;  // [arc set ids] waiting items
    std::vector<std::uint32_t> open_, ready_;         // ids of nonempty queues; items that are not waiting
    // Rows of a chunk: [Yp + 1] each, and [nodes], [histories].
    AlignedVector<double> alpha_, u_, v_, beta_, scaled_, p_, step_;
    AlignedVector<double> mass_, rise_, steps_, node_, weight_, value_, node_sum_;
    AlignedVector<double> leaves_;              // rows of the nodes of all chunks, kept from the forward pass
    AlignedVector<double> lanes_, own_scaled_;  // [kLanes, Yp] u or zeros; e / c
    AlignedVector<double> safe_, item_;         // one row
    AlignedVector<double> zeros_, unused_;      // [Yp] dummy input and output for empty lanes
    AlignedVector<double> term_, term_square_;  // rows of arcs
};

}  // namespace sparsecrf
