#include "core/text/templates/attribute_lists.hpp"

#include <algorithm>

#include "core/base/parallel.hpp"

namespace sparsecrf {
namespace {

// Assigns table ids to the recorded attributes.
void add_noted(AttributeFinder::Notes& notes, StringTable& table, std::vector<std::uint32_t>& ids) {
    constexpr std::size_t kAhead = 8;
    std::size_t begin = 0;
    for (std::size_t k = 0; k < notes.all.size(); ++k) {
        if (k + kAhead < notes.all.size()) table.prefetch(notes.all[k + kAhead].hash.value);
        const AttributeFinder::Notes::Note& note = notes.all[k];
        const std::string_view text = std::string_view(notes.text).substr(begin, note.end - begin);
        ids[note.at] = table.intern({&text, 1}, note.hash);
        begin = note.end;
    }
    notes = {};  // most attributes of the first sequences are new; release that memory
}

}  // namespace

AttributeLists::AttributeLists(int threads) : threads_(resolve_threads(threads)) {}

std::span<const Rows> AttributeLists::first_of(std::span<const Rows> sequences, const Names& names) const {
    const std::int64_t most = std::min(batch_tokens(), 4 * kPartTokens + names.size() / 16);
    std::int64_t tokens = 0;
    std::size_t n = 0;
    while (n < sequences.size() && tokens < most) tokens += sequences[n++].length;
    return sequences.first(n);
}

void AttributeLists::cut(std::span<const Rows> sequences) {
    places_.clear();
    n_parts_ = 0;
    constexpr std::size_t kEnough = kPartTokens;
    std::size_t tokens = kEnough;  // number of tokens in the current part
    for (std::size_t i = 0; i < sequences.size(); ++i) {
        if (tokens >= kEnough) {
            if (n_parts_ == parts_.size()) parts_.emplace_back();
            parts_[n_parts_++].begin = i;
            tokens = 0;
        }
        const auto length = static_cast<std::size_t>(sequences[i].length);
        places_.push_back({n_parts_ - 1, tokens, length});
        parts_[n_parts_ - 1].end = i + 1;
        tokens += length;
    }
}

void AttributeLists::find(const std::shared_ptr<const Template>& lines, std::span<const Rows> sequences,
                          const Names& names, bool start, const FeatureSet* features) {
    cut(sequences);
    if (finders_.empty() || finders_.front().lines() != lines.get()) {
        finders_.clear();
        for (int k = 0; k < threads_; ++k) finders_.emplace_back(lines);
    }
    const auto n_parts = static_cast<std::int64_t>(n_parts_);
    const bool alone = threads_ == 1;
    const auto find_part = [&](int thread, std::int64_t p) {
        Part& part = parts_[static_cast<std::size_t>(p)];
        part.found.clear();
        part.notes = {};  // left over if an earlier call threw
        AttributeFinder::Absent absent;
        if (names.growing() != nullptr && alone) absent.add_to = names.growing();
        if (names.growing() != nullptr && !alone) absent.notes = &part.notes;
        for (std::size_t i = part.begin; i < part.end; ++i) {
            finders_[static_cast<std::size_t>(thread)].find(sequences[i], names.table(), absent, start, part.found);
        }
    };
    try {
        parallel_for(n_parts, threads_, 1, find_part);
    } catch (...) {  // out of memory: the caches of finders may be incomplete
        finders_.clear();
        throw;
    }
    if (names.growing() != nullptr) {
        for (std::size_t p = 0; p < n_parts_; ++p) add_noted(parts_[p].notes, *names.growing(), parts_[p].found);
    }
    parallel_for(n_parts, threads_, 1, [&](int, std::int64_t p) {
        make_lists(finders_.front().kinds(), sequences, start, features, parts_[static_cast<std::size_t>(p)]);
    });
}

void AttributeLists::make_lists(const std::vector<Template::Kind>& kinds, std::span<const Rows> sequences, bool start,
                                const FeatureSet* features, Part& part) const {
    const std::size_t n_lines = kinds.size();
    std::vector<std::uint8_t> of_labels(n_lines), of_pairs(n_lines), never(n_lines, 0);
    for (std::size_t k = 0; k < n_lines; ++k) {
        of_labels[k] = kinds[k] == Template::Kind::unigram || kinds[k] == Template::Kind::both;
        of_pairs[k] = kinds[k] != Template::Kind::unigram;
    }
    part.unigram.clear();
    part.bigram.clear();
    part.listed.resize(2 * part.found.size() + 1);  // an upper bound, so that views stay valid
    const std::uint32_t* found = part.found.data();
    std::uint32_t* end = part.listed.data();
    const auto list = [&](const std::vector<std::uint8_t>& counts, const FeatureSet* conditioning) {
        std::uint32_t* const begin = end;
        for (std::size_t k = 0; k < n_lines; ++k) {
            const bool there = counts[k] != 0 && found[k] != AttributeFinder::kAbsent;
            *end = found[k];
            end += there && (conditioning == nullptr || conditioning->conditions_pairs(found[k]));
        }
        return prepare({begin, end});
    };
    for (std::size_t i = part.begin; i < part.end; ++i) {
        for (std::int64_t t = 0; t < sequences[i].length; ++t, found += n_lines) {
            part.unigram.push_back(list(of_labels, nullptr));
            part.bigram.push_back(list(t > 0 || start ? of_pairs : never, features));
        }
    }
}

}  // namespace sparsecrf
