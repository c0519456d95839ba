#include "core/text/text_encoder.hpp"

namespace sparsecrf {

std::int32_t TextEncoder::label(std::string_view name) const {
    if (!missing_.empty() && name == missing_) return kMissing;
    return static_cast<std::int32_t>(labels_.id(name));  // Names::kUnknown is kMissing
}
static_assert(Names::kUnknown == kMissing);

void TextEncoder::add(const Rows& rows, const Template& lines, bool labelled) {
    sequences_.set_bias({});
    sequences_.read(lines, rows, rows.n_columns - (labelled ? 1 : 0));
    sequences_.add_sequence(1.0, rows.length, [&](std::int64_t t) -> SequenceEncoder::Label {
        sequences_.expand(lines, rows, t);
        if (!labelled) return {};
        const std::string_view name = rows.cell(t, rows.n_columns - 1);
        return {rows.is_text ? label(name) : label(escaped({&name, 1}))};
    });
}

void TextEncoder::add(const Items& items, std::string_view bias, const FeatureSet* features) {
    sequences_.set_bias(bias);
    sequences_.add_sequence(items.weight, items.length(), [&](std::int64_t t) -> SequenceEncoder::Label {
        for (std::int64_t k = items.ptr[t]; k < items.ptr[t + 1]; ++k) {
            const std::int64_t found = sequences_.attributes().id(items.attributes[k].name);
            if (found == Names::kUnknown) continue;
            const auto id = static_cast<std::uint32_t>(found);
            const bool conditions = features != nullptr && features->conditions_pairs(id);
            sequences_.add(id, items.attributes[k].value, conditions);
        }
        return {label(items.labels[t])};
    });
}

}  // namespace sparsecrf
