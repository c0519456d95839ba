#include "core/text/labeller.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/error.hpp"
#include "core/base/number.hpp"

namespace sparsecrf {
namespace {

// What the options and, with `force`, the labels of the corpus leave possible.
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

// Writes labellings of the sequences of a corpus.
struct Writer {
    const StringTable& labels;
    const std::vector<std::string_view>& lines;  // [P]
    const LabelOptions& options;
    const std::vector<double>& p;      // [P, Y] or empty
    bool columns;                      // lines are those of a column file
    std::vector<double> token_scores;  // [P] of the labelling that is written, or empty
    std::string out;

    // New columns are set off as the line's own are.
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

}  // namespace

Labeller::Labeller(std::shared_ptr<const Template> lines, std::shared_ptr<const StringTable> attributes,
                   std::shared_ptr<const StringTable> labels, std::shared_ptr<const Chain> chain, bool start,
                   std::string bias, std::int64_t observed, std::shared_ptr<const WordVectors> vectors)
    : lines_(std::move(lines)),
      attributes_(std::move(attributes)),
      labels_(std::move(labels)),
      chain_(std::move(chain)),
      start_(start),
      bias_(std::move(bias)),
      observed_(observed),
      vectors_(std::move(vectors)) {}

std::unique_ptr<TextEncoder> Labeller::take_encoder() const {
    const std::unique_lock lock(idle_->mutex, std::try_to_lock);
    if (!lock || idle_->encoders.empty()) {
        return std::make_unique<TextEncoder>(Names(attributes_), Names(labels_), start_, std::string(), false,
                                             WordRows(vectors_), 1, &chain_->features());
    }
    std::unique_ptr<TextEncoder> encoder = std::move(idle_->encoders.back());
    idle_->encoders.pop_back();
    return encoder;
}

void Labeller::give_back(std::unique_ptr<TextEncoder> encoder) const {
    const std::unique_lock lock(idle_->mutex, std::try_to_lock);
    if (lock && idle_->encoders.size() < kMostIdle) idle_->encoders.push_back(std::move(encoder));
}

Labeller::Batch Labeller::read(std::string_view piece, const std::string& source, std::int64_t n_columns,
                               std::int64_t line, const LabelOptions& options) const {
    Batch batch;
    std::unique_ptr<TextEncoder> taken = take_encoder();  // one that throws is not used again
    TextEncoder& encoder = *taken;
    if (lines_) {
        const ColumnOptions columns{options.bytes, options.ragged, encoder.n_needed(*lines_), options.force};
        ColumnReader reader(source, n_columns, line, columns);
        reader.open(piece);
        const auto is_labelled = [&](const Rows& rows, const std::string& where) {
            return check(rows, options, where);
        };
        encoder.add(reader, lines_, is_labelled, [&](const Rows& rows) {
            batch.first_line.push_back(rows.first_line);
            batch.lines.insert(batch.lines.end(), rows.lines.begin(), rows.lines.end());
        });
    } else {
        CrfsuiteReader reader(source, line);
        reader.open(piece);
        Items items;
        while (reader.next(items)) {
            encoder.add(items, bias_, &chain_->features());
            batch.first_line.push_back(items.first_line);
            batch.own.insert(batch.own.end(), items.labels.begin(), items.labels.end());
        }
        batch.lines.assign(batch.own.begin(), batch.own.end());
    }
    if (encoder.n_sequences() > 0) batch.corpus = encoder.build();
    if (piece.size() <= kLargePiece) give_back(std::move(taken));
    return batch;
}

bool Labeller::check(const Rows& rows, const LabelOptions& options, const std::string& where) const {
    lines_->check_is_text(rows, where);
    if (options.ragged) return options.force;  // what there is was checked line by line
    lines_->check_columns(rows.n_columns, where);
    if (observed_ > 0 && rows.n_columns != observed_ && rows.n_columns != observed_ + 1) {
        throw InputError(message(where, ": expected ", observed_, observed_ == 1 ? " column" : " columns",
                                 " of observations as in training, and perhaps a label, found ", rows.n_columns,
                                 rows.n_columns == 1 ? " column" : " columns", kOneTokenALine));
    }
    // A model that takes any number of columns cannot tell whether the last one is a label, unless told so.
    const bool labelled = observed_ > 0 ? rows.n_columns > observed_ : options.force;
    if (options.force && rows.n_columns <= std::max(observed_, lines_->n_columns())) {
        throw InputError(message(where, ": expected a column of labels after the observations, found ", rows.n_columns,
                                 rows.n_columns == 1 ? " column" : " columns"));
    }
    return labelled;
}

std::string Labeller::label(std::string_view piece, const std::string& source, std::int64_t n_columns,
                            std::int64_t line, const LabelOptions& options) const {
    const Batch batch = read(piece, source, n_columns, line, options);
    const Corpus& corpus = batch.corpus;
    if (corpus.n_sequences() == 0) return {};
    try {
        return write(batch, options);
    } catch (const UnsatisfiableError&) {
        // Which sequence it was is known to the corpus only; its line is what can be looked up.
        for (std::int64_t i = 0; i < corpus.n_sequences(); ++i) {
            const Corpus one = corpus.subset(std::span(&i, 1));
            std::vector<double> log_z(1);
            try {
                chain_->log_partition(one, constraints(one, options), log_z);
            } catch (const UnsatisfiableError& error) {
                throw UnsatisfiableError(
                    message(source, ", the sequence at line ", batch.first_line[i], ": ", error.what()));
            }
        }
        throw;
    }
}

std::string Labeller::write(const Batch& batch, const LabelOptions& options) const {
    const Corpus& corpus = batch.corpus;
    const Constraints limits = constraints(corpus, options);
    const auto tokens = static_cast<std::size_t>(corpus.n_tokens());
    const auto sequences = static_cast<std::size_t>(corpus.n_sequences());
    std::vector<double> p(options.probability || options.distribution ? tokens * labels_->size() : 0);
    if (!p.empty()) chain_->marginals(corpus, limits, p);
    std::vector<double> log_z(options.headers ? sequences : 0);
    if (options.headers) chain_->log_partition(corpus, limits, log_z);

    Writer writer{*labels_, batch.lines, options, p, lines_ != nullptr, {}, {}};
    const auto write_path = [&](std::size_t i, std::size_t rank, std::span<const std::int32_t> path, double score) {
        if (options.headers) writer.header(rank, std::min(0.0, score - log_z[i]), score);
        writer.sequence(corpus.offsets[i], path);
    };
    const auto score_tokens = [&](const Corpus& of, std::span<const std::int32_t> path) {
        if (!options.token_scores) return std::vector<double>();
        std::vector<double> scores(path.size());
        chain_->token_scores(of, path, scores);
        return scores;
    };
    if (options.nbest > 1) {
        const auto all = chain_->nbest(corpus, options.nbest, limits);
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
        chain_->viterbi(corpus, limits, path, score);
        writer.token_scores = score_tokens(corpus, path);
        for (std::size_t i = 0; i < sequences; ++i) {
            const auto length = static_cast<std::size_t>(corpus.length(static_cast<std::int64_t>(i)));
            write_path(i, 0, std::span(path).subspan(static_cast<std::size_t>(corpus.offsets[i]), length), score[i]);
        }
    }
    return std::move(writer.out);
}

}  // namespace sparsecrf
