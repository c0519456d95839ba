#include "core/model/model.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "core/base/error.hpp"
#include "core/base/number.hpp"
#include "core/text/columns.hpp"
#include "core/text/crfsuite_text.hpp"

namespace sparsecrf {
namespace {

// The constraints from the options and, with `force`, from the labels of the corpus.
Constraints constraints(const Corpus& corpus, const LabelOptions& options) {
    Constraints made;
    made.forbidden = options.forbidden;
    if (options.force) made.fixed.assign(corpus.labels.begin(), corpus.labels.end());
    if (!options.forbidden_last.empty()) {
        const auto Y = static_cast<std::size_t>(corpus.n_labels);
        if (options.forbidden_last.size() != Y) {
            throw InputError(message("forbidden_last: expected ", Y, " flags, found ", options.forbidden_last.size()));
        }
        made.allowed.assign(static_cast<std::size_t>(corpus.n_tokens()) * Y, 1);
        for (std::int64_t i = 0; i < corpus.n_sequences(); ++i) {
            const std::size_t last = static_cast<std::size_t>(corpus.offsets[i + 1] - 1) * Y;
            for (std::size_t y = 0; y < Y; ++y) made.allowed[last + y] = options.forbidden_last[y] == 0;
        }
    }
    return made;
}

// Writes the label sequences of a corpus.
struct Writer {
    const StringTable& labels;
    const std::vector<std::string_view>& lines;  // [P]
    const LabelOptions& options;
    const std::vector<double>& p;      // [P, Y] or empty
    bool columns;                      // whether the file is a column file
    std::vector<double> token_scores;  // [P] scores of the labelling being written, or empty
    std::string out;

    // The separator to write before new columns: the one that the line uses.
    char separator(std::string_view line) const {
        return columns && line.find('\t') == std::string_view::npos ? ' ' : '\t';
    }

    void header(std::size_t rank, double log_prob, double score) {
        out += "# " + std::to_string(rank);
        out += ' ';
        append_number(out, std::exp(log_prob), Digits::significant, 6);
        out += ' ';
        append_number(out, score, Digits::after_point, 6);
        out += '\n';
    }

    // Writes only lines and labels. endings: [2, Y] separator (space or tab), label and line feed.
    void plain_sequence(std::span<const std::string> endings, std::span<const std::int32_t> path) {
        std::size_t most = 1;
        for (const std::string_view line : lines) most += line.size();
        for (const std::int32_t y : path) most += endings[static_cast<std::size_t>(y)].size();
        const std::size_t before = out.size();
        if (out.capacity() < before + most) out.reserve(2 * (before + most));
        out.resize(before + most);
        char* at = out.data() + before;
        const auto write = [&](std::string_view text) {
            std::memcpy(at, text.data(), text.size());
            at += text.size();
        };
        for (std::size_t t = 0; t < path.size(); ++t) {
            const bool tab = std::memchr(lines[t].data(), '\t', lines[t].size()) != nullptr;
            write(lines[t]);
            write(endings[static_cast<std::size_t>(path[t]) + (tab ? labels.size() : 0)]);
        }
        write("\n");
    }

    void sequence(std::int64_t first, std::span<const std::int32_t> path) {
        for (std::size_t t = 0; t < path.size(); ++t) {
            const std::size_t position = static_cast<std::size_t>(first) + t;
            out += lines[position];
            const char between = separator(lines[position]);
            out += between;
            out += labels[static_cast<std::uint32_t>(path[t])];
            if (!token_scores.empty()) {
                out += between;
                append_number(out, token_scores[position], Digits::after_point, 6);
            }
            if (!p.empty()) distribution(&p[position * labels.size()], path[t], between);
            out += '\n';
        }
        out += '\n';
    }

    void distribution(const double* row, std::int32_t chosen, char between) {
        out += between;
        append_number(out, row[chosen], Digits::after_point, 6);
        if (!options.distribution) return;
        std::vector<std::uint32_t> order(labels.size());
        std::iota(order.begin(), order.end(), 0u);
        std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return row[a] > row[b]; });
        for (const std::uint32_t y : order) {
            out += between;
            out += labels[y];
            out += ':';
            append_number(out, row[y], Digits::after_point, 6);
        }
    }
};

// A piece of a file.
struct TextPiece {
    const ModelParts& model;
    const Chain& chain;
    const std::string& source;
    const LabelOptions& options;
    // Its sequences, with the text to write before each label.
    Corpus corpus = {};
    std::vector<std::string_view> lines = {};   // [P]
    std::vector<std::string> own = {};          // [P] storage of `lines` that are not views of the input
    std::vector<std::int64_t> first_line = {};  // [N] number of the first line of each sequence

    void read(std::string_view piece, std::int64_t n_columns, std::int64_t line, TextEncoder& encoder);
    // Returns whether the last column of the rows is a label. Throws if the rows do not match the model.
    bool check(const Rows& rows, const std::string& where) const;
    std::string labelled() const;
    std::string write() const;
};

void TextPiece::read(std::string_view piece, std::int64_t n_columns, std::int64_t line, TextEncoder& encoder) {
    if (model.lines) {
        const ColumnOptions columns{options.bytes, options.ragged, encoder.n_needed(*model.lines), options.force};
        ColumnReader reader(source, n_columns, line, columns);
        reader.open(piece);
        const auto is_labelled = [&](const Rows& rows, const std::string& where) { return check(rows, where); };
        encoder.add(reader, model.lines, is_labelled, [&](const Rows& rows) {
            first_line.push_back(rows.first_line);
            lines.insert(lines.end(), rows.lines.begin(), rows.lines.end());
        });
    } else {
        CrfsuiteReader reader(source, line);
        reader.open(piece);
        Items items;
        while (reader.next(items)) {
            encoder.add(items, model.bias(), model.features.get());
            first_line.push_back(items.first_line);
            own.insert(own.end(), items.labels.begin(), items.labels.end());
        }
        lines.assign(own.begin(), own.end());
    }
    if (encoder.n_sequences() > 0) corpus = encoder.build();
}

bool TextPiece::check(const Rows& rows, const std::string& where) const {
    const std::int64_t observed = model.n_columns;
    model.lines->check_is_text(rows, where);
    if (options.ragged) return options.force;  // the number of columns was checked line by line
    model.lines->check_columns(rows.n_columns, where);
    if (observed > 0 && rows.n_columns != observed && rows.n_columns != observed + 1) {
        const bool twice = rows.n_columns == observed + 2;
        throw InputError(message(where, ": expected ", observed, observed == 1 ? " column" : " columns",
                                 " as in training, or one more with the label, found ", rows.n_columns,
                                 rows.n_columns == 1 ? " column" : " columns",
                                 twice ? " (has the file been labelled already?)" : kOneTokenALine));
    }
    // A model that accepts any number of columns cannot tell whether the last one is a label; `force` decides.
    const bool labelled = observed > 0 ? rows.n_columns > observed : options.force;
    if (options.force && rows.n_columns <= std::max(observed, model.lines->n_columns())) {
        throw InputError(message(where, ": expected a column of labels after the observations, found ", rows.n_columns,
                                 rows.n_columns == 1 ? " column" : " columns"));
    }
    return labelled;
}

std::string TextPiece::labelled() const {
    try {
        return write();
    } catch (const UnsatisfiableError&) {
        // The error does not name the line of the sequence, so find the sequence that caused it.
        for (std::int64_t i = 0; i < corpus.n_sequences(); ++i) {
            const Corpus one = corpus.subset(std::span(&i, 1));
            std::vector<double> log_z(1);
            try {
                chain.log_partition(one, constraints(one, options), log_z);
            } catch (const UnsatisfiableError& error) {
                throw UnsatisfiableError(message(source, ", the sequence at line ", first_line[i], ": ", error.what()));
            }
        }
        throw;
    }
}

std::string TextPiece::write() const {
    const Constraints limits = constraints(corpus, options);
    const auto tokens = static_cast<std::size_t>(corpus.n_tokens());
    const auto sequences = static_cast<std::size_t>(corpus.n_sequences());
    std::vector<double> p(options.probability || options.distribution ? tokens * model.labels->size() : 0);
    if (!p.empty()) chain.marginals(corpus, limits, p);
    std::vector<double> log_z(options.headers ? sequences : 0);
    if (options.headers) chain.log_partition(corpus, limits, log_z);

    Writer writer{*model.labels, lines, options, p, model.lines != nullptr, {}, {}};
    const auto write_path = [&](std::size_t i, std::size_t rank, std::span<const std::int32_t> path, double score) {
        if (options.headers) writer.header(rank, std::min(0.0, score - log_z[i]), score);
        writer.sequence(corpus.offsets[i], path);
    };
    const auto score_tokens = [&](const Corpus& of, std::span<const std::int32_t> path) {
        if (!options.token_scores) return std::vector<double>();
        std::vector<double> scores(path.size());
        chain.token_scores(of, path, scores);
        return scores;
    };
    if (options.nbest > 1) {
        const auto all = chain.nbest(corpus, options.nbest, limits);
        if (options.token_scores) writer.token_scores.resize(tokens);
        for (std::int64_t i = 0; i < corpus.n_sequences(); ++i) {
            const Corpus one = options.token_scores ? corpus.subset(std::span(&i, 1)) : Corpus();
            for (std::size_t k = 0; k < all[i].size(); ++k) {
                const auto scores = score_tokens(one, all[i][k].labels);
                std::copy(scores.begin(), scores.end(), writer.token_scores.begin() + corpus.offsets[i]);
                write_path(static_cast<std::size_t>(i), k, all[i][k].labels, all[i][k].score);
            }
        }
    } else {
        std::vector<std::int32_t> path(tokens);
        std::vector<double> score(sequences);
        chain.viterbi(corpus, limits, path, score);
        writer.token_scores = score_tokens(corpus, path);
        for (std::size_t i = 0; i < sequences; ++i) {
            const auto length = static_cast<std::size_t>(corpus.length(static_cast<std::int64_t>(i)));
            write_path(i, 0, std::span(path).subspan(static_cast<std::size_t>(corpus.offsets[i]), length), score[i]);
        }
    }
    return std::move(writer.out);
}

// Whether only the best labels are requested.
bool best_alone(const LabelOptions& options) {
    return options.nbest <= 1 && !options.headers && !options.probability && !options.distribution && !options.force &&
           !options.token_scores && options.forbidden.empty() && options.forbidden_last.empty();
}

}  // namespace

// Labels sequence by sequence without a corpus; nullopt if a corpus is needed.
std::optional<std::string> Model::label_rows(std::string_view piece, const std::string& source, std::int64_t n_columns,
                                             std::int64_t line, const LabelOptions& options) const {
    if (!best_alone(options)) return std::nullopt;
    std::unique_ptr<RowLabeller> labeller = row_labellers_.take([&] { return row_labeller(); });
    if (!labeller) return std::nullopt;
    ColumnReader reader(source, n_columns, line, {options.bytes, options.ragged, parts_.lines->n_columns(), false});
    reader.open(piece);
    const TextPiece piece_of_model{parts_, chain_, source, options};
    Rows rows;
    std::vector<std::int32_t> path;
    std::int64_t checked = -1;  // number of columns of the last sequence that passed the check
    const std::vector<double> no_marginals;
    Writer writer{*parts_.labels, rows.lines, options, no_marginals, true, {}, {}};
    writer.out.reserve(piece.size() + piece.size() / 2);
    std::vector<std::string> endings;
    for (const char separator : {' ', '\t'}) {
        for (std::uint32_t y = 0; y < parts_.labels->size(); ++y) {
            endings.push_back(separator + std::string((*parts_.labels)[y]) + '\n');
        }
    }
    KnownRows* const known = options.bytes || options.ragged ? nullptr : &labeller->known();
    while (reader.next(rows, known)) {
        if (rows.n_columns != checked || !rows.is_text) piece_of_model.check(rows, reader.where(rows.first_line));
        checked = rows.n_columns;
        path.clear();
        labeller->label(rows, path);
        writer.plain_sequence(endings, path);
    }
    if (piece.size() <= kLargePiece) row_labellers_.give_back(std::move(labeller));
    return std::move(writer.out);
}

std::string Model::label_text(std::string_view piece, const std::string& source, std::int64_t n_columns,
                              std::int64_t line, const LabelOptions& options) const {
    if (vector_width() > 0) {
        throw InputError(
            "label: text files need a model that contains word vectors (train --vectors, CRF(vectors=...)); the tokens "
            "of this model must come with vectors");
    }
    if (auto labelled = label_rows(piece, source, n_columns, line, options)) return std::move(*labelled);
    TextPiece read{parts_, chain_, source, options};
    // An encoder is not returned to the pool if it throws.
    std::unique_ptr<TextEncoder> encoder = text_encoders_.take([&] {
        return std::make_unique<TextEncoder>(Names(parts_.attributes), Names(parts_.labels), parts_.start,
                                             std::string(), std::string(), false, WordRows(parts_.vectors), 1,
                                             parts_.features.get());
    });
    read.read(piece, n_columns, line, *encoder);
    if (piece.size() <= kLargePiece) text_encoders_.give_back(std::move(encoder));
    return read.corpus.n_sequences() == 0 ? std::string() : read.labelled();
}

}  // namespace sparsecrf
