#include "crfsuite_text.hpp"

#include <algorithm>
#include <cstdlib>

#include "columns.hpp"
#include "error.hpp"

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

// The first colon without a backslash before it, or npos.
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
    if (line_ == 1 && piece.starts_with("\xEF\xBB\xBF")) piece.remove_prefix(3);
    check_text(piece, source_, line_);
    rest_ = piece;
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
    std::size_t at = 0;
    for (bool first = true; at <= line.size(); first = false) {
        const std::size_t end = std::min(line.find('\t', at), line.size());
        const std::string_view field = line.substr(at, end - at);
        if (first) {
            items.labels.push_back(unescaped(field));
        } else if (!field.empty()) {
            add_attribute(items, field, at + 1);
        }
        at = end + 1;
    }
    items.ptr.push_back(static_cast<std::int64_t>(items.attributes.size()));
}

void CrfsuiteReader::add_attribute(Items& items, std::string_view field, std::size_t column) const {
    const std::size_t colon = find_colon(field);
    double value = 1.0;
    if (colon != std::string_view::npos) {
        const std::string number(field.substr(colon + 1));
        char* end = nullptr;
        value = std::strtod(number.c_str(), &end);
        if (number.empty() || is_blank(number[0]) || end != number.c_str() + number.size()) {
            throw InputError(message(source_, ", line ", line_, ", column ", column + colon + 1,
                                     ": expected a number after ':' (write \\: for a colon in a name), found '", number,
                                     "'"));
        }
    }
    items.attributes.push_back({unescaped(field.substr(0, colon)), value});
}

}  // namespace sparsecrf
