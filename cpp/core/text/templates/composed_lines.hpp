// Template lines whose attributes are composed of several cells or values. Each part is stored once for all lines and
// positions of a sequence, so hashing takes a few multiplications, and texts are compared without copying.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/text/templates/template.hpp"

namespace sparsecrf {

class ComposedLines {
   public:
    explicit ComposedLines(const Template& lines);

    // Whether this class handles the line: all its macros refer to existing text in rows near the position.
    bool has(std::size_t line) const { return lines_[line].known; }
    // Starts a sequence; `rows` and `values` must outlive it.
    void read(const Template& lines, const Rows& rows, const WordValues& values);

    // The hash of the attribute of a line at position t:  H(a b) = H(a) B^|b| + H(b)
    std::uint64_t hash(std::size_t line, std::int64_t t) const {
        const Line& made = lines_[line];
        const HashedText* const here = at(t);
        std::uint64_t h = made.first.hash.value;
        for (const Step& step : made.steps) {
            const TextHash& part = here[step.part].hash;
            h = h * part.power + part.value;
            h = h * step.literal.hash.power + step.literal.hash.value;
        }
        return h;
    }
    // Whether the attribute equals this text.
    bool is(std::size_t line, std::int64_t t, std::string_view text) const;

    struct Step {
        std::ptrdiff_t part;  // index relative to the parts of position t: row * S + source
        HashedText literal;   // text after the part, possibly empty
    };
    // A supported line: its leading text, and the steps that follow.
    const HashedText& first(std::size_t line) const { return lines_[line].first; }
    const std::vector<Step>& steps(std::size_t line) const { return lines_[line].steps; }
    const std::vector<Template::Item>& sources() const { return sources_; }

   private:
    static constexpr std::int64_t kNear = Template::kNear;
    struct Line {
        bool known = false;
        HashedText first;  // literal
        std::vector<Step> steps;
    };
    const HashedText* at(std::int64_t t) const {
        return parts_.data() + (t + kNear) * static_cast<std::ptrdiff_t>(sources_.size());
    }

    std::vector<Template::Item> sources_;  // S distinct macros, ignoring their rows
    std::vector<Line> lines_;              // [lines]
    std::vector<HashedText> parts_;        // [kNear + T + kNear, S]
};

}  // namespace sparsecrf
