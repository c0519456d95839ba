// Arrays and text in one safetensors file with a digest: src/sparsecrf/files/container.py describes the layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sparsecrf {

// The numbers of an array in C order: a view of the file.
struct StoredArray {
    std::string dtype;  // F64, I64, ...
    std::vector<std::int64_t> shape;
    std::span<const std::byte> data;  // aligned for the type

    std::string described() const;  // "F64[3, 2]"
};

struct Container {
    std::map<std::string, std::string> metadata;  // without the digest
    std::map<std::string, StoredArray> arrays;
    std::string source;  // names the file in errors

    // The numbers of an array in one dimension whose safetensors name of type is `dtype`; throws if it is another one.
    // length: what is expected, or kAny.
    static constexpr std::int64_t kAny = -1;
    template <class T>
    std::span<const T> numbers(const std::string& name, std::string_view dtype, std::int64_t length = kAny) const {
        const std::span<const std::byte> data = checked(name, dtype, length);
        return {reinterpret_cast<const T*>(data.data()), data.size() / sizeof(T)};
    }

   private:
    std::span<const std::byte> checked(const std::string& name, std::string_view dtype, std::int64_t length) const;
};

// What to check: everything, or all but the digest, so that fuzzing reaches the code behind it.
enum class Check { everything, structure };

// What is in `file`, which begins at a multiple of 8 in memory and must outlive the result. Throws InputError if it is
// not a whole file of this format and one of these versions.
Container read_container(std::span<const std::byte> file, std::string source, std::string_view format,
                         std::initializer_list<int> versions, Check check = Check::everything);

}  // namespace sparsecrf
