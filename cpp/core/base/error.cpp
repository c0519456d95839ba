#include "core/base/error.hpp"

#include <sstream>

namespace sparsecrf {

std::string joined(std::initializer_list<Piece> pieces) {
    std::ostringstream out;
    for (const Piece& piece : pieces) {
        switch (piece.kind_) {
            case Piece::Kind::text:
                out << piece.text_;
                break;
            case Piece::Kind::character:
                out << piece.character_;
                break;
            case Piece::Kind::whole:
                out << piece.whole_;
                break;
            case Piece::Kind::natural:
                out << piece.natural_;
                break;
            case Piece::Kind::real:
                out << piece.real_;
                break;
        }
    }
    return out.str();
}

}  // namespace sparsecrf
