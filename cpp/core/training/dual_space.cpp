#include "core/training/dual_space.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>

#include "core/base/lanes.hpp"
#include "core/training/identical_columns.hpp"

namespace sparsecrf {
namespace {

std::size_t padded_pairs(std::size_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

}  // namespace

DualSpace::DualSpace(const Corpus& of, const FeatureSet* features, double l1, double l2)
    : corpus(of),
      n_labels(of.n_labels),
      stride(padded(of.n_labels)),
      pairs(padded_pairs(LabelPairs(of.n_labels).size())),
      rho1(l1),
      rho2(l2),
      pair_row(of.n_attributes, -1) {
    if (features != nullptr) features->check_fits(corpus);
    find_rows(features);
    index_sequences();
    find_pair_rows();
    if (features != nullptr) restrict_pairs(*features);
    set_eta(0.0);
    set_times(1, true);
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
    return 8.0 * (corpus.n_attributes * Yp + rows * (Y + 1.0) * Y + T * (Y * Y + Yp)) +
           of_occurrence * occurrences(corpus);
}

// Rows are numbered by first occurrence, so that the rare rows of a sequence are adjacent.
void DualSpace::find_rows(const FeatureSet* features) {
    const auto bytes = static_cast<std::size_t>(stride / kLanes);
    std::vector<std::uint8_t> allowed;  // [X, bytes]
    std::vector<std::uint32_t> classes(corpus.n_attributes, 0);
    if (features != nullptr) {
        allowed.assign(corpus.n_attributes * bytes, 0);
        std::unordered_map<std::string, std::uint32_t> seen;
        for (std::uint32_t x = 0; x < corpus.n_attributes; ++x) {
            std::uint8_t* bits = allowed.data() + x * bytes;
            for (std::int64_t k = features->unigram_ptr[x]; k < features->unigram_ptr[x + 1]; ++k) {
                const std::size_t y = features->unigram_label[static_cast<std::size_t>(k)];
                bits[y / kLanes] |= static_cast<std::uint8_t>(1u << (y % kLanes));
            }
            classes[x] = seen.try_emplace(std::string(bits, bits + bytes), static_cast<std::uint32_t>(seen.size()))
                             .first->second;
        }
    }
    classes = identical_columns(corpus.unigram_lists, std::move(classes));
    constexpr std::uint32_t kNone = 0xffffffffu;
    std::vector<std::uint32_t> row_of_class(corpus.n_attributes, kNone);
    row_of.assign(corpus.n_attributes, kNone);
    const auto add = [&](std::uint32_t x) {
        if (row_of[x] != kNone) return;
        std::uint32_t& row = row_of_class[classes[x]];
        if (row == kNone) {
            row = static_cast<std::uint32_t>(one_of_.size());
            one_of_.push_back(x);
            n_of_.push_back(0.0);
            if (features != nullptr) {
                allowed_.insert(allowed_.end(), &allowed[x * bytes], &allowed[x * bytes] + bytes);
            }
        }
        row_of[x] = row;
        n_of_[row] += 1.0;
    };
    for (const std::uint32_t x : corpus.unigram_lists.ids()) add(x);
    for (std::uint32_t x = 0; x < corpus.n_attributes; ++x) add(x);
    Z.assign(one_of_.size() * static_cast<std::size_t>(stride), 0.0);
    active.assign(one_of_.size(), rho1 == 0.0);
}

void DualSpace::index_sequences() {
    const ListPool& lists = corpus.unigram_lists;
    std::vector<std::uint32_t> place(one_of_.size(), 0), count(one_of_.size(), 0);
    mass_.assign(one_of_.size(), 0.0);
    sequences_.assign(one_of_.size(), 0.0);
    first_.push_back(0);
    first_at_.push_back(0);
    const auto for_each_row = [&](std::int64_t t, auto visit) {  // visit(row, value) at a position
        for (std::int64_t e = lists.begin(corpus.unigram[t]); e < lists.end(corpus.unigram[t]); ++e) {
            const std::uint32_t row = row_of[lists.id(e)];
            if (one_of_[row] == lists.id(e)) visit(row, lists.value(e));
        }
    };
    for (std::int64_t i = 0; i < corpus.n_sequences(); ++i) {
        const std::int64_t begin = corpus.offsets[i], end = corpus.offsets[i + 1];
        const auto first = static_cast<std::ptrdiff_t>(row_.size());
        const std::size_t first_at = at_.size();
        for (std::int64_t t = begin; t < end; ++t) {
            for_each_row(t, [&](std::uint32_t row, double value) {
                if (count[row]++ == 0) row_.push_back(row);
                mass_[row] += corpus.weight(i) * value * value;
            });
        }
        std::sort(row_.begin() + first, row_.end());
        std::uint32_t sum = 0;
        for (auto row = row_.begin() + first; row != row_.end(); ++row) {
            ptr_.push_back(sum);
            place[*row] = sum;
            sum += std::exchange(count[*row], 0);
            sequences_[*row] += 1.0;
        }
        ptr_.push_back(sum);
        at_.resize(first_at + sum);
        if (lists.has_values()) value_.resize(first_at + sum);
        for (std::int64_t t = begin; t < end; ++t) {
            for_each_row(t, [&](std::uint32_t row, double value) {
                const std::size_t k = first_at + place[row]++;
                at_[k] = static_cast<std::uint32_t>(t - begin);
                if (lists.has_values()) value_[k] = value;
            });
        }
        first_.push_back(static_cast<std::int64_t>(row_.size()));
        first_at_.push_back(static_cast<std::int64_t>(at_.size()));
    }
}

void DualSpace::find_pair_rows() {
    for (const ListPool* lists : {&corpus.base_lists, &corpus.rest_lists}) {
        for (const std::uint32_t x : lists->ids()) pair_row[x] = 0;
    }
    for (std::uint32_t x = 0; x < corpus.n_attributes; ++x) {
        if (pair_row[x] < 0) continue;
        pair_row[x] = static_cast<std::int32_t>(pair_attribute.size());
        pair_attribute.push_back(x);
    }
    Z_pairs.assign(pair_attribute.size() * pairs, 0.0);
    pair_mass_.assign(pair_attribute.size(), 0.0);
    pair_sequences_.assign(pair_attribute.size(), 0.0);
    std::vector<std::int64_t> last(pair_attribute.size(), -1);  // last sequence of each row
    for (std::int64_t i = 0; i < corpus.n_sequences(); ++i) {
        for (std::int64_t t = corpus.offsets[i]; t < corpus.offsets[i + 1]; ++t) {
            for (const auto& [lists, list] :
                 {std::pair{&corpus.base_lists, corpus.base[t]}, std::pair{&corpus.rest_lists, corpus.rest[t]}}) {
                for (std::int64_t e = lists->begin(list); e < lists->end(list); ++e) {
                    const double value = lists->value(e);
                    const auto row = static_cast<std::size_t>(pair_row[lists->id(e)]);
                    pair_mass_[row] += corpus.weight(i) * value * value;
                    if (std::exchange(last[row], i) != i) pair_sequences_[row] += 1.0;
                }
            }
        }
    }
}

void DualSpace::restrict_pairs(const FeatureSet& features) {
    allowed_pairs.assign(Z_pairs.size(), 0.0);
    for (std::size_t r = 0; r < pair_attribute.size(); ++r) {
        for (const std::uint32_t pair : features.bigram_pairs_of(pair_attribute[r]))
            allowed_pairs[r * pairs + pair] = 1.0;
    }
}

// A batch that contains a sequence with row r has n_r = 1 + (batch - 1) q of them on average, where q is the fraction
// of all sequences with that row. Then m_r = 1 + kOverlap (n_r - 1). At worst, m_r = n_r = min(batch, sequences with
// r).
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
        while (sum * n > static_cast<double>(row_.size()) * static_cast<double>(ends.size()) &&
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
            row_.data() + first,
            ptr_.data() + first + k,
            at_.data() + first_at,
            value_.empty() ? nullptr : value_.data() + first_at,
            stride,
            rho1,
            Z.data(),
            of_row.data(),
            active.data(),
            allowed_.empty() ? nullptr : allowed_.data()};
}

template <class Visit>
void DualSpace::for_each_place(Visit visit) const {
    const auto Yp = static_cast<std::size_t>(stride);
    for (std::size_t r = 0; r < active.size(); ++r) {
        if (!active[r]) continue;
        for (std::size_t at = r * Yp; at < (r + 1) * Yp; ++at) {
            if (std::fabs(Z[at]) > rho1) visit(at);
        }
    }
    for (std::size_t k = 0; k < Z_pairs.size(); ++k) {
        if (std::fabs(Z_pairs[k]) > rho1) visit(Z.size() + k);
    }
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
    for (const Center& center : centers_) {
        const double z = z_of(center.at), without = excess(z), s = excess(z + kappa_of(center.at) * center.theta);
        square += attributes_at(center.at) * (s * s - without * without);
    }
    return {rho1 * l1 + rho2 * l2 / 2.0, square / (2.0 * rho2)};
}

double DualSpace::conjugate_of_G(double s) const {
    double square = 0.0;
    for_each_place([&](std::size_t at) { square += attributes_at(at) * std::pow(excess(s * z_of(at)), 2); });
    return square / (2.0 * rho2);
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
    centers_.clear();
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
    std::fill(Z.begin(), Z.end(), 0.0);
    std::fill(Z_pairs.begin(), Z_pairs.end(), 0.0);
    std::fill(active.begin(), active.end(), rho1 == 0.0);
}

void DualSpace::find_active() {
    const auto Yp = static_cast<std::size_t>(stride);
    for (std::size_t x = 0; x < active.size(); ++x) {
        const double* row = Z.data() + x * Yp;
        active[x] = std::any_of(row, row + Yp, [&](double z) { return std::fabs(z) > rho1; });
    }
}

void DualSpace::set_eta(double eta) {
    eta_ = eta;
    of_row.resize(mass_.size());
    of_pair_row.resize(pair_mass_.size());
    for (std::size_t r = 0; r < mass_.size(); ++r) of_row[r].scale = n_of_[r] / (rho2 + eta * mass_[r]);
    for (std::size_t r = 0; r < pair_mass_.size(); ++r) {
        of_pair_row[r].scale = 1.0 / (rho2 + eta * pair_mass_[r] / n_labels);
    }
}

void DualSpace::add_centers() {
    for (const Center& center : centers_) z_of(center.at) -= kappa_of(center.at) * center.theta;
    find_active();
}

void DualSpace::recenter(double eta) {
    std::vector<Center> next;
    for_each_place([&](std::size_t at) { next.push_back({at, theta_of(at)}); });
    for (const Center& center : centers_) z_of(center.at) += kappa_of(center.at) * center.theta;
    set_eta(eta);
    centers_ = std::move(next);
    add_centers();
}

std::vector<double> DualSpace::centers() const {
    std::vector<double> out{eta_};
    for (const Center& center : centers_) {
        out.push_back(static_cast<double>(center.at));
        out.push_back(center.theta);
    }
    return out;
}

void DualSpace::set_centers(std::span<const double> from) {
    centers_.clear();
    for (std::size_t k = 1; k + 1 < from.size(); k += 2) {
        centers_.push_back({static_cast<std::size_t>(from[k]), from[k + 1]});
    }
    set_eta(from.front());
}

}  // namespace sparsecrf
