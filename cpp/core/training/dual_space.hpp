// What all steps of dual ascent share: G of every feature, and the attributes of each sequence laid out for the kernels.
//
// G = sum_i w_i (E_{u_i} F - F_i) is kept for all features of the model, zeros included, and stands for the weights:
//
//     theta = argmin_theta  G . theta + rho1 |theta|_1 + rho2/2 |theta|^2 + sum_k kappa_k/2 (theta_k - center_k)^2
//           = -S(Z) / (rho2 + kappa),    Z = G - kappa center,   S(z) = z - rho1 above rho1, z + rho1 below -rho1, else 0
//
// With kappa = 0 this is the theta of the elastic net. A frequent feature has a G that each of many sequences changes:
// with 1 / rho2 as its curvature in D, steps are short. kappa, proportional to the mass of the attribute, makes it
// smaller, and moving the center to theta after every epoch (the proximal point method) keeps the optimum what it was.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/corpus/features.hpp"
#include "core/simd/dual_rows.hpp"

namespace sparsecrf {

class DualSpace {
   public:
    // `features`: of the model; null: all that can be formed. The corpus is kept by reference.
    DualSpace(const Corpus& corpus, const FeatureSet* features, double rho1, double rho2);

    // Bytes of what a space over this corpus takes, and of the distributions (DualAscent): to decide whether to.
    static double bytes(const Corpus& corpus);

    DualRows rows(std::int64_t i);
    double excess(double z) const { return z > rho1 ? z - rho1 : z < -rho1 ? z + rho1 : 0.0; }

    // Omega(theta), and Omega*(-G) = sum S(G)^2 / (2 rho2) of the elastic net alone.
    struct Penalty {
        double value, conjugate;
    };
    Penalty penalty() const;
    double conjugate_of_G(double s) const;  // the latter, of s G, 0 <= s <= 1, if Z is G

    // The features with a weight other than 0, by ascending number, and their weights.
    struct Weights {
        std::vector<std::int64_t> numbers;
        std::vector<double> w;
    };
    Weights weights() const;
    // Z becomes what has these weights, without centers.
    void set_weights(const FeatureSet& features, std::span<const double> w);

    void clear();        // Z = 0, as if there were no centers: then Z is G
    void add_centers();  // Z -= kappa center, if Z is G
    // The center becomes theta, and kappa of an attribute eta times its mass, that of pairs by label.
    void recenter(double eta);
    // eta, then for each center that is not 0 its place in Z and its value: those of pairs after those of labels.
    std::vector<double> centers() const;
    void set_centers(std::span<const double> from);
    void find_active();

    const Corpus& corpus;
    const int n_labels, stride;  // Y, Yp
    const std::size_t pairs;     // numbers of a row of pairs: (Y + 1) Y, padded; in the order of LabelPairs
    const double rho1, rho2;
    AlignedVector<double> Z;                    // [X, Yp]
    std::vector<std::uint8_t> active;           // [X] whether some |Z| > rho1
    std::vector<std::int32_t> pair_row;         // [X] row of an attribute that conditions pairs; -1: it does not
    std::vector<std::uint32_t> pair_attribute;  // [rows] the attribute of a row
    AlignedVector<double> Z_pairs;              // [rows, pairs]
    AlignedVector<double> allowed_pairs;        // [rows, pairs] 1, or 0 for what is no feature; or empty
    std::vector<double> scale, pair_scale;      // [X], [rows] 1 / (rho2 + kappa)

   private:
    struct Center {
        std::size_t at;  // in Z, or Z.size() + place in Z_pairs
        double theta;
    };
    void index_sequences();
    void find_pair_rows();
    void restrict_to(const FeatureSet& features);
    void set_eta(double eta);
    double& z_of(std::size_t at) { return at < Z.size() ? Z[at] : Z_pairs[at - Z.size()]; }
    double z_of(std::size_t at) const { return at < Z.size() ? Z[at] : Z_pairs[at - Z.size()]; }
    double scale_of(std::size_t at) const {
        return at < Z.size() ? scale[at / static_cast<std::size_t>(stride)] : pair_scale[(at - Z.size()) / pairs];
    }
    double kappa_of(std::size_t at) const { return 1.0 / scale_of(at) - rho2; }
    template <class Visit>
    void for_each_weight(Visit visit) const;  // visit(number, place) of weights other than 0, ascending

    double eta_ = 0.0;
    std::vector<double> mass_, pair_mass_;  // [X], [rows] sum of w v^2 over the positions of an attribute
    std::vector<Center> centers_;           // ascending
    std::vector<std::uint8_t> allowed_;     // [X, Yp / 8] bits, or empty
    // Of each sequence the attributes, each once, in the order of their first occurrence.
    std::vector<std::int64_t> first_;     // [N + 1] into attribute_
    std::vector<std::int64_t> first_at_;  // [N + 1] into at_
    std::vector<std::uint32_t> attribute_;
    std::vector<std::uint32_t> ptr_;  // for sequence i from first_[i] + i: one more than attributes
    std::vector<std::uint32_t> at_;
    std::vector<double> value_;  // parallel to at_, or empty: all 1
};

}  // namespace sparsecrf
