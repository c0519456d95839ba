// A binary model of CRFsuite, read where it is asked: the weights of a sequence are found through the tables that
// CRFsuite itself uses, so the first answer does not wait for a million names. src/sparsecrf/contrib/convert/crfsuite.py and
// crfsuite_write.py describe the file.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/corpus/features.hpp"
#include "core/corpus/string_table.hpp"

namespace sparsecrf {

class CrfsuiteModel {
   public:
    // The content of a file, which must outlive this; `source` names it in errors. Throws if it is no such model, or if
    // the tables are not within it.
    CrfsuiteModel(std::string_view data, std::string source);

    const std::shared_ptr<StringTable>& labels() const { return labels_; }
    std::int64_t n_attributes() const { return attributes_.n; }
    // Whether it has the tables: CRFsuite writes them, other programs may not.
    bool has_tables() const { return has_tables_; }

    // The part of the model for some attributes.
    struct Slice {
        std::shared_ptr<StringTable> attributes;  // in the order of the file, `bias` last if it is not there
        std::shared_ptr<const FeatureSet> features;
        std::vector<double> w;  // [K] of the features, none of them 0
    };
    // That of `names`, those left out that the model does not have. Transitions are label pairs of `bias`.
    Slice slice(const StringTable& names, std::string_view bias) const;

   private:
    // Strings and their ids.
    struct Strings {
        std::uint32_t begin = 0;                           // of the chunk; offsets in it count from there
        std::uint32_t n = 0;                               // strings
        std::uint32_t links = 0;                           // offset of the offsets of the strings, by id
        std::array<std::array<std::uint32_t, 2>, 256> at;  // hash tables: offset, slots
    };
    struct Feature {
        std::uint32_t type, source, label;
        double weight;
    };

    std::uint32_t u4(std::uint64_t at) const;
    std::string_view chunk(std::uint32_t at, const char* magic) const;
    Strings strings(std::uint32_t at, std::uint32_t n, const char* what) const;
    std::string_view string_at(const Strings& of, std::uint32_t offset) const;
    std::optional<std::uint32_t> find(const Strings& in, std::string_view name) const;
    // Adds the features in the list that a table of references has for an id.
    void add_features(std::uint32_t table, std::uint32_t id, std::uint32_t type, std::vector<Feature>& out) const;
    [[noreturn]] void fail(const std::string& what) const;

    std::string_view data_;
    std::string source_;
    std::uint32_t features_ = 0, n_features_ = 0;      // offset of the first, number
    std::uint32_t of_labels_ = 0, of_attributes_ = 0;  // offsets of the tables of references
    Strings label_strings_, attributes_;
    bool has_tables_ = false;
    std::shared_ptr<StringTable> labels_;
    std::vector<Feature> transitions_;
};

}  // namespace sparsecrf
