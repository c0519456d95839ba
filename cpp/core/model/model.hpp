// A model: what it is made of, and the two ways to label with it. Everything that labels, in Python, in C and in a
// browser, asks a Model.
//
//   a sequence of tokens, or a few     with_session: the tokens are read, then Session::label answers
//   many sequences                     chain(), for a corpus: labels, marginals, n-best; label_text, for text files
//
// Both take constraints.
#pragma once

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
    std::int64_t nbest = 1;                    // labellings of each sequence
    bool headers = false;                      // before each labelling a line "# rank probability score"
    bool probability = false;                  // after each label its marginal probability
    bool distribution = false;                 // and all labels with theirs, likeliest first, as label:probability
    bool force = false;                        // labels in the file that the model knows are given
    bool token_scores = false;                 // after each label what its position adds to the score
    bool bytes = false;                        // columns are arbitrary bytes, not text in UTF-8
    bool ragged = false;                       // lines of columns have different lengths, see ColumnOptions
    std::vector<std::uint8_t> forbidden;       // [Y + 1, Y] pairs that must not occur, or empty
    std::vector<std::uint8_t> forbidden_last;  // [Y] labels that must not end a sequence, or empty
};

class Model;

// A session of labelling tokens, for one thread at a time. It keeps the ids of words, and tables of label pairs, from
// one call to the next. The model must outlive it.
class Session {
   public:
    explicit Session(const Model& model);

    // Reads sequences; does not grow any table.
    TokenEncoder& encoder() { return encoder_; }
    // Best labels of all sequences that were read, one after the other. They are then forgotten.
    std::vector<std::int32_t> label(const Constraints& constraints);

   private:
    const Chain& chain_;
    TokenEncoder encoder_;
    OneByOne decoder_;                   // of attributes
    std::unique_ptr<RowLabeller> rows_;  // of rows; null: they need a corpus
};

// Safe to share between threads: nothing changes after construction except caches behind locks.
class Model {
   public:
    explicit Model(ModelParts parts);
    // The content of a file; `source` is what errors call it. Nothing of it is needed afterwards.
    Model(std::span<const std::byte> file, const std::string& source, Check check = Check::everything)
        : Model(read_whole_model(file, source, check)) {}
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;
    // Throws FileError if the file cannot be read, InputError if it holds no model.
    static std::shared_ptr<const Model> open(const std::filesystem::path& path, const std::string& source);

    const ModelParts& parts() const { return parts_; }  // without the weights, which the chain has
    // Answers for corpora, on the caller's thread.
    const Chain& chain() const { return chain_; }
    // Labels rows of columns; null: that needs a corpus, since there is no template, or more than scores of attributes.
    std::unique_ptr<RowLabeller> row_labeller() const;
    // The numbers that each token must come with; 0: none.
    std::int64_t vector_width() const { return parts_.vectors ? 0 : static_cast<std::int64_t>(parts_.mean.size()); }

    // work(session), with one that no other thread uses.
    template <class Work>
    auto with_session(Work work) const {
        std::unique_ptr<Session> session = sessions_.take([&] { return std::make_unique<Session>(*this); });
        auto answer = work(*session);  // one that throws is not used again
        sessions_.give_back(std::move(session));
        return answer;
    }
    // Labels whole sequences of a text file: every line of a column file with the label as one more column, if the
    // model has a template; otherwise of a CRFsuite file the label it has and the one it gets. What is written for a
    // sequence depends on nothing but that sequence. n_columns: of each line, 0: as the first; line: number of the
    // first. Throws if tokens must come with vectors, which no text file has.
    std::string label_text(std::string_view piece, const std::string& source, std::int64_t n_columns, std::int64_t line,
                           const LabelOptions& options) const;

    // Labels whole records of a file in one of the formats of record_reader, best labels only. None if some of it is not
    // plain, does not fit the model, or the model needs a corpus.
    std::optional<std::string> label_records(std::string_view piece, std::string_view format, std::string_view field,
                                             std::int64_t line) const;

   private:
    static constexpr std::size_t kLargePiece = 1 << 20;  // bytes: what read one is not used again, it keeps the memory

    std::optional<std::string> label_rows(std::string_view piece, const std::string& source, std::int64_t n_columns,
                                          std::int64_t line, const LabelOptions& options) const;

    ModelParts parts_;
    Chain chain_;
    mutable IdlePool<Session> sessions_;
    mutable IdlePool<TextEncoder> text_encoders_;  // each knows the ids of the words of earlier pieces
    mutable IdlePool<RowLabeller> row_labellers_;  // and these the scores
};

// A sequence, token by token, and the answers about it. For one thread at a time.
class Sequence {
   public:
    explicit Sequence(std::shared_ptr<const Model> model) : model_(std::move(model)) {}

    const Model& model() const { return *model_; }
    // Forgets all tokens.
    void clear();
    // One more attribute of the token that is being made, or one more column if the model has a template. Throws if it
    // is not UTF-8.
    void add(std::string_view text, double value);
    // The vector of the token that is being made, if the model takes vectors. Throws if it is none of its width, or not
    // finite.
    void add_vector(std::span<const double> values);
    // The token is complete. Throws if it has too few columns or not as many as the first, or if a vector is missing; it
    // is then forgotten.
    void end_token();
    // Discards what was added since the last token.
    void forget_token();
    std::int64_t length() const { return n_tokens_; }

    // Best labels; labels: [T]
    void label(std::span<std::int32_t> labels) const;
    // P(y_t = y); out: [T, Y]
    void marginals(std::span<double> out) const;
    double log_partition() const;
    // The k best labellings, best first; fewer if there are fewer.
    std::vector<Labelling> nbest(std::int64_t k) const;
    std::vector<Contribution> contributions(std::span<const std::int32_t> labels) const;

   private:
    void check_token() const;
    // The tokens, for a session.
    void read_into(TokenEncoder& encoder) const;
    const Corpus& corpus() const;

    std::shared_ptr<const Model> model_;
    TokenText tokens_;            // those that are complete, and the entries of the one that is being made
    std::vector<float> vectors_;  // theirs, [T, vector_width()] standardised
    std::int64_t n_tokens_ = 0;
    mutable Corpus corpus_;  // of tokens_, if `encoded_`
    mutable bool encoded_ = false;
};

}  // namespace sparsecrf
