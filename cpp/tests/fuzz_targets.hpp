// The targets of fuzz.cpp: functions that accept any bytes and return or throw InputError.
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <stdexcept>

#include "core/base/inflate.hpp"
#include "core/base/json.hpp"
#include "core/base/utf8.hpp"
#include "core/model/model.hpp"
#include "core/text/crfsuite_model.hpp"
#include "world.hpp"

namespace sparsecrf::tests {

inline std::vector<std::vector<std::string>> all_rows(std::string_view text, std::int64_t line, std::int64_t& n_columns,
                                                      const ColumnOptions& options = {}) {
    ColumnReader reader("input", n_columns, line, options);
    reader.open(text);
    std::vector<std::vector<std::string>> found;
    Rows rows;
    while (reader.next(rows)) {
        auto& cells = found.emplace_back();
        for (const HashedText& cell : rows.cells) cells.emplace_back(cell.text);
    }
    n_columns = reader.n_columns();
    return found;
}

// A column file has the same sequences whether it is read in one piece or in two.
inline void in_pieces(std::string_view text, const ColumnOptions& options) {
    std::int64_t n_whole = 0, n_cut = 0;
    const auto whole = all_rows(text, 1, n_whole, options);
    const std::size_t cut = whole_sequences(text.substr(0, text.size() / 2));
    auto parts = all_rows(text.substr(0, cut), 1, n_cut, options);
    for (auto& rows : all_rows(text.substr(cut), cut == 0 ? 1 : 2, n_cut, options)) parts.push_back(std::move(rows));
    if (parts != whole) throw std::logic_error("a file in two pieces has different sequences");
}

inline void columns(std::string_view text) { in_pieces(text, {}); }

// Column files with options in the bits of the first byte: 1 any bytes, 2 ragged, 4 labels are given, 8 word functions,
// 16 and 32 number of columns needed. The file is read, encoded, and labelled with a model.
inline void column_options(std::string_view text) {
    static const World world(20), world_of_functions(20, kFunctions);
    const unsigned bits = text.empty() ? 0 : static_cast<unsigned char>(text[0]);
    text = text.substr(std::min<std::size_t>(1, text.size()));
    const World& used = (bits & 8) != 0 ? world_of_functions : world;
    const ColumnOptions options{(bits & 1) != 0, (bits & 2) != 0, bits >> 4 & 3, (bits & 4) != 0};
    try {
        in_pieces(text, options);
    } catch (const InputError&) {
    }
    LabelOptions asked;
    asked.bytes = options.bytes;
    asked.ragged = options.ragged;
    asked.force = options.labelled;
    asked.token_scores = asked.probability = true;
    try {
        static const Model plain = world.model(), of_functions = world_of_functions.model();
        ((bits & 8) != 0 ? of_functions : plain).label_text(text, "input", 0, 1, asked);
    } catch (const InputError&) {
    }
    TextEncoder encoder(Names(std::make_shared<StringTable>(), true), Names(std::make_shared<StringTable>(), true),
                        true);
    ColumnReader reader("input", 0, 1, {options.bytes, options.ragged, used.lines->n_columns(), true});
    reader.open(text);
    encoder.add(reader, used.lines);
    if (encoder.n_sequences() > 0) encoder.build();
}

inline void crfsuite(std::string_view text) {
    static const World world(20);
    static const Model model = world.model(true);
    CrfsuiteReader reader("input");
    reader.open(text);
    Items items;
    while (reader.next(items)) {
    }
    model.label_text(text, "input", 0, 1, LabelOptions{});
}

inline void expand_all(const Template& lines, const Rows& rows) {
    lines.check_columns(rows.n_columns, "rows");
    Expansion made;
    WordValues values = lines.values();
    values.read(rows);
    for (std::int64_t t = 0; t < rows.length; ++t) {
        for (std::int64_t k = 0; k < lines.size(); ++k) {
            lines.expand(k, rows, values, t, made);
            std::string whole;
            for (const std::string_view part : made.parts) whole += part;
            if (TextHash(whole).value != made.hash.value) throw std::logic_error("not the hash of the text");
        }
    }
}

inline void template_file(std::string_view text) {
    ColumnReader reader("rows");
    reader.open("Ada NNP\nsaw VBD\nZürich-Oerlikon NNP\n1984 CD\n");
    Rows rows;
    reader.next(rows);
    const Dialect dialect = text.starts_with('\t') ? Dialect::wapiti : Dialect::crfpp;
    const bool bytes = dialect == Dialect::wapiti;
    expand_all(Template(std::string(text.substr(text.starts_with('\t'))), dialect, "input", bytes), rows);
}

// An expression, a line feed, and the text to search.
inline void regex(std::string_view text) {
    if (utf8_error(text) != text.npos) throw InputError("expected UTF-8");
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::optional<Regex::Error> error;
    const Regex made(text.substr(0, end), error);
    if (error) throw InputError(error->what);
    const std::string_view searched = text.substr(std::min(end + 1, text.size()));
    const Regex::Match match = made.search(searched);
    if (match.begin + match.length > searched.size()) throw std::logic_error("a match beyond the text");
    if (utf8_error(searched.substr(match.begin, match.length)) != searched.npos) throw std::logic_error("a cut match");
}

inline void label(std::string_view text) {
    static const World world(20);
    static const Model model = world.model();
    LabelOptions options;
    model.label_text(text, "input", 0, 1, options);
    options.headers = options.distribution = options.force = true;
    options.nbest = 3;
    model.label_text(text, "input", 0, 1, options);
}

// A binary CRFsuite model: reads a slice for some attributes, then all of it.
inline void crfsuite_model(std::string_view text) {
    static const StringTable names = [] {
        StringTable made;
        for (const char* name : {"w=a", "w", "é", "[bias]", "unknown"}) made.intern(name);
        return made;
    }();
    const CrfsuiteModel model(text, "input");
    if (model.has_tables()) {
        CrfsuiteModel::Slice slice = model.slice(names, "[bias]");
        Chain(slice.features, std::move(slice.w), Kernel::automatic, 1);
    }
    model.whole("[bias]");
}

// Labels a sentence with a model file. The digest is not checked, because fuzzed inputs would rarely match it.
inline void model(std::string_view file) {
    std::vector<std::uint64_t> aligned((file.size() + 7) / 8);
    if (!file.empty()) std::memcpy(aligned.data(), file.data(), file.size());
    const auto bytes = std::as_bytes(std::span(aligned)).first(file.size());
    Sequence sequence(std::make_shared<const Model>(bytes, "input", Check::structure));
    for (const char* word : {"Ada", "1984", "z"}) {
        sequence.add(word, 1.0);
        sequence.add("NNP", 1.0);
        sequence.end_token();
    }
    std::vector<std::int32_t> labels(3);
    sequence.label(labels);
    const Model& made = sequence.model();
    if (made.parts().features->n_ngram() == 0) sequence.contributions(labels);
    made.label_text(made.parts().lines ? "a b\n" : "O\ta\n", "text", 0, 1, LabelOptions{});
}

inline void unpacked(std::string_view packed) { inflate(packed, 1 << 20); }

inline void json(std::string_view text) {
    const Json made = parse_json(text);
    std::string ascii;
    for (const std::string& name : made.names) append_json(name, true, ascii);
    for (std::size_t k = 0; k < made.names.size(); ++k) {
        if (made.find(made.names[k]) != &made.items[k]) throw std::logic_error("a different member with this name");
    }
}

inline const std::map<std::string, std::function<void(std::string_view)>> kTargets{{"columns", columns},
                                                                                   {"column_options", column_options},
                                                                                   {"crfsuite", crfsuite},
                                                                                   {"template", template_file},
                                                                                   {"regex", regex},
                                                                                   {"label", label},
                                                                                   {"crfsuite_model", crfsuite_model},
                                                                                   {"model", model},
                                                                                   {"json", json},
                                                                                   {"inflate", unpacked}};

}  // namespace sparsecrf::tests
