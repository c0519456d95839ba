// A corpus file that can be memory-mapped, for training on data larger than memory.
//
// Words of 8 bytes in native byte order:
//
//   magic "sparseCF", version and byte order, digest, Y, X, the length of each of 18 arrays;
//   the arrays, each padded with zeros to a multiple of 32 bytes: offsets, labels, unigram, base, rest,
//   sequence_weight, token_weight; then ptr, id and value of the unigram, the base and the rest lists; ptr and
//   label of the label sets, which are empty in version 1.
//
// The digest covers all words except itself. It detects accidental damage but not tampering, so every value that is
// used as an index is also range-checked: a file that passes is as safe to use as a corpus built in memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "core/base/file_memory.hpp"
#include "core/corpus/corpus.hpp"

namespace sparsecrf {

// Writes the file atomically and returns its digest. Throws FileError.
std::uint64_t save_corpus(const Corpus& corpus, const std::filesystem::path& path);

// The expected properties of a corpus file.
struct CorpusFileOptions {
    // Counts of the current vocabulary, which may have grown since the corpus was encoded; the corpus adopts them.
    std::optional<std::int64_t> n_labels, n_attributes;
    std::optional<std::uint64_t> digest;
    FileMemory::Kind kind = FileMemory::Kind::kMapped;
};

// Opens a file. The mapping, or the copy of the file, lives as long as the corpus or any copy of it. Throws FileError
// if the file cannot be read and InputError if it is not valid.
Corpus open_corpus(const std::filesystem::path& path, const CorpusFileOptions& options = {});

}  // namespace sparsecrf
