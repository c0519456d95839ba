// A model, and the two ways to label with it. All labelling, from Python, C or a browser, goes through Model.
//
//   one or a few sequences of tokens   with_session: read the tokens, then call Session::label
//   many sequences                     chain(), for a corpus: labels, marginals, n-best; label_text, for text files
//
// Both accept constraints.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/idle_pool.hpp"
#include "core/inference/chain.hpp"
#include "core/inference/contributions.hpp"
#include "core/inference/one_by_one.hpp"
#include "core/model/model_file.hpp"
#include "core/text/text_encoder.hpp"
#include "core/text/token_encoder.hpp"

namespace sparsecrf {

struct LabelOptions {
    std::int64_t nbest = 1;                    // labellings per sequence
    bool headers = false;                      // write a line "# rank probability score" before each labelling
    bool probability = false;                  // write the marginal probability after each label
    bool distribution = false;                 // write all labels as label:probability, most probable first
    bool force = false;                        // keep a label in the file if the model contains it
    bool token_scores = false;                 // write the score of its position after each label
    bool bytes = false;                        // columns are arbitrary bytes instead of UTF-8 text
    bool ragged = false;                       // lines may differ in their number of columns, see ColumnOptions
    std::vector<std::uint8_t> forbidden;       // [Y + 1, Y] forbidden pairs, or empty
    std::vector<std::uint8_t> forbidden_last;  // [Y] labels that must not end a sequence, or empty
};

class Model;

// A session for labelling tokens, used by one thread at a time. It caches word ids and tables of label pairs between
// calls. The model must outlive it.
class Session {
   public:
    explicit Session(const Model& model);

    // Reads sequences without adding to any table.
    TokenEncoder& encoder() { return encoder_; }
    // The concatenated best labels of all sequences read so far, which are then discarded.
    std::vector<std::int32_t> label(const Constraints& constraints);

   private:
    const Chain& chain_;
    TokenEncoder encoder_;
    OneByOne decoder_;                   // labels sequences of attributes
    std::unique_ptr<RowLabeller> rows_;  // for rows; null if labelling them needs a corpus
};

// Thread-safe: nothing changes after construction except caches protected by mutexes and an atomic count.
class Model {
   public:
    explicit Model(ModelParts parts);
    // `file`: the content of a model file, not needed after construction; `source` names it in errors.
    Model(std::span<const std::byte> file, const std::string& source, Check check = Check::everything)
        : Model(read_whole_model(file, source, check)) {}
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;
    // Throws FileError if the file cannot be read and InputError if it is not a valid model.
    static std::shared_ptr<const Model> open(const std::filesystem::path& path, const std::string& source);

    const ModelParts& parts() const { return parts_; }  // without the weights, which are in the chain
    // For corpora, on the calling thread.
    const Chain& chain() const { return chain_; }
    // Labels rows of columns. Null if labelling needs a corpus: there is no template, or the model uses more than
    // attribute scores.
    std::unique_ptr<RowLabeller> row_labeller() const;
    // The number of sequences so far that were labelled from a corpus because rounding errors in the merged sums
    // (RowLabeller) could have changed their best labels.
    std::int64_t n_repeated() const { return n_repeated_; }
    // The number of dense values that the caller must provide for each token; 0 if none.
    std::int64_t vector_width() const { return parts_.vectors ? 0 : static_cast<std::int64_t>(parts_.mean.size()); }

    // Calls work(session) with a session that no other thread uses.
    template <class Work>
    auto with_session(Work work) const {
        std::unique_ptr<Session> session = sessions_.take([&] { return std::make_unique<Session>(*this); });
        auto answer = work(*session);  // a session is not returned to the pool if this throws
        sessions_.give_back(std::move(session));
        return answer;
    }
    // Labels complete sequences of a text file. If the model has a template, the file is a column file, and each line
    // is written with the label as an additional column. Otherwise it is a CRFsuite file, and each line contains the
    // label in the file and the predicted label. The output for a sequence depends only on that sequence, unless two
    // labellings tie within rounding errors. n_columns: columns per line (0: taken from the first line); line: number
    // of the first line. Throws if tokens need vectors, which text files do not contain.
    std::string label_text(std::string_view piece, const std::string& source, std::int64_t n_columns, std::int64_t line,
                           const LabelOptions& options) const;

    // Writes complete records, in one of the formats of record_reader, with their best labels. nullopt if a record is
    // not plain or does not match the model, or if the model needs a corpus.
    std::optional<std::string> label_records(std::string_view piece, std::string_view format, std::string_view field,
                                             std::int64_t line) const;

   private:
    static constexpr std::size_t kLargePiece = 1 << 20;  // bytes; labellers of larger pieces are not reused, because
                                                         // they keep their memory

    std::optional<std::string> label_rows(std::string_view piece, const std::string& source, std::int64_t n_columns,
                                          std::int64_t line, const LabelOptions& options) const;

    ModelParts parts_;
    Chain chain_;
    mutable std::atomic<std::int64_t> n_repeated_ = 0;
    mutable IdlePool<Session> sessions_;
    mutable IdlePool<TextEncoder> text_encoders_;  // cache the word ids of earlier pieces
    mutable IdlePool<RowLabeller> row_labellers_;  // cache the scores of words
};

// A sequence, built token by token, and queries on it. Only one thread may use it at a time.
class Sequence {
   public:
    explicit Sequence(std::shared_ptr<const Model> model) : model_(std::move(model)) {}

    const Model& model() const { return *model_; }
    // Removes all tokens.
    void clear();
    // Adds an attribute to the current token, or a column if the model has a template. Throws unless it is UTF-8.
    void add(std::string_view text, double value);
    // Sets the vector of the current token, if the model takes vectors. Throws if the model takes none, the width is
    // wrong, or a value is not finite.
    void add_vector(std::span<const double> values);
    // Completes the token. Throws, and discards the token, if it has too few columns or a different number than the
    // first token, or if its vector is missing.
    void end_token();
    // Discards everything added since the last complete token.
    void forget_token();
    std::int64_t length() const { return n_tokens_; }

    // Best labels; labels: [T]
    void label(std::span<std::int32_t> labels) const;
    // P(y_t = y); out: [T, Y]
    void marginals(std::span<double> out) const;
    double log_partition() const;
    // The k best labellings, best first; fewer if fewer exist.
    std::vector<Labelling> nbest(std::int64_t k) const;
    std::vector<Contribution> contributions(std::span<const std::int32_t> labels) const;

   private:
    void check_token() const;
    // Passes the tokens to a session.
    void read_into(TokenEncoder& encoder) const;
    const Corpus& corpus() const;

    std::shared_ptr<const Model> model_;
    TokenText tokens_;            // complete tokens, and the entries of the current one
    std::vector<float> vectors_;  // [T, vector_width()] standardized
    std::int64_t n_tokens_ = 0;
    mutable Corpus corpus_;  // corpus of tokens_, valid if `encoded_`
    mutable bool encoded_ = false;
};

}  // namespace sparsecrf
