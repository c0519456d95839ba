// Arrays and text in one safetensors file with a digest; src/sparsecrf/files/container.py describes the layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/corpus/string_table.hpp"

namespace sparsecrf {

// An array in C order, as a view of the file.
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

    // The elements of a one-dimensional array. Throws unless its safetensors type is `dtype` and its length is `length`
    // (kAny means any length).
    static constexpr std::int64_t kAny = -1;
    template <class T>
    std::span<const T> numbers(const std::string& name, std::string_view dtype, std::int64_t length = kAny) const {
        const std::span<const std::byte> data = checked(name, dtype, length);
        return {reinterpret_cast<const T*>(data.data()), data.size() / sizeof(T)};
    }

    // The strings NAME.bytes, which the offsets NAME.offsets separate.
    std::shared_ptr<StringTable> strings(const std::string& name) const;
    // Returns the result of make(). The messages of its errors begin with the name of the array or record.
    template <class Make>
    auto located(const std::string& name, Make make) const {
        try {
            return make();
        } catch (const InputError& error) {
            throw InputError(source, ": ", name, ": ", error.what());
        }
    }

   private:
    std::span<const std::byte> checked(const std::string& name, std::string_view dtype, std::int64_t length) const;
};

// What to check: everything, or everything except the digest, which lets fuzzing reach the code behind it.
enum class Check { everything, structure };

// Parses `file`, which must be aligned to 8 bytes and outlive the result. Throws InputError unless it is a complete
// file of this format in one of these versions.
Container read_container(std::span<const std::byte> file, std::string source, std::string_view format,
                         const std::vector<int>& versions, Check check = Check::everything);

}  // namespace sparsecrf
