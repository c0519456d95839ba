// Fuzzes the core's parsers: any input must give a result or an InputError. Run under AddressSanitizer and UBSan
// (torture/fuzz.py).
//
//   fuzz TARGET SECONDS SEEDS FOUND       SEEDS: a folder of inputs; FOUND: prefix of the files with findings
//
// Inputs are mutated; those that reach new code are kept and mutated further. GCC calls __sanitizer_cov_trace_pc in
// every basic block of the core (-fsanitize-coverage=trace-pc).
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/base/error.hpp"
#include "fuzz_targets.hpp"
#include "world.hpp"

using namespace sparsecrf;
using tests::kTargets;
using tests::Random;

// ---- Coverage: how often each pair of locations was reached consecutively, by a hash of both.
namespace {
constexpr std::size_t kPairs = 1 << 16;
std::array<std::uint8_t, kPairs> passed;    // counts of the current input
std::array<std::uint8_t, kPairs> known;     // seen in earlier inputs: bits of how_often
std::array<std::uint32_t, kPairs> touched;  // the first n_touched: indices where `passed` is nonzero
std::size_t n_touched = 0;
std::uintptr_t last_place = 0;

// One bit for each range of counts: 1, 2, 3 to 4, 5 to 8, ...
std::uint8_t how_often(std::uint8_t times) {
    std::uint8_t bit = 1;
    for (int limit = 1; limit < times && bit < 128; limit *= 2) bit = static_cast<std::uint8_t>(bit << 1);
    return times == 0 ? 0 : bit;
}

// Whether the current input reached something new; resets the counts for the next one.
bool is_new() {
    bool found = false;
    for (std::size_t k = 0; k < n_touched; ++k) {
        const std::uint8_t bit = how_often(passed[touched[k]]);
        found |= (bit & ~known[touched[k]]) != 0;
        known[touched[k]] |= bit;
        passed[touched[k]] = 0;
    }
    n_touched = 0;
    last_place = 0;
    return found;
}

// ---- The current input, written to a file if the run fails.
std::string input, found_prefix;

void write_finding() {
    std::uint64_t name = 1469598103934665603u;  // FNV-1a
    for (const char c : input) name = (name ^ static_cast<unsigned char>(c)) * 1099511628211u;
    char path[4096];
    std::snprintf(path, sizeof path, "%s%016llx", found_prefix.c_str(), static_cast<unsigned long long>(name));
    if (std::FILE* file = std::fopen(path, "wb")) {
        std::fwrite(input.data(), 1, input.size(), file);
        std::fclose(file);
    }
    std::fprintf(stderr, "fuzz: finding in %s\n", path);
}

void too_slow(int) {
    std::fprintf(stderr, "fuzz: error: timeout\n");
    write_finding();
    _exit(1);
}
}  // namespace

extern "C" {
void __sanitizer_cov_trace_pc() {
    const auto place = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
    const std::size_t pair = (place ^ last_place) % kPairs;
    if (passed[pair] == 0) touched[n_touched++] = static_cast<std::uint32_t>(pair);
    if (passed[pair] < 255) ++passed[pair];
    last_place = place >> 1;
}
void __sanitizer_set_death_callback(void (*callback)());
const char* __asan_default_options() { return "max_allocation_size_mb=1024"; }
const char* __ubsan_default_options() { return "print_stacktrace=1"; }
}

namespace {
// ---- Mutation.
constexpr std::size_t kLongest = 8192;
constexpr std::string_view kBreaks[] = {"\n", "\n\n", "\r\n", " ", "\t", "B\n", "*\n"};
constexpr std::string_view kTokens =  // separated by spaces
    "\\ \\: : @weight: 1e308 -0 nan %x[ %m[ %t[ %p[ %S[ %h[0,0,1] %l[ %c[-1,0] %n[0,1] %e[0] @-1 0, ] \" ^ $ * ? . "
    "\\d \\W U: # \xC3\xA9 \xF0\x9F\x98\x80 \xEF\xBB\xBF \xC4\xB0 \xE1\xBA\x9E \xFF \xED\xA0\x80 999999999 a* "
    "\"I64\" [0,8] {\" \\ud83d .?";

void mutate(std::string& text, const std::vector<std::string>& corpus, Random& random) {
    static const std::vector<std::string_view> tokens = [] {
        std::vector<std::string_view> all(std::begin(kBreaks), std::end(kBreaks));
        split_columns(kTokens, all);
        return all;
    }();
    for (std::size_t times = 1 + random.below(6); times > 0; --times) {
        const std::size_t at = random.below(text.size() + 1), length = random.below(text.size() - at + 1);
        switch (random.below(8)) {
            case 0:
                if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << random.below(8)));
                break;
            case 1:
                if (at < text.size()) text[at] = static_cast<char>(random.next());
                break;
            case 2:
                text.erase(at, length);
                break;
            case 3:
                text.insert(at, text.substr(random.below(text.size() + 1), 1 + random.below(64)));
                break;
            case 4:
                text.resize(at);
                break;
            case 5: {  // a part of another input
                const std::string& other = corpus[random.below(corpus.size())];
                text.insert(at, other.substr(random.below(other.size() + 1), random.below(256)));
                break;
            }
            default:
                text.insert(at, tokens[random.below(tokens.size())]);
        }
    }
    if (text.size() > kLongest) text.resize(kLongest);
}

// Runs one input; returns whether it reached something new.
bool reaches_more(const std::function<void(std::string_view)>& target) {
    alarm(20);
    try {
        // A separate copy, so that reads past the end are detected.
        const std::vector<char> copy(input.begin(), input.end());
        target({copy.data(), copy.size()});
    } catch (const InputError&) {
    } catch (const std::exception& error) {
        std::fprintf(stderr, "fuzz: error: %s\n", error.what());
        write_finding();
        _exit(1);
    }
    alarm(0);
    return is_new();
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5 || !kTargets.contains(argv[1])) {
        std::fprintf(stderr, "fuzz: expected TARGET SECONDS SEEDS FOUND\n");
        return 2;
    }
    const auto& target = kTargets.at(argv[1]);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoi(argv[2]));
    found_prefix = argv[4];
    __sanitizer_set_death_callback(write_finding);
    std::signal(SIGALRM, too_slow);

    std::vector<std::string> corpus{""};
    for (const auto& entry : std::filesystem::directory_iterator(argv[3])) {
        std::ifstream file(entry.path(), std::ios::binary);
        input.assign(std::istreambuf_iterator<char>(file), {});
        reaches_more(target);
        corpus.push_back(input);
    }
    Random random{static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count())};
    std::uint64_t executions = corpus.size();
    for (; std::chrono::steady_clock::now() < end; ++executions) {
        input = corpus[random.below(corpus.size())];
        mutate(input, corpus, random);
        if (reaches_more(target)) corpus.push_back(input);
    }
    std::printf("number_of_executed_units: %llu\ninputs kept: %zu\n", static_cast<unsigned long long>(executions),
                corpus.size());
}
