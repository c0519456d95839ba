#include "core/text/text_encoder.hpp"

#include <exception>
#include <utility>

#include "core/base/error.hpp"

namespace sparsecrf {

std::int32_t TextEncoder::label(std::string_view text) {
    if (!missing_.empty() && text == missing_) return kMissing;
    if (!between_labels_.empty() && text.find(between_labels_) != std::string_view::npos) return label_set(text);
    return static_cast<std::int32_t>(labels_.id(text));  // Names::kUnknown is kMissing
}
static_assert(Names::kUnknown == kMissing);

std::int32_t TextEncoder::label_set(std::string_view text) {
    std::vector<std::int32_t> ids;
    bool all_known = true;
    for (std::size_t begin = 0, end = 0; end != std::string_view::npos; begin = end + between_labels_.size()) {
        end = text.find(between_labels_, begin);
        const std::string_view name = text.substr(begin, end == std::string_view::npos ? end : end - begin);
        if (name.empty() || name == missing_) {
            throw InputError("expected labels on both sides of '", between_labels_, "', found '", text, "'");
        }
        const std::int64_t id = labels_.id(name);
        all_known &= id != Names::kUnknown;
        ids.push_back(static_cast<std::int32_t>(id));
    }
    // The correct label may be the unknown one, so the token must not be restricted to the known labels.
    return all_known ? sequences_.builder().label_set(std::move(ids)) : kMissing;
}

void TextEncoder::read_labels(const Rows& rows, const ColumnReader& reader) {
    std::int64_t t = 0;
    try {
        for (; t < rows.length; ++t) {
            const std::string_view name = rows.cell(t, rows.n_columns - 1);
            labels_of_.push_back({rows.is_text ? label(name) : label(escaped({&name, 1}))});
        }
    } catch (const InputError& error) {
        throw InputError(reader.where(rows.first_line + t), ": ", error.what());
    }
}

void TextEncoder::add(ColumnReader& reader, const std::shared_ptr<const Template>& lines) {
    const auto is_labelled = [&](const Rows& rows, const std::string& where) {
        lines->check_is_text(rows, where);
        lines->check_columns(rows.n_columns - 1, where);
        return true;
    };
    add(reader, lines, is_labelled, [](const Rows&) {});
}

void TextEncoder::add(ColumnReader& reader, const std::shared_ptr<const Template>& lines, const IsLabelled& is_labelled,
                      const Note& note) {
    sequences_.set_bias({});
    std::int64_t checked = -1;  // number of columns of the last sequence that passed the check
    bool labelled = false;
    std::exception_ptr error;
    for (bool more = true; more;) {
        std::size_t n = 0;
        std::int64_t tokens = 0;
        labels_of_.clear();
        try {
            while (tokens < sequences_.batch_tokens()) {
                if (n == batch_.size()) batch_.emplace_back();
                Rows& rows = batch_[n];
                more = reader.next(rows);
                if (!more) break;
                if (rows.n_columns != checked || !rows.is_text) {
                    const std::string where = reader.where(rows.first_line);
                    labelled = is_labelled(rows, where);
                    sequences_.check_word_column(rows.n_columns - (labelled ? 1 : 0), where);
                    checked = rows.n_columns;
                }
                if (labelled) read_labels(rows, reader);
                note(rows);
                tokens += rows.length;
                ++n;
            }
        } catch (...) {
            error = std::current_exception();
            more = false;
        }
        if (!labelled) labels_of_.resize(static_cast<std::size_t>(tokens));
        sequences_.add_rows({lines, std::span(batch_).first(n), labels_of_, {}, labelled ? 1 : 0});
    }
    if (error) std::rethrow_exception(error);
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
        try {
            return {label(items.labels[t])};
        } catch (const InputError& error) {
            throw InputError("the sequence at line ", items.first_line, ", position ", t, ": ", error.what());
        }
    });
}

}  // namespace sparsecrf
