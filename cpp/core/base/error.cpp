#include "core/base/error.hpp"

#include <sstream>

namespace sparsecrf {

std::string joined(std::initializer_list<Piece> pieces) {
    std::ostringstream out;
    for (const Piece& piece : pieces) {
        std::visit([&](auto part) { out << part; }, piece);
    }
    return out.str();
}

}  // namespace sparsecrf
