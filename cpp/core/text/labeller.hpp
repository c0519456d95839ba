// A model at work on text: column or CRFsuite files in, labels out. What is written for a sequence depends on nothing
// but that sequence.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/corpus/string_table.hpp"
#include "core/inference/chain.hpp"
#include "core/text/template.hpp"
#include "core/text/text_encoder.hpp"

namespace sparsecrf {

struct LabelOptions {
    std::int64_t nbest = 1;                    // labellings of each sequence
    bool headers = false;                      // before each labelling a line "# rank probability score"
    bool probability = false;                  // after each label the probability that it stands there
    bool distribution = false;                 // and all labels with theirs, likeliest first, as label:probability
    bool force = false;                        // labels in the file that the model knows are given
    bool token_scores = false;                 // after each label what its position adds to the score
    bool bytes = false;                        // columns are any bytes, not text in UTF-8
    bool ragged = false;                       // lines of columns have different lengths, see ColumnOptions
    std::vector<std::uint8_t> forbidden;       // [Y + 1, Y] pairs that must not occur, or empty
    std::vector<std::uint8_t> forbidden_last;  // [Y] labels that must not end a sequence, or empty
};

// Safe to share between threads.
class Labeller {
   public:
    // lines: null for CRFsuite's format, where `bias` (empty: none) conditions label pairs.
    // observed: columns without the label; 0: any number that the template can do with. Then there is no label, but for
    // `force`, where it is the last column. vectors: of words, which are dense columns; null: there are none.
    Labeller(std::shared_ptr<const Template> lines, std::shared_ptr<const StringTable> attributes,
             std::shared_ptr<const StringTable> labels, std::shared_ptr<const Chain> chain, bool start,
             std::string bias, std::int64_t observed, std::shared_ptr<const WordVectors> vectors = nullptr);

    // Labels whole sequences of a file: every line of a column file with the label as one more column; of a CRFsuite
    // file the label it has and the one it gets. n_columns: of each line, 0: as the first; line: number of the first.
    std::string label(std::string_view piece, const std::string& source, std::int64_t n_columns, std::int64_t line,
                      const LabelOptions& options) const;

   private:
    // Sequences of a piece with what is written before each label.
    struct Batch {
        Corpus corpus;
        std::vector<std::string_view> lines;   // [P]
        std::vector<std::string> own;          // [P] what `lines` views, where it is not the text itself
        std::vector<std::int64_t> first_line;  // [N] numbers of their lines in the file
    };
    // Encoders that are not at work: each knows the ids of the words of earlier pieces. A thread that finds the lock
    // taken makes a new one instead of waiting, so that the child of a fork never waits for a thread that it lacks.
    // They keep the memory of their largest sequence: one that had a large piece is not kept, nor are many.
    static constexpr std::size_t kMostIdle = 16, kLargePiece = 1 << 20;  // encoders; bytes
    struct Idle {
        std::mutex mutex;
        std::vector<std::unique_ptr<TextEncoder>> encoders;
    };
    std::unique_ptr<TextEncoder> take_encoder() const;
    void give_back(std::unique_ptr<TextEncoder> encoder) const;
    Batch read(std::string_view piece, const std::string& source, std::int64_t n_columns, std::int64_t line,
               const LabelOptions& options) const;
    // Throws if the rows do not fit the model; whether their last column is a label.
    bool check(const Rows& rows, const LabelOptions& options, const std::string& where) const;
    std::string write(const Batch& batch, const LabelOptions& options) const;

    std::shared_ptr<const Template> lines_;
    std::shared_ptr<const StringTable> attributes_, labels_;
    std::shared_ptr<const Chain> chain_;
    bool start_;
    std::string bias_;
    std::int64_t observed_;
    std::shared_ptr<const WordVectors> vectors_;
    std::unique_ptr<Idle> idle_ = std::make_unique<Idle>();
};

}  // namespace sparsecrf
