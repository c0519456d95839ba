// Reads a binary CRFsuite model, as a whole or lazily: the weights for a sequence are found through the hash tables in
// the file, so the first result does not require loading a million names. src/sparsecrf/contrib/convert/crfsuite.py and
// crfsuite_write.py describe the format.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/corpus/features.hpp"
#include "core/corpus/string_table.hpp"

namespace sparsecrf {

class CrfsuiteModel {
   public:
    // `data`: the content of a file, which must outlive this object; `source` names the file in errors. Throws if the
    // file is not a CRFsuite model or if its tables extend beyond the end of the file.
    CrfsuiteModel(std::string_view data, std::string source);

    const std::shared_ptr<StringTable>& labels() const { return labels_; }
    std::int64_t n_attributes() const { return attributes_.n; }
    // Whether the file has hash tables. CRFsuite writes them; other programs may not.
    bool has_tables() const { return has_tables_; }

    // The hash of a name in the tables: lookup3 (Bob Jenkins, 2006, public domain) of its bytes and a terminating 0.
    static std::uint32_t hash(std::string_view name);

    // The model, perhaps restricted to some attributes.
    struct Slice {
        std::shared_ptr<StringTable> attributes;  // in file order; `bias` last if it is missing from the file
        std::shared_ptr<const FeatureSet> features;
        std::vector<double> w;  // [K] weights of the features, all nonzero
    };
    // The slice for `names`; names missing from the model are skipped. Transitions become label pairs of `bias`.
    Slice slice(const StringTable& names, std::string_view bias) const;
    // The whole model, read without the tables.
    Slice whole(std::string_view bias) const;

   private:
    // Strings and their ids.
    struct Strings {
        std::uint32_t begin = 0;  // offset of the chunk, to which the offsets in it are relative
        std::uint32_t n = 0;      // strings
        std::uint32_t links = 0;  // offset of the table of string offsets, by id
        std::array<std::array<std::uint32_t, 2>, 256> at;  // hash tables: offset, number of slots
    };
    struct Feature {
        std::uint32_t type, source, label;
        double weight;
    };

    std::uint32_t u4(std::uint64_t at) const;
    Strings strings(std::uint32_t at, std::uint32_t n, const char* what) const;
    std::string_view string_at(const Strings& of, std::uint32_t offset) const;
    // All strings by id; `what` names them in errors.
    std::shared_ptr<StringTable> names(const Strings& of, const char* what) const;
    std::optional<std::uint32_t> find(const Strings& in, std::string_view name) const;
    Feature feature(std::uint32_t number) const;
    // Adds the features that a reference table lists for an id.
    void add_features(std::uint32_t table, std::uint32_t id, std::uint32_t type, std::vector<Feature>& out) const;
    // The slice with these attributes, to which `bias` is added, and features, whose sources are ids in it.
    Slice slice_of(std::shared_ptr<StringTable> attributes, std::string_view bias, std::span<const Feature> states,
                   std::span<const Feature> transitions) const;
    [[noreturn]] void fail(const std::string& what) const;

    std::string_view data_;
    std::string source_;
    std::uint32_t features_ = 0, n_features_ = 0;      // offset of the first feature, number of features
    std::uint32_t of_labels_ = 0, of_attributes_ = 0;  // offsets of the reference tables
    Strings label_strings_, attributes_;
    bool has_tables_ = false;
    std::shared_ptr<StringTable> labels_;
    std::vector<Feature> transitions_;
};

}  // namespace sparsecrf
