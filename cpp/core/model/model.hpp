// A model from its file, and the questions that a program without Python asks of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/inference/chain.hpp"
#include "core/inference/contributions.hpp"
#include "core/model/model_file.hpp"
#include "core/text/labeller.hpp"
#include "core/text/token_encoder.hpp"

namespace sparsecrf {

// Safe to share between threads: nothing is changed after construction.
class Model {
   public:
    // The content of a file; `source` is what errors call it. Nothing of it is needed afterwards.
    Model(std::span<const std::byte> file, const std::string& source, Check check = Check::everything)
        : Model(read_whole_model(file, source, check)) {}
    // Throws FileError if the file cannot be read, InputError if it holds no model.
    static std::shared_ptr<const Model> open(const std::filesystem::path& path, const std::string& source);

    const ModelParts& parts() const { return parts_; }
    const Chain& chain() const { return *chain_; }
    // What labels text files: column files if the model has a template, else those of CRFsuite. Throws if tokens must
    // come with vectors, which no text file has.
    const Labeller& labeller() const;
    // The numbers that each token must come with; 0: none.
    std::int64_t vector_width() const { return parts_.vectors ? 0 : static_cast<std::int64_t>(parts_.mean.size()); }
    // Of sequences by token; it grows no table.
    TokenEncoder encoder() const;

   private:
    explicit Model(ModelParts parts);

    ModelParts parts_;
    std::shared_ptr<const Chain> chain_;
    Labeller labeller_;
};

// A sequence, token by token, and the answers about it. For one thread at a time.
class Sequence {
   public:
    explicit Sequence(std::shared_ptr<const Model> model);

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
    // Forgets what was added since the last token.
    void forget_token();
    std::int64_t length() const { return n_tokens_; }

    // Best labels; labels: [T]. Returns their score.
    double label(std::span<std::int32_t> labels) const;
    // P(y_t = y); out: [T, Y]
    void marginals(std::span<double> out) const;
    double log_partition() const;
    // The k best labellings, best first; fewer if there are fewer.
    std::vector<Labelling> nbest(std::int64_t k) const;
    std::vector<Contribution> contributions(std::span<const std::int32_t> labels) const;

   private:
    void check_token() const;
    const Corpus& corpus() const;

    std::shared_ptr<const Model> model_;
    TokenText tokens_;            // those that are complete, and the entries of the one that is being made
    std::vector<float> vectors_;  // theirs, [T, vector_width()] standardised
    std::int64_t n_tokens_ = 0;
    mutable TokenEncoder encoder_;
    mutable Corpus corpus_;  // of tokens_, if `encoded_`
    mutable bool encoded_ = false;
};

}  // namespace sparsecrf
