// A small synthetic data set for programs that test the core without Python: sentences, a template, and a model.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/shuffle.hpp"
#include "core/inference/chain.hpp"
#include "core/model/model.hpp"
#include "core/text/text_encoder.hpp"

namespace sparsecrf::tests {

struct Random : Splitmix {
    using Splitmix::Splitmix;
    std::size_t below(std::size_t n) { return static_cast<std::size_t>(next() % n); }
};

inline const char* const kTemplate =
    "U0:%x[0,0]\nU1:%X[-1,0]/%x[1,1]\nU2:%m[0,0,\"^.?.?\"]\nU3:%t[@-1,0,\"\\d*$\"]\n*4:%x[0,1]\nB\n";

// A template with word functions.
inline const char* const kFunctions =
    "U0:%l[0,0]\nU1:%p[0,0,2]/%S[-1,0,3]\nU2:%h[0,0]\nU3:%h[1,0,1]\nU4:%c[0,0]%n[0,0]\nU5:%e[0]\n*6:%P[0,1,1]\nB\n";

// A column file: word, part of speech, label.
inline std::string sentences(std::size_t n, std::uint64_t seed) {
    constexpr const char* kWords[] = {"Ada", "saw", "Zürich", "the", "1984", "old-time", "日本", "x"};
    constexpr const char* kTags[] = {"NNP", "VBD", "X"};
    constexpr const char* kLabels[] = {"O", "B-PER", "I-PER", "B-LOC", "I-LOC"};
    Random random{seed};
    std::string text;
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t t = 0, length = 1 + random.below(12); t < length; ++t) {
            const std::size_t word = random.below(8);
            text += message(kWords[word], random.below(20), ' ', kTags[word % 3], ' ',
                            kLabels[(word + random.below(2)) % 5], '\n');
        }
        text += '\n';
    }
    return text;
}

struct World {
    std::shared_ptr<StringTable> attributes = std::make_shared<StringTable>(), labels = std::make_shared<StringTable>();
    std::shared_ptr<const Template> lines;
    std::string text;
    Corpus corpus;
    std::shared_ptr<const FeatureSet> features;
    std::vector<double> w;  // [K] in (-2, 2), every third one zero

    explicit World(std::size_t n_sentences, const char* with = kTemplate)
        : lines(std::make_shared<Template>(with, Dialect::crfpp, "template")), text(sentences(n_sentences, 1)) {
        TextEncoder encoder(Names(attributes, true), Names(labels, true), true);
        ColumnReader reader("world");
        reader.open(text);
        encoder.add(reader, lines);
        corpus = encoder.build();
        features = std::make_shared<FeatureSet>(FeatureSet::observed(corpus));
        Random random{2};
        for (std::int64_t k = 0; k < features->size(); ++k) {
            w.push_back(k % 3 == 0 ? 0.0 : static_cast<double>(random.next() >> 11) * 0x1p-51 - 2.0);
        }
    }
    std::shared_ptr<const Chain> chain(Kernel kernel = Kernel::automatic, int threads = 1) const {
        return std::make_shared<Chain>(features, w, kernel, threads);
    }
    // of_items: for CRFsuite files.
    Model model(bool of_items = false) const {
        return Model({.labels = labels,
                      .attributes = attributes,
                      .features = features,
                      .w = w,
                      .lines = of_items ? nullptr : lines,
                      .n_columns = of_items ? 0 : 2});
    }
};

}  // namespace sparsecrf::tests
