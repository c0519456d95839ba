#include "core/training/dual/dual_space.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/lanes.hpp"
#include "core/base/parallel.hpp"

namespace sparsecrf {
namespace {

constexpr std::size_t kBlockRows = 1024;

std::size_t padded_pairs(std::size_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

}  // namespace

DualSpace::DualSpace(const Corpus& of, const FeatureSet* features, double l1, double l2, int threads)
    : corpus(of),
      n_labels(of.n_labels),
      stride(padded(of.n_labels)),
      pairs(padded_pairs(LabelPairs(of.n_labels).size())),
      rho1(l1),
      rho2(l2),
      pair_row(of.n_attributes, -1),
      threads_(threads) {
    if (features != nullptr) features->check_fits(corpus);
    find_rows(features);
    index_sequences();
    find_pair_rows();
    if (features != nullptr) restrict_pairs(*features);
    centers_.resize(n_blocks());
    set_eta(0.0);
    set_times(1, true);
}

std::size_t DualSpace::n_blocks() const { return (active.size() + kBlockRows - 1) / kBlockRows + 1; }

std::size_t DualSpace::block_of(std::size_t at) const {
    return at < Z.size() ? at / (kBlockRows * static_cast<std::size_t>(stride)) : n_blocks() - 1;
}

template <class Body>
void DualSpace::each_block(Body body) {
    parallel_for(static_cast<std::int64_t>(n_blocks()), threads_, 1, [&](int, std::int64_t k) {
        const auto block = static_cast<std::size_t>(k);
        const std::size_t first = std::min(block * kBlockRows, active.size());
        body(block, first, block + 1 == n_blocks() ? first : std::min(first + kBlockRows, active.size()));
    });
}

double DualSpace::occurrences(const Corpus& corpus) {
    double sum = 0.0;
    for (std::int64_t t = 0; t < corpus.n_tokens(); ++t) {
        const std::uint32_t list = corpus.unigram[t];
        sum += static_cast<double>(corpus.unigram_lists.end(list) - corpus.unigram_lists.begin(list));
    }
    return sum;
}

double DualSpace::bytes(const Corpus& corpus) {
    const double Y = corpus.n_labels, Yp = padded(corpus.n_labels), T = static_cast<double>(corpus.n_tokens());
    std::vector<std::uint8_t> seen(corpus.n_attributes, 0);
    for (const ListPool* lists : {&corpus.base_lists, &corpus.rest_lists}) {
        for (const std::uint32_t x : lists->ids()) seen[x] = 1;
    }
    const auto rows = static_cast<double>(std::count(seen.begin(), seen.end(), 1));
    const double of_occurrence = corpus.unigram_lists.has_values() ? 20.0 : 12.0;
    return 8.0 * (corpus.n_attributes * Yp + rows * (Y + 1.0) * Y + T * Yp) + 4.0 * T * Y * Y +
           of_occurrence * occurrences(corpus);
}

// If a batch contains row r at all, it contains n_r = 1 + (batch - 1) q sequences with row r on average, where q is the
// fraction of all sequences with that row. Then m_r = 1 + kOverlap (n_r - 1). At worst,
// m_r = n_r = min(batch, sequences with r).
void DualSpace::set_times(int batch, bool at_worst) {
    constexpr double kOverlap = 0.5;
    const double N = static_cast<double>(std::max<std::int64_t>(corpus.n_sequences(), 1));
    const auto set = [&](const std::vector<double>& sequences, std::vector<DualRow>& to) {
        for (std::size_t r = 0; r < sequences.size(); ++r) {
            to[r].times = at_worst ? std::clamp(sequences[r], 1.0, static_cast<double>(batch))
                                   : 1.0 + kOverlap * (batch - 1) * sequences[r] / N;
        }
    };
    set(sequences_, of_row);
    set(pair_sequences_, of_pair_row);
}

std::vector<std::uint32_t> DualSpace::shares(int n) const {
    std::vector<std::uint32_t> ends{0};
    double sum = 0.0;
    for (std::size_t r = 0; r < sequences_.size(); ++r) {
        sum += sequences_[r];
        while (sum * n > static_cast<double>(first_.back()) * static_cast<double>(ends.size()) &&
               ends.size() < static_cast<std::size_t>(n)) {
            ends.push_back(static_cast<std::uint32_t>(r));
        }
    }
    ends.resize(static_cast<std::size_t>(n) + 1, static_cast<std::uint32_t>(sequences_.size()));
    return ends;
}

DualRows DualSpace::rows(std::int64_t i) {
    const auto k = static_cast<std::size_t>(i);
    const auto first = static_cast<std::size_t>(first_[k]), first_at = static_cast<std::size_t>(first_at_[k]);
    return {static_cast<std::size_t>(first_[k + 1]) - first,
            row_.get() + first,
            ptr_.get() + first + k,
            at_.get() + first_at,
            value_ == nullptr ? nullptr : value_.get() + first_at,
            stride,
            rho1,
            Z.data(),
            of_row.data(),
            active.data(),
            allowed_.empty() ? nullptr : allowed_.data()};
}

template <class Visit>
void DualSpace::for_each_place_in(std::size_t first, std::size_t end, Visit visit) const {
    const auto Yp = static_cast<std::size_t>(stride);
    for (std::size_t r = first; r < end; ++r) {
        if (!active[r]) continue;
        for (std::size_t at = r * Yp; at < (r + 1) * Yp; ++at) {
            if (std::fabs(Z[at]) > rho1) visit(at);
        }
    }
}

template <class Visit>
void DualSpace::for_each_pair_place(Visit visit) const {
    for (std::size_t k = 0; k < Z_pairs.size(); ++k) {
        if (std::fabs(Z_pairs[k]) > rho1) visit(Z.size() + k);
    }
}

template <class Visit>
void DualSpace::for_each_place(Visit visit) const {
    for_each_place_in(0, active.size(), visit);
    for_each_pair_place(visit);
}

DualSpace::Penalty DualSpace::penalty() const {
    double l1 = 0.0, l2 = 0.0, square = 0.0;
    for_each_place([&](std::size_t at) {
        const double s = excess(z_of(at)), theta = theta_of(at), n = attributes_at(at);
        l1 += n * std::fabs(theta);
        l2 += n * theta * theta;
        square += n * s * s;
    });
    // With a center, G is Z + kappa center.
    for (const std::vector<Center>& of_block : centers_) {
        for (const Center& center : of_block) {
            const double z = z_of(center.at), without = excess(z), s = excess(z + kappa_of(center.at) * center.theta);
            square += attributes_at(center.at) * (s * s - without * without);
        }
    }
    return {rho1 * l1 + rho2 * l2 / 2.0, square / (2.0 * rho2)};
}

double DualSpace::conjugate_of_G(double s) const {
    double square = 0.0;
    for_each_place([&](std::size_t at) { square += attributes_at(at) * std::pow(excess(s * z_of(at)), 2); });
    return square / (2.0 * rho2);
}

double DualSpace::residual(Sums g) {
    const auto Y = static_cast<std::size_t>(n_labels), Yp = static_cast<std::size_t>(stride);
    const auto at_feature = [&](std::size_t at, double slope) {
        const double theta = theta_of(at);
        const double smallest = theta == 0.0 ? excess(slope) : slope + rho2 * theta + std::copysign(rho1, theta);
        return attributes_at(at) * std::fabs(smallest);
    };
    std::vector<double> of_block(n_blocks(), 0.0);
    each_block([&](std::size_t block, std::size_t first, std::size_t end) {
        for (std::size_t r = first; r < end; ++r) {
            for (std::size_t y = 0; y < Y; ++y) of_block[block] += at_feature(r * Yp + y, g.rows[r * Yp + y]);
        }
        if (block + 1 < n_blocks()) return;
        for (std::size_t r = 0; r < pair_attribute.size(); ++r) {
            for (std::size_t k = r * pairs; k < r * pairs + LabelPairs(n_labels).size(); ++k) {
                of_block[block] += at_feature(Z.size() + k, g.pairs[k]);
            }
        }
    });
    return std::accumulate(of_block.begin(), of_block.end(), 0.0);
}

DualSpace::Weights DualSpace::weights() const {
    Weights found;
    const Numbering numbering(n_labels, corpus.n_attributes);
    const auto Yp = static_cast<std::size_t>(stride);
    const auto add = [&](std::int64_t number, std::size_t at) {
        if (!(std::fabs(z_of(at)) > rho1)) return;
        found.numbers.push_back(number);
        found.w.push_back(theta_of(at));
    };
    for (std::uint32_t x = 0; x < corpus.n_attributes; ++x) {
        if (!active[row_of[x]]) continue;
        for (std::size_t y = 0; y < static_cast<std::size_t>(n_labels); ++y) {
            add(numbering.unigram.number(x, static_cast<std::int64_t>(y)), row_of[x] * Yp + y);
        }
    }
    for (std::size_t r = 0; r < pair_attribute.size(); ++r) {
        for (std::size_t k = 0; k < LabelPairs(n_labels).size(); ++k) {
            add(numbering.bigram.number(pair_attribute[r], static_cast<std::int64_t>(k)), Z.size() + r * pairs + k);
        }
    }
    return found;
}

void DualSpace::set_weights(const FeatureSet& features, std::span<const double> w) {
    features.check_fits(corpus);
    features.check_weights(w);
    clear();
    for (std::vector<Center>& of_block : centers_) of_block.clear();
    set_eta(0.0);
    const auto from = [&](double theta) { return theta == 0.0 ? 0.0 : -rho2 * theta - std::copysign(rho1, theta); };
    // The attributes of a row all get their mean weight, which leaves the scores unchanged.
    for (std::uint32_t x = 0; x < corpus.n_attributes; ++x) {
        for (auto k = static_cast<std::size_t>(features.unigram_ptr[x]);
             k < static_cast<std::size_t>(features.unigram_ptr[x + 1]); ++k) {
            Z[row_of[x] * static_cast<std::size_t>(stride) + features.unigram_label[k]] += w[k] / n_of_[row_of[x]];
        }
        if (pair_row[x] < 0) continue;
        double* row = Z_pairs.data() + static_cast<std::size_t>(pair_row[x]) * pairs;
        auto k = static_cast<std::size_t>(features.n_unigram() + features.bigram_ptr[x]);
        for (const std::uint32_t pair : features.bigram_pairs_of(x)) row[pair] = from(w[k++]);
    }
    for (double& z : Z) z = from(z);
    find_active();
}

void DualSpace::clear() {
    each_block([&](std::size_t, std::size_t first, std::size_t end) {
        std::fill(Z.begin() + place_of_row(first), Z.begin() + place_of_row(end), 0.0);
        std::fill_n(active.begin() + static_cast<long>(first), end - first, rho1 == 0.0);
    });
    std::fill(Z_pairs.begin(), Z_pairs.end(), 0.0);
}

void DualSpace::find_active() {
    each_block([&](std::size_t, std::size_t first, std::size_t end) { find_active_in(first, end); });
}

void DualSpace::find_active_in(std::size_t first, std::size_t end) {
    for (std::size_t r = first; r < end; ++r) {
        const auto row = Z.begin() + place_of_row(r);
        active[r] = std::any_of(row, row + stride, [&](double z) { return std::fabs(z) > rho1; });
    }
}

void DualSpace::set_eta(double eta) {
    eta_ = eta;
    of_row.resize(mass_.size());
    of_pair_row.resize(pair_mass_.size());
    each_block([&](std::size_t, std::size_t first, std::size_t end) {
        for (std::size_t r = first; r < end; ++r) of_row[r].scale = n_of_[r] / (rho2 + eta * mass_[r]);
    });
    for (std::size_t r = 0; r < pair_mass_.size(); ++r) {
        of_pair_row[r].scale = 1.0 / (rho2 + eta * pair_mass_[r] / n_labels);
    }
}

void DualSpace::add_centers() {
    each_block([&](std::size_t block, std::size_t first, std::size_t end) {
        for (const Center& center : centers_[block]) z_of(center.at) -= kappa_of(center.at) * center.theta;
        find_active_in(first, end);
    });
}

void DualSpace::recenter(double eta) {
    each_block([&](std::size_t block, std::size_t first, std::size_t end) {
        std::vector<Center> next;
        const auto add = [&](std::size_t at) { next.push_back({at, theta_of(at)}); };
        if (block + 1 < n_blocks()) {
            for_each_place_in(first, end, add);
        } else {
            for_each_pair_place(add);
        }
        for (const Center& center : centers_[block]) z_of(center.at) += kappa_of(center.at) * center.theta;
        centers_[block] = std::move(next);
    });
    set_eta(eta);
    add_centers();
}

std::vector<double> DualSpace::centers() const {
    std::vector<double> out{eta_};
    for (const std::vector<Center>& of_block : centers_) {
        for (const Center& center : of_block) {
            out.push_back(static_cast<double>(center.at));
            out.push_back(center.theta);
        }
    }
    return out;
}

void DualSpace::set_centers(std::span<const double> from) {
    for (std::vector<Center>& of_block : centers_) of_block.clear();
    for (std::size_t k = 1; k + 1 < from.size(); k += 2) {
        const auto at = static_cast<std::size_t>(from[k]);
        centers_[block_of(at)].push_back({at, from[k + 1]});
    }
    set_eta(from.front());
}

}  // namespace sparsecrf
