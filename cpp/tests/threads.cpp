// Runs the core in several threads: shared objects are only read, and all threads get the results of a single thread.
// For ThreadSanitizer (`make sanitize-thread`) and Valgrind (torture/valgrind.py).
//
//   threads [THREADS [SENTENCES]]
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>

#include "core/base/in_turns.hpp"
#include "core/base/parallel.hpp"
#include "core/training/oracle.hpp"
#include "core/training/sbcd.hpp"
#include "world.hpp"

using namespace sparsecrf;
using tests::World;

namespace {

void expect(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "threads: expected %s\n", what);
    std::exit(1);
}

// Calls work() in all threads at once.
void together(int threads, const std::function<void()>& work) {
    std::vector<std::thread> team;
    for (int k = 0; k < threads; ++k) team.emplace_back(work);
    for (std::thread& one : team) one.join();
}

struct Answers {
    std::vector<double> log_z, p, score;
    std::vector<std::int32_t> path;
    std::vector<std::int32_t> second;  // second best paths, concatenated
    std::string labelled, items;
    bool operator==(const Answers&) const = default;
};

Answers ask(const World& world, const Chain& chain, const Model& model, const Model& of_items) {
    const Corpus& corpus = world.corpus;
    const auto N = static_cast<std::size_t>(corpus.n_sequences()), P = static_cast<std::size_t>(corpus.n_tokens());
    Answers found;
    found.log_z.resize(N);
    found.score.resize(N);
    found.p.resize(P * static_cast<std::size_t>(corpus.n_labels));
    found.path.resize(P);
    const Constraints free;
    chain.log_partition(corpus, free, found.log_z);
    chain.marginals(corpus, free, found.p);
    chain.viterbi(corpus, free, found.path, found.score);
    for (const std::vector<Labelling>& best : chain.nbest(corpus, 2, free)) {
        found.second.insert(found.second.end(), best.back().labels.begin(), best.back().labels.end());
    }
    LabelOptions options;
    options.headers = options.distribution = options.force = true;
    options.nbest = 2;
    found.labelled = model.label_text(world.text, "world", 0, 1, options);
    found.items = of_items.label_text("O\tU0\\:Ada1\tU2\\:Ad:0.5\nO\tB\n\nO\n", "items", 0, 1, LabelOptions{});
    return found;
}

struct Derivatives {
    double loss;
    std::vector<double> g, h, w;
    std::vector<std::int64_t> candidates;
    bool operator==(const Derivatives&) const = default;
};

Derivatives derive(const World& world, Kernel kernel, int threads) {
    const FeatureSet& features = *world.features;
    const auto K = static_cast<std::size_t>(features.size());
    Oracle oracle(world.corpus, kernel, threads);
    Derivatives found{0.0, std::vector<double>(K), std::vector<double>(K), world.w, {}};
    found.loss = oracle.gradient(features, world.w, found.g, found.h);
    found.candidates = oracle.candidates(features, world.w, 0.5);
    Sbcd sbcd(world.corpus, kernel, threads);
    sbcd.sweep(features, found.w, oracle.counts(features), {0.5, 0.01, 0.0, false});
    return found;
}

// Many short loops, called by several threads at once, some of them nested: every item is processed once, and the first
// error is thrown.
void loops(int threads) {
    together(threads, [threads] {
        for (int round = 0; round < 300; ++round) {
            std::vector<int> done(50, 0);
            std::atomic<int> inner{0};
            parallel_for(50, threads, 1 + round % 4, [&](int thread, std::int64_t i) {
                expect(0 <= thread && thread < threads, "a thread of the team");
                ++done[static_cast<std::size_t>(i)];
                if (i % 25 == 0) parallel_for(10, threads, 1, [&](int, std::int64_t) { ++inner; });
            });
            expect(done == std::vector<int>(50, 1) && inner == 20, "every item once");
            std::int64_t thrown = -1;
            try {
                parallel_for(50, threads, 3, [&](int, std::int64_t i) {
                    if (i >= 20) throw i;
                });
            } catch (std::int64_t i) {
                thrown = i;
            }
            expect(thrown == 20, "the error of the smallest item");
        }
    });
}

// The same for loops in turns: each step sees the items in order, and after an error no thread waits forever.
void turns(int threads) {
    together(threads, [threads] {
        for (int round = 0; round < 300; ++round) {
            std::vector<std::int64_t> order[2];
            in_turns(40, threads, [&](int thread, std::int64_t i, Turn& turn) {
                expect(0 <= thread && thread < threads, "a thread of the team");
                for (std::vector<std::int64_t>& seen : order) turn([&] { seen.push_back(i); });
            });
            for (const std::vector<std::int64_t>& seen : order) {
                expect(seen.size() == 40 && std::is_sorted(seen.begin(), seen.end()), "every item in its turn");
            }
            std::int64_t thrown = -1;
            int after = 0;
            try {
                in_turns(40, threads, [&](int, std::int64_t i, Turn& turn) {
                    if (i == 20 && round % 2 == 0) throw i;
                    turn([&] {
                        if (i == 20) throw i;
                    });
                    turn([&] { after += i > 20; });
                });
            } catch (std::int64_t i) {
                thrown = i;
            }
            expect(thrown == 20 && after == 0, "the error, and nothing after it");
        }
    });
}

}  // namespace

int main(int argc, char** argv) {
    const int threads = argc > 1 ? std::atoi(argv[1]) : 4;
    loops(threads);
    turns(threads);
    const World world(argc > 2 ? static_cast<std::size_t>(std::atoi(argv[2])) : 60);
    for (const Kernel kernel : {Kernel::automatic, Kernel::sparse, Kernel::dense, Kernel::log}) {
        // The caller's threads share a model.
        const auto chain = world.chain(kernel), team = world.chain(kernel, threads);
        const Model model = world.model(), of_items = world.model(true);
        const Answers answers = ask(world, *chain, model, of_items);
        together(threads, [&] { expect(ask(world, *chain, model, of_items) == answers, "equal answers"); });
        expect(ask(world, *team, model, of_items) == answers, "equal answers of a team");
        // They share a corpus, and an oracle's own threads share its work.
        const Derivatives derivatives = derive(world, kernel, 1);
        together(threads, [&] { expect(derive(world, kernel, 1) == derivatives, "equal derivatives"); });
        expect(derive(world, kernel, threads) == derivatives, "equal derivatives of a team");
        expect(!derivatives.candidates.empty() && derivatives.w != world.w, "candidates and changed weights");
    }
    std::printf("%d threads, %lld sequences: equal\n", threads, static_cast<long long>(world.corpus.n_sequences()));
}
