// A corpus in a file whose arrays are used where they lie: what is larger than memory can be trained on.
//
// In the byte order of the machine, words of 8 bytes:
//
//   magic "sparseCF", version and byte order, digest, Y, X, the length of each of 16 arrays;
//   the arrays, without gaps but for zeros up to a multiple of 32 bytes: offsets, labels, unigram, base, rest,
//   sequence_weight, token_weight; then ptr, id and value of the unigram, the base and the rest lists.
//
// The digest is over all words but itself. It finds damage, not malice; therefore everything that others use as an
// index is checked besides, and a file that passes can be trusted like a corpus that was built here.
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
    // A corpus may have been encoded when its vocabulary was smaller than it became: the counts that it takes on.
    std::optional<std::int64_t> n_labels, n_attributes;
    std::optional<std::uint64_t> digest;
    FileMemory::Kind kind = FileMemory::Kind::kMapped;
};

// A view of the file, or of a copy of its bytes, which lives as long as the corpus or a copy of it does. Throws
// FileError where there is no file, InputError where it is not what it should be.
Corpus open_corpus(const std::filesystem::path& path, const CorpusFileOptions& options = {});

}  // namespace sparsecrf
