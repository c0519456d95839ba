// Repeatedly merges the cheapest pair of classes.
#include <cmath>
#include <limits>

#include "core/base/parallel.hpp"
#include "core/text/resources/word_clusters.hpp"

namespace sparsecrf {
namespace {

using Count = std::int64_t;

double phi(Count n) { return n > 1 ? static_cast<double>(n) * std::log(static_cast<double>(n)) : 0.0; }

// The remaining classes, and the change of F for each possible merge:
//   D(i, j) = sum_{c not i, j} t(i, j, c) + phi(N(i,i) + N(i,j) + N(j,i) + N(j,j)) - phi of each of these four
//             - the same for R and for L
//   t(i, j, c) = phi(N(i,c) + N(j,c)) - phi(N(i,c)) - phi(N(j,c)) + the same for N(c,i), N(c,j)
// After merging a and b, only the terms for c = a and c = b change in the other D.
class Merges {
   public:
    Merges(std::vector<Count> n, std::vector<Count> row, std::vector<Count> column, std::int64_t n_classes, int threads)
        : size_(static_cast<std::int64_t>(row.size())),
          n_(std::move(n)),
          row_(std::move(row)),
          column_(std::move(column)),
          n_classes_(n_classes),
          threads_(threads),
          change_(static_cast<std::size_t>(n_classes * n_classes), 0.0),
          left_(static_cast<std::size_t>(size_), true) {
        phi_.resize(n_.size());
        for (std::size_t k = 0; k < n_.size(); ++k) phi_[k] = phi(n_[k]);
        parallel_for(n_classes, threads_, 4, [&](int, std::int64_t i) {
            for (std::int64_t j = i + 1; j < n_classes_; ++j) change_[i * n_classes_ + j] = whole(i, j);
        });
    }

    // The cheapest pair i < j; the first one on ties.
    std::pair<std::int64_t, std::int64_t> best() const {
        std::pair<std::int64_t, std::int64_t> found{-1, -1};
        double highest = -std::numeric_limits<double>::infinity();
        for (std::int64_t i = 0; i < n_classes_; ++i) {
            if (!left_[i]) continue;
            for (std::int64_t j = i + 1; j < n_classes_; ++j) {
                if (!left_[j] || change_[i * n_classes_ + j] <= highest) continue;
                highest = change_[i * n_classes_ + j];
                found = {i, j};
            }
        }
        return found;
    }

    // Merges b into a.
    void merge(std::int64_t a, std::int64_t b) {
        left_[b] = false;
        each_pair([&](std::int64_t i, std::int64_t j) {
            if (i != a && j != a) change_[i * n_classes_ + j] -= term(i, j, a) + term(i, j, b);
        });
        for (std::int64_t c = 0; c < size_; ++c) set(a, c, at(a, c) + at(b, c));
        for (std::int64_t c = 0; c < size_; ++c) set(c, a, at(c, a) + at(c, b));
        for (std::int64_t c = 0; c < size_; ++c) {
            set(b, c, 0);
            set(c, b, 0);
        }
        row_[a] += row_[b];
        column_[a] += column_[b];
        each_pair([&](std::int64_t i, std::int64_t j) {
            double& change = change_[i * n_classes_ + j];
            change = i == a || j == a ? whole(i, j) : change + term(i, j, a);
        });
    }

   private:
    Count at(std::int64_t a, std::int64_t b) const { return n_[a * size_ + b]; }
    double phi_at(std::int64_t a, std::int64_t b) const { return phi_[a * size_ + b]; }
    void set(std::int64_t a, std::int64_t b, Count n) {
        n_[a * size_ + b] = n;
        phi_[a * size_ + b] = phi(n);
    }
    static double joined(Count x, Count y, double of_x, double of_y) {
        return x == 0 || y == 0 ? 0.0 : phi(x + y) - of_x - of_y;
    }
    double term(std::int64_t i, std::int64_t j, std::int64_t c) const {
        return joined(at(i, c), at(j, c), phi_at(i, c), phi_at(j, c)) +
               joined(at(c, i), at(c, j), phi_at(c, i), phi_at(c, j));
    }
    double whole(std::int64_t i, std::int64_t j) const {
        double sum = phi(at(i, i) + at(i, j) + at(j, i) + at(j, j)) - phi_at(i, i) - phi_at(i, j) - phi_at(j, i) -
                     phi_at(j, j) - joined(row_[i], row_[j], phi(row_[i]), phi(row_[j])) -
                     joined(column_[i], column_[j], phi(column_[i]), phi(column_[j]));
        for (std::int64_t c = 0; c < size_; ++c) {
            if (left_[c] && c != i && c != j) sum += term(i, j, c);
        }
        return sum;
    }
    template <class Body>
    void each_pair(Body body) {
        parallel_for(n_classes_, threads_, 8, [&](int, std::int64_t i) {
            if (!left_[i]) return;
            for (std::int64_t j = i + 1; j < n_classes_; ++j) {
                if (left_[j]) body(i, j);
            }
        });
    }

    std::int64_t size_;                // number of classes, including those used only as context
    std::vector<Count> n_;             // N [size, size]
    std::vector<double> phi_;          // phi of N
    std::vector<Count> row_, column_;  // R, L [size]
    std::int64_t n_classes_;
    int threads_;
    std::vector<double> change_;  // D [n_classes, n_classes], i < j
    std::vector<char> left_;      // [size]
};

}  // namespace

std::vector<std::string> WordClusters::merge(int threads) const {
    check_finished();
    Merges merges(n_, row_, column_, n_classes_, threads);
    std::vector<std::vector<std::int64_t>> members(static_cast<std::size_t>(n_classes_));
    std::vector<std::string> reversed(static_cast<std::size_t>(n_classes_));  // paths from their last step to the first
    for (std::int64_t c = 0; c < n_classes_; ++c) members[c] = {c};
    for (std::int64_t k = 1; k < n_classes_; ++k) {
        const auto [a, b] = merges.best();
        merges.merge(a, b);
        for (const std::int64_t c : members[a]) reversed[c].push_back('0');
        for (const std::int64_t c : members[b]) reversed[c].push_back('1');
        members[a].insert(members[a].end(), members[b].begin(), members[b].end());
    }
    for (std::string& path : reversed) path = path.empty() ? "0" : std::string(path.rbegin(), path.rend());
    return reversed;
}

}  // namespace sparsecrf
