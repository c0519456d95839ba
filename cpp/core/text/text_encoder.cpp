#include "core/text/text_encoder.hpp"

#include <exception>

namespace sparsecrf {

void Expander::expand(const Template& lines, const Rows& rows, std::int64_t t, std::vector<Attribute>& unigram,
                      std::vector<Attribute>& bigram) {
    made_.resize(static_cast<std::size_t>(lines.size()));
    const bool pairs = t > 0 || start_;
    // All hashes before the first look-up: the memory that look-ups need is on its way when they come.
    for (std::int64_t k = 0; k < lines.size(); ++k) {
        lines.expand(k, rows, t, made_[k]);
        attributes_.prefetch(made_[k].hash);
    }
    for (std::int64_t k = 0; k < lines.size(); ++k) {
        const Template::Kind kind = lines.kind(k);
        if (kind == Template::Kind::bigram && !pairs) continue;
        const std::int64_t id = attributes_.id(made_[k].parts, made_[k].hash);
        if (id == Names::kUnknown) continue;
        const Attribute attribute{static_cast<std::uint32_t>(id), 1.0};
        if (kind != Template::Kind::bigram) unigram.push_back(attribute);
        if (kind != Template::Kind::unigram && pairs) bigram.push_back(attribute);
    }
}

std::int32_t TextEncoder::label(std::string_view name) const {
    if (!missing_.empty() && name == missing_) return kMissing;
    return static_cast<std::int32_t>(labels_.id(name));  // Names::kUnknown is kMissing
}
static_assert(Names::kUnknown == kMissing);

// One sequence being added. An error in the middle of it leaves no trace of it.
struct TextEncoder::Sequence {
    Sequence(TextEncoder& owner, double weight) : encoder(owner) {
        encoder.unigram_.clear();
        encoder.bigram_.clear();
        encoder.builder_.begin_sequence(weight);
    }
    ~Sequence() {
        if (std::uncaught_exceptions() > before) encoder.builder_.abandon_sequence();
    }
    Sequence(const Sequence&) = delete;
    Sequence& operator=(const Sequence&) = delete;

    TextEncoder& encoder;
    int before = std::uncaught_exceptions();
};

void TextEncoder::add(const Rows& rows, const Template& lines, bool labelled) {
    const Sequence sequence(*this, 1.0);
    for (std::int64_t t = 0; t < rows.length; ++t) {
        expander_.expand(lines, rows, t, unigram_, bigram_);
        builder_.add_position(unigram_, bigram_, labelled ? label(rows.cell(t, rows.n_columns - 1)) : kMissing);
    }
    builder_.end_sequence();
}

void TextEncoder::add(const Items& items, std::string_view bias, const FeatureSet* features) {
    const Names& attributes = expander_.attributes();
    const std::int64_t plain = bias.empty() ? Names::kUnknown : attributes.id(bias);
    const Sequence sequence(*this, items.weight);
    for (std::int64_t t = 0; t < items.length(); ++t) {
        const bool pairs = t > 0 || expander_.start();
        for (std::int64_t k = items.ptr[t]; k < items.ptr[t + 1]; ++k) {
            const std::int64_t id = attributes.id(items.attributes[k].name);
            if (id == Names::kUnknown) continue;
            const Attribute attribute{static_cast<std::uint32_t>(id), items.attributes[k].value};
            unigram_.push_back(attribute);
            const bool conditions = features != nullptr && !features->bigram_pairs_of(attribute.id).empty();
            if (pairs && conditions && id != plain) bigram_.push_back(attribute);
        }
        if (plain != Names::kUnknown && pairs) bigram_.push_back({static_cast<std::uint32_t>(plain), 1.0});
        builder_.add_position(unigram_, bigram_, label(items.labels[t]));
    }
    builder_.end_sequence();
}

}  // namespace sparsecrf
