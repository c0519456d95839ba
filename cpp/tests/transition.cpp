// Checks that a matrix, dense or sparse, gives the same results after `assign` and after `renew`, or throws if the data
// for the result were dropped.
#include "core/inference/transitions/transition.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <stdexcept>

using namespace sparsecrf;

namespace {

constexpr int kLabels = 3;

void expect(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "transition: expected %s\n", what);
    std::exit(1);
}

template <class Call>
bool refuses(Call call) {
    try {
        call();
    } catch (const std::logic_error&) {
        return true;
    }
    return false;
}

void check(Kernel kernel) {
    const PairScores old{{0, 4, 5, 10}, {0.5, -1.0, 2.0, 0.25}};  // the last pair follows the start label
    AlignedVector<double> scores{1.0, 0.5, -2.0, 0.75, 0.0, 0.0, 0.0, 0.0};
    std::vector<int> order;
    constexpr double kNone = -std::numeric_limits<double>::infinity();
    alignas(64) double epsilon[8] = {0.0, 0.0, 0.0, kNone, kNone, kNone, kNone, kNone};
    double best[8], column[kLabels];
    Transition matrix;
    const auto decode = [&] { matrix.best(epsilon, best, order); };
    const auto read_column = [&] { matrix.column_scores(1, column); };

    expect(refuses([&] { matrix.renew(old.pair, scores.data()); }), "no renewal of a matrix without scores");
    matrix.assign(kLabels, old, kernel);
    expect(!refuses(decode) && best[2] == 2.0 && !refuses(read_column) && column[1] == -1.0, "decoding after assign");
    expect(refuses([&] { matrix.renewed(); }), "no renewed weights after assign");
    expect(refuses([&] { matrix.renew(std::span(old.pair).first(2), scores.data()); }), "no renewal of other pairs");

    matrix.renew(old.pair, scores.data());
    expect(refuses(decode) && refuses(read_column), "no decoding after renew");
    expect(!refuses([&] { matrix.renewed(); }), "renewed weights after renew");
    expect(std::fabs(matrix.renewed()[2] / std::exp(-2.0) - 1.0) < 1e-15, "E of a renewed pair");
    expect(matrix.score(1, 2) == -2.0 && matrix.weight(1, 2) == matrix.renewed()[2], "new score and weight of a pair");
    expect(matrix.start_score()[1] == 0.75, "the new score of a pair after the start label");

    matrix.assign(kLabels, {old.pair, {scores.begin(), scores.begin() + 4}}, kernel);
    expect(!refuses(decode) && best[0] == 1.0 && best[2] == 0.0, "decoding after another assign");
    expect(refuses([&] { matrix.renewed(); }), "no renewed weights after another assign");
}

}  // namespace

int main() {
    check(Kernel::dense);
    check(Kernel::sparse);
    std::printf("transition: as expected\n");
}
