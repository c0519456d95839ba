// The data shared by all steps of dual ascent: G of every feature, and the attributes of each sequence laid out for the
// kernels.
//
// G = sum_i w_i (E_{u_i} F - F_i) is stored for all features of the model, zeros included, and determines the weights:
//
//     theta = argmin_theta  G . theta + rho1 |theta|_1 + rho2/2 |theta|^2 + sum_k kappa_k/2 (theta_k - center_k)^2
//           = -S(Z) / (rho2 + kappa),    Z = G - kappa center,   S(z) = z - rho1 above rho1, z + rho1 below -rho1, else 0
//
// With kappa = 0 this is the theta of the elastic net. G of a frequent feature is changed by many sequences; with a
// curvature of 1 / rho2 in D, steps are short. kappa, proportional to the mass of the attribute, reduces this
// curvature, and moving the center to theta after every epoch (the proximal point method) leaves the optimum unchanged.
//
// Attributes with identical columns (identical_columns.hpp) have the same Z, so they share a row: n of them contribute n
// theta to a score and n S(G)^2 to D. Rare words have dozens of them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/corpus/features.hpp"
#include "core/simd/dual_rows.hpp"

namespace sparsecrf {

class DualSpace {
   public:
    // `features`: the features of the model; null: all possible ones. The corpus is kept by reference.
    DualSpace(const Corpus& corpus, const FeatureSet* features, double rho1, double rho2);

    // Bytes that a space over this corpus needs, and those of the distributions (DualAscent), so that callers can
    // decide whether it fits.
    static double bytes(const Corpus& corpus);
    static double occurrences(const Corpus& corpus);  // of unigram attributes at positions

    DualRows rows(std::int64_t i);
    double excess(double z) const { return z > rho1 ? z - rho1 : z < -rho1 ? z + rho1 : 0.0; }

    // Omega(theta), and Omega*(-G) = sum S(G)^2 / (2 rho2) of the elastic net alone.
    struct Penalty {
        double value, conjugate;
    };
    Penalty penalty() const;
    double conjugate_of_G(double s) const;  // the latter, of s G, 0 <= s <= 1, if Z is G

    // The features with nonzero weights, by ascending number, and their weights.
    struct Weights {
        std::vector<std::int64_t> numbers;
        std::vector<double> w;
    };
    Weights weights() const;
    // Sets Z so that it yields these weights, without centers.
    void set_weights(const FeatureSet& features, std::span<const double> w);

    void clear();        // Z = 0, as if there were no centers: then Z is G
    void add_centers();  // Z -= kappa center, if Z is G
    // Sets the center to theta and kappa of an attribute to eta times its mass; the mass of pairs is by label.
    void recenter(double eta);
    // eta, then the place in Z and the value of each nonzero center: labels first, then pairs.
    std::vector<double> centers() const;
    void set_centers(std::span<const double> from);
    void find_active();
    // Sets `times` for batches of this many sequences, from the number of those in which a row occurs: the expected one,
    // or the largest possible (dual_step.hpp).
    void set_times(int batch, bool at_worst);
    // The rows of Z that belong to each of n threads are those from row [k] to [k + 1]: about the same number of
    // occurrences.
    std::vector<std::uint32_t> shares(int n) const;

    const Corpus& corpus;
    const int n_labels, stride;  // Y, Yp
    const std::size_t pairs;     // numbers of a row of pairs: (Y + 1) Y, padded; in the order of LabelPairs
    const double rho1, rho2;
    std::vector<std::uint32_t> row_of;          // [X] row of an attribute
    AlignedVector<double> Z;                    // [R, Yp]
    std::vector<std::uint8_t> active;           // [R] whether some |Z| > rho1
    std::vector<std::int32_t> pair_row;         // [X] row of an attribute that conditions pairs; -1: it does not
    std::vector<std::uint32_t> pair_attribute;  // [rows] the attribute of a row
    AlignedVector<double> Z_pairs;              // [rows, pairs]
    AlignedVector<double> allowed_pairs;        // [rows, pairs] 1 for a feature, otherwise 0; or empty
    std::vector<double> times, pair_times;      // [R], [rows] how many times a change counts in a line search
    std::vector<double> scale, pair_scale;      // [R], [rows] n / (rho2 + kappa), n the attributes of the row: pairs 1

   private:
    struct Center {
        std::size_t at;  // in Z, or Z.size() + place in Z_pairs
        double theta;
    };
    void find_rows(const FeatureSet* features);
    void index_sequences();
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
    template <class Visit>
    void for_each_place(Visit visit) const;  // visit(place) for nonzero weights, ascending

    double eta_ = 0.0;
    std::vector<double> n_of_;                        // [R] attributes of a row
    std::vector<double> sequences_, pair_sequences_;  // [R], [rows] in how many sequences a row occurs
    std::vector<double> mass_, pair_mass_;            // [R], [rows] sum of w v^2 over the positions of an attribute
    std::vector<Center> centers_;                     // ascending
    std::vector<std::uint32_t> one_of_;               // [R] the first attribute of a row
    std::vector<std::uint8_t> allowed_;               // [R, Yp / 8] bits, or empty
    // The rows of each sequence, without duplicates, ascending.
    std::vector<std::int64_t> first_;     // [N + 1] into row_
    std::vector<std::int64_t> first_at_;  // [N + 1] into at_
    std::vector<std::uint32_t> row_;
    std::vector<std::uint32_t> ptr_;  // for sequence i from first_[i] + i: one more than rows
    std::vector<std::uint32_t> at_;
    std::vector<double> value_;  // parallel to at_, or empty: all 1
};

}  // namespace sparsecrf
