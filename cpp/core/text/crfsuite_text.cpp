#include "core/text/crfsuite_text.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/base/error.hpp"
#include "core/base/number.hpp"
#include "core/base/utf8.hpp"
#include "core/corpus/corpus.hpp"
#include "core/text/columns.hpp"

namespace sparsecrf {
namespace {

std::string unescaped(std::string_view field) {
    std::string out;
    for (std::size_t k = 0; k < field.size(); ++k) {
        if (field[k] == '\\' && k + 1 < field.size()) ++k;
        out += field[k];
    }
    return out;
}

// The first unescaped colon, or npos.
std::size_t find_colon(std::string_view field) {
    for (std::size_t k = 0; k < field.size(); ++k) {
        if (field[k] == '\\') {
            ++k;
        } else if (field[k] == ':') {
            return k;
        }
    }
    return std::string_view::npos;
}

}  // namespace

void CrfsuiteReader::open(std::string_view piece) {
    check_text(piece, source_, line_);
    // Detects column files, which contain spaces but no TAB. A CRFsuite file without attributes contains neither.
    const bool blank = std::all_of(piece.begin(), piece.end(), is_blank);
    if (!blank && piece.find('\t') == std::string_view::npos && piece.find(' ') != std::string_view::npos) {
        throw InputError(source_, ", line ", line_,
                         ": expected a label, a tab and attributes (CRFsuite's format), found spaces but no tab");
    }
    rest_ = line_ == 1 ? without_mark(piece) : piece;
}

bool CrfsuiteReader::next(Items& items) {
    items.clear();
    while (!rest_.empty()) {
        const std::string_view line = take_line(rest_);
        if (std::all_of(line.begin(), line.end(), is_blank)) {
            ++line_;
            if (items.length() > 0) return true;
            continue;
        }
        if (items.length() == 0) items.first_line = line_;
        add_item(items, line);
        ++line_;
    }
    return items.length() > 0;
}

void CrfsuiteReader::add_item(Items& items, std::string_view line) const {
    constexpr std::string_view kWeight = "@weight:";
    if (line.starts_with(kWeight)) {
        items.weight = number(line.substr(kWeight.size()), kWeight.size() + 1);
        return;
    }
    each_field(line, [&](std::string_view field) {
        const auto at = static_cast<std::size_t>(field.data() - line.data());
        if (at == 0) {
            if (field.empty()) throw InputError(source_, ", line ", line_, ": expected a label first, found none");
            items.labels.push_back(unescaped(field));
        } else if (!field.empty()) {
            add_attribute(items, field, at + 1);
        }
    });
    items.ptr.push_back(static_cast<std::int64_t>(items.attributes.size()));
}

void CrfsuiteReader::add_attribute(Items& items, std::string_view field, std::size_t column) const {
    const std::size_t colon = find_colon(field);
    double value = 1.0;
    if (colon != std::string_view::npos) value = number(field.substr(colon + 1), column + colon + 1);
    items.attributes.push_back({unescaped(field.substr(0, colon)), value});
}

double CrfsuiteReader::number(std::string_view text, std::size_t column) const {
    const std::optional<double> value = parse_number(text);
    if (value && std::abs(*value) <= kLargest) return *value;
    throw InputError(source_, ", line ", line_, ", column ", column, ": expected a number ",
                     value ? "of at most 1e100 in size" : "after ':' (write \\: for a colon in a name)", ", found '",
                     utf8_prefix(text, 40), "'");
}

}  // namespace sparsecrf
