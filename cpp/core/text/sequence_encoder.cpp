#include "core/text/sequence_encoder.hpp"

namespace sparsecrf {

void SequenceEncoder::expand(const Template& lines, const Rows& rows, std::int64_t t) {
    made_.resize(static_cast<std::size_t>(lines.size()));
    // All hashes before the first look-up: the memory that look-ups need is on its way when they come.
    for (std::int64_t k = 0; k < lines.size(); ++k) {
        lines.expand(k, rows, values_, t, made_[k]);
        attributes_.prefetch(made_[k].hash);
    }
    for (std::int64_t k = 0; k < lines.size(); ++k) {
        const Template::Kind kind = lines.kind(k);
        const bool labels = kind == Template::Kind::unigram || kind == Template::Kind::both;
        if (!labels && !pairs_) continue;
        const std::int64_t id = attributes_.id(made_[k].parts, made_[k].hash);
        if (id == Names::kUnknown) continue;
        const Attribute attribute{static_cast<std::uint32_t>(id), 1.0};
        if (labels) unigram_.push_back(attribute);
        if (kind != Template::Kind::unigram && pairs_) bigram_.push_back(attribute);
    }
}

}  // namespace sparsecrf
