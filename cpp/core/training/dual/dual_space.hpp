// The data shared by all steps of dual ascent: G of every feature, and the attributes of each sequence, laid out for
// the kernels.
//
// G = sum_i w_i (E_{u_i} F - F_i) is stored for all features of the model, including zeros, and determines the weights:
//
//     theta = argmin_theta  G . theta + rho1 |theta|_1 + rho2/2 |theta|^2 + sum_k kappa_k/2 (theta_k - center_k)^2
//           = -S(Z) / (rho2 + kappa),    Z = G - kappa center,
//     S(z) = z - rho1 above rho1, z + rho1 below -rho1, else 0
//
// With kappa = 0 this is the theta of the elastic net. Many sequences change G of a frequent feature, so a curvature of
// 1 / rho2 in D would make steps short. A kappa proportional to the mass of the attribute reduces this curvature.
// Moving the center to theta after every epoch (the proximal point method) leaves the optimum unchanged.
//
// Attributes with identical columns (identical_columns.hpp) have the same Z, so they share a row. A row of n attributes
// contributes n theta to a score and n S(G)^2 to D. Rare words have dozens of identical columns.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/corpus/features.hpp"
#include "core/simd/dual_rows.hpp"

namespace sparsecrf {

class DualSpace {
   public:
    // `features`: the features of the model; null means all possible features. Keeps a reference to the corpus.
    DualSpace(const Corpus& corpus, const FeatureSet* features, double rho1, double rho2, int threads);

    // The memory in bytes for a space over this corpus and for its distributions (DualAscent), so that callers can
    // decide whether it fits.
    static double bytes(const Corpus& corpus);
    static double occurrences(const Corpus& corpus);  // occurrences of unigram attributes at positions

    DualRows rows(std::int64_t i);

    // Arrays to which changes are added: Z, or a gradient with the same layout.
    struct Sums {
        double *rows, *pairs;
        std::uint8_t* active;
    };
    Sums sums() { return {Z.data(), Z_pairs.data(), active.data()}; }
    double excess(double z) const { return z > rho1 ? z - rho1 : z < -rho1 ? z + rho1 : 0.0; }

    // Omega(theta), and Omega*(-G) = sum S(G)^2 / (2 rho2) of the elastic net alone.
    struct Penalty {
        double value, conjugate;
    };
    Penalty penalty() const;
    double conjugate_of_G(double s) const;  // the conjugate at s G, 0 <= s <= 1, if Z is G

    // sum_k |smallest subgradient of P| over all features of the model, for the gradient g of the loss.
    double residual(Sums g);

    // The features with nonzero weights, by ascending number, and their weights.
    struct Weights {
        std::vector<std::int64_t> numbers;
        std::vector<double> w;
    };
    Weights weights() const;
    // Sets Z so that it yields these weights, without centers.
    void set_weights(const FeatureSet& features, std::span<const double> w);

    void clear();        // Z = 0 and no centers, so that Z is G
    void add_centers();  // Z -= kappa center, if Z is G
    // Sets the center to theta and kappa of an attribute to eta times its mass (for pairs divided by the number of
    // labels).
    void recenter(double eta);
    // eta, then the index in Z and the value of each nonzero center: labels first, then pairs.
    std::vector<double> centers() const;
    void set_centers(std::span<const double> from);
    void find_active();
    // Sets `times` for batches of this size from the number of sequences in the batch that share a row, either the
    // expected number or the largest possible number (dual_step.hpp).
    void set_times(int batch, bool at_worst);
    // [n + 1] Splits the rows of Z into n shares by number of occurrences. Share k contains the rows from entry k up
    // to, but not including, entry k + 1.
    std::vector<std::uint32_t> shares(int n) const;

    const Corpus& corpus;
    const int n_labels, stride;  // Y, Yp
    const std::size_t pairs;     // size of a pair row: (Y + 1) Y, padded; ordered as in LabelPairs
    const double rho1, rho2;
    std::vector<std::uint32_t> row_of;          // [X] row of an attribute
    AlignedVector<double> Z;                    // [R, Yp]
    std::vector<std::uint8_t> active;           // [R] whether some |Z| > rho1
    std::vector<std::int32_t> pair_row;         // [X] pair row of an attribute, or -1
    std::vector<std::uint32_t> pair_attribute;  // [rows] the attribute of a row
    AlignedVector<double> Z_pairs;              // [rows, pairs]
    AlignedVector<double> allowed_pairs;        // [rows, pairs] 1 for a feature, otherwise 0; or empty
    std::vector<DualRow> of_row, of_pair_row;   // [R], [rows] scale: n / (rho2 + kappa), where n is the number of
                                                // attributes of the row (1 for pairs)

   private:
    struct Center {
        std::size_t at;  // index in Z, or Z.size() + index in Z_pairs
        double theta;
    };
    void find_rows(const FeatureSet* features);
    void index_sequences();
    struct Piece {  // the rows of some sequences
        std::vector<std::uint32_t> row, ptr;
    };
    void join(std::vector<Piece>& pieces);
    void sum_masses();
    void find_pair_rows();
    void restrict_pairs(const FeatureSet& features);
    void set_eta(double eta);
    double& z_of(std::size_t at) { return at < Z.size() ? Z[at] : Z_pairs[at - Z.size()]; }
    double z_of(std::size_t at) const { return at < Z.size() ? Z[at] : Z_pairs[at - Z.size()]; }
    double attributes_at(std::size_t at) const {
        return at < Z.size() ? n_of_[at / static_cast<std::size_t>(stride)] : 1.0;
    }
    double kappa_of(std::size_t at) const {
        return eta_ * (at < Z.size() ? mass_[at / static_cast<std::size_t>(stride)]
                                     : pair_mass_[(at - Z.size()) / pairs] / n_labels);
    }
    double theta_of(std::size_t at) const { return -excess(z_of(at)) / (rho2 + kappa_of(at)); }
    // Call visit(index) for the nonzero weights in ascending order: for all features, some rows of Z, and label pairs.
    template <class Visit>
    void for_each_place(Visit visit) const;
    template <class Visit>
    void for_each_place_in(std::size_t first, std::size_t end, Visit visit) const;
    template <class Visit>
    void for_each_pair_place(Visit visit) const;
    // Calls body(block, first, end) in parallel for blocks of rows of Z, and for a last block without rows, which
    // covers Z_pairs.
    template <class Body>
    void each_block(Body body);
    std::size_t n_blocks() const;
    std::size_t block_of(std::size_t at) const;
    void find_active_in(std::size_t first, std::size_t end);
    std::ptrdiff_t place_of_row(std::size_t r) const { return static_cast<std::ptrdiff_t>(r) * stride; }

    const int threads_;
    double eta_ = 0.0;
    std::vector<double> n_of_;                        // [R] number of attributes
    std::vector<double> sequences_, pair_sequences_;  // [R], [rows] number of sequences with this row
    std::vector<double> mass_, pair_mass_;            // [R], [rows] sum of w v^2 over the positions of an attribute
    std::vector<std::vector<Center>> centers_;        // centers of each block, ascending
    std::vector<std::uint32_t> one_of_;               // [R] the first attribute of a row
    std::vector<std::uint8_t> allowed_;               // [R, Yp / 8] bits, or empty
    // The rows of each sequence, without duplicates, in ascending order.
    std::vector<std::int64_t> first_;     // [N + 1] into row_
    std::vector<std::int64_t> first_at_;  // [N + 1] into at_
    std::unique_ptr<std::uint32_t[]> row_;
    std::unique_ptr<std::uint32_t[]> ptr_;  // into at_; sequence i starts at first_[i] + i
    std::unique_ptr<std::uint32_t[]> at_;
    std::unique_ptr<double[]> value_;  // parallel to at_, or null: all 1
};

}  // namespace sparsecrf
