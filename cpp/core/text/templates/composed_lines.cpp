#include "core/text/templates/composed_lines.hpp"

#include <algorithm>
#include <cstdlib>

namespace sparsecrf {

ComposedLines::ComposedLines(const Template& lines) : lines_(static_cast<std::size_t>(lines.size())) {
    const auto is_near = [](const Template::Item& item) {
        return Template::is_known(item) && !item.row.absolute && std::abs(item.row.offset) <= kNear;
    };
    const auto same = [](const Template::Item& a, const Template::Item& b) {
        return a.macro == b.macro && a.column == b.column && a.index == b.index;
    };
    for (std::size_t k = 0; k < lines_.size(); ++k) {
        const auto& items = lines.items(static_cast<std::int64_t>(k));
        const bool composed =
            lines.varies(static_cast<std::int64_t>(k)) && !lines.only_cell(static_cast<std::int64_t>(k));
        lines_[k].known = composed && std::all_of(items.begin(), items.end(), is_near);
        if (!lines_[k].known) continue;
        for (const Template::Item& item : items) {
            if (item.macro == 0) continue;
            if (std::none_of(sources_.begin(), sources_.end(), [&](const auto& s) { return same(s, item); })) {
                sources_.push_back(item);
            }
        }
    }
    const auto n_sources = static_cast<std::ptrdiff_t>(sources_.size());
    for (std::size_t k = 0; k < lines_.size(); ++k) {
        if (!lines_[k].known) continue;
        for (const Template::Item& item : lines.items(static_cast<std::int64_t>(k))) {
            if (item.macro == 0) {
                (lines_[k].steps.empty() ? lines_[k].first : lines_[k].steps.back().literal) = {item.literal,
                                                                                                item.hash};
                continue;
            }
            const auto source =
                std::find_if(sources_.begin(), sources_.end(), [&](const auto& s) { return same(s, item); });
            const auto row = static_cast<std::ptrdiff_t>(item.row.offset);  // at most kNear away
            lines_[k].steps.push_back({row * n_sources + (source - sources_.begin()), {}});
        }
    }
}

void ComposedLines::read(const Template& lines, const Rows& rows, const WordValues& values) {
    parts_.clear();
    if (sources_.empty()) return;
    for (std::int64_t row = -kNear; row < rows.length + kNear; ++row) {
        for (const Template::Item& source : sources_) parts_.push_back(*lines.known(source, rows, values, row));
    }
}

bool ComposedLines::is(std::size_t line, std::int64_t t, std::string_view text) const {
    const auto take = [&](std::string_view part) {
        if (!text.starts_with(part)) return false;
        text.remove_prefix(part.size());
        return true;
    };
    const HashedText* const here = at(t);
    if (!take(lines_[line].first.text)) return false;
    for (const Step& step : lines_[line].steps) {
        if (!take(here[step.part].text) || !take(step.literal.text)) return false;
    }
    return text.empty();
}

}  // namespace sparsecrf
