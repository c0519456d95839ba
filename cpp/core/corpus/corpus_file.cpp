#include "core/corpus/corpus_file.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <type_traits>

#include "core/base/error.hpp"
#include "core/base/hash.hpp"
#include "core/base/utf8.hpp"
#include "core/base/whole_file.hpp"

namespace sparsecrf {
namespace {

constexpr std::size_t kArrays = 18;
constexpr std::size_t kUnit = 32;  // bytes; every array starts at a multiple of this
constexpr std::array<char, 8> kMagic{'s', 'p', 'a', 'r', 's', 'e', 'C', 'F'};
constexpr std::uint32_t kPlain = 1, kWithLabelSets = 2;  // versions without and with label sets (the last two arrays)
constexpr std::uint32_t kOrder = 0x01020304u;            // reads as 0x04030201 in the other byte order
constexpr const char* kNames[kArrays] = {
    "offsets",      "labels",      "unigram",    "base",          "rest",     "sequence_weight",
    "token_weight", "unigram ptr", "unigram id", "unigram value", "base ptr", "base id",
    "base value",   "rest ptr",    "rest id",    "rest value",    "set ptr",  "set label"};

struct Header {
    std::array<char, 8> magic = kMagic;
    std::uint32_t version = kPlain;
    std::uint32_t order = kOrder;
    std::uint64_t digest = 0;
    std::uint64_t n_labels = 0, n_attributes = 0;
    std::array<std::uint64_t, kArrays> length{};  // number of elements
    std::array<std::uint64_t, 1> unused{};        // padding to a multiple of kUnit
};
static_assert(sizeof(Header) % kUnit == 0 && std::is_trivially_copyable_v<Header>);

// Four lanes of h <- rotate((h ^ word) * odd). Each step is a bijection of h and of the word, so a change of a single
// word is always detected. This is several times faster than a training pass over the corpus.
class Digest {
   public:
    // The size must be a multiple of kUnit.
    void add(std::span<const std::byte> bytes) {
        std::array<std::uint64_t, 4> h = lanes_;
        for (std::size_t at = 0; at < bytes.size(); at += kUnit) {
            std::array<std::uint64_t, 4> words;
            std::memcpy(words.data(), bytes.data() + at, kUnit);
            for (std::size_t k = 0; k < 4; ++k) h[k] = std::rotl((h[k] ^ words[k]) * 0x9e3779b97f4a7c15ull, 29);
        }
        lanes_ = h;
    }
    std::uint64_t value() const {
        std::uint64_t h = 0;
        for (const std::uint64_t lane : lanes_) h = mix(h ^ lane);
        return h;
    }

   private:
    std::array<std::uint64_t, 4> lanes_{1, 2, 3, 4};
};

std::span<const std::byte> bytes_of(const Header& header) { return std::as_bytes(std::span(&header, 1)); }

void add_header(Digest& digest, Header header) {
    header.digest = 0;
    digest.add(bytes_of(header));
}

// Calls visit(array) for all arrays in file order.
template <class Visit>
void each_array(const Corpus& c, Visit visit) {
    visit(c.offsets);
    visit(c.labels);
    visit(c.unigram);
    visit(c.base);
    visit(c.rest);
    visit(c.sequence_weight);
    visit(c.token_weight);
    for (const ListPool* lists : {&c.unigram_lists, &c.base_lists, &c.rest_lists}) {
        visit(lists->ptr());
        visit(lists->ids());
        visit(lists->values());
    }
    if (c.label_sets.size() > 1) {
        visit(c.label_sets.ptr());
        visit(c.label_sets.ids());
    }
}

// The file name for error messages, always valid text.
std::string name_of(const std::filesystem::path& path) {
    const std::u8string native = path.u8string();
    const std::string name(native.begin(), native.end());
    if (utf8_error(name) == std::string::npos) return name;
    std::string out;
    for (const char c : name) {
        out += static_cast<unsigned char>(c) < 0x80 ? std::string(1, c) : "\\" + hex_byte(c).substr(1);
    }
    return out;
}

// Parses a file. Every value is validated before its first use.
class Reader {
   public:
    Reader(const std::filesystem::path& path, const CorpusFileOptions& options)
        : name_(name_of(path)), options_(options), file_(std::make_shared<FileMemory>(path, options.kind)) {}

    Corpus read() {
        read_header();
        Corpus c;
        c.n_labels = static_cast<int>(count("labels", header_.n_labels, options_.n_labels, 1, kMaxLabels));
        c.n_attributes = static_cast<std::uint32_t>(
            count("attributes", header_.n_attributes, options_.n_attributes, 0, kMaxAttributes));
        c.offsets = take<std::int64_t>();
        c.labels = take<std::int32_t>();
        c.unigram = take<std::uint32_t>();
        c.base = take<std::uint32_t>();
        c.rest = take<std::uint32_t>();
        c.sequence_weight = take<double>();
        c.token_weight = take<double>();
        for (ListPool* lists : {&c.unigram_lists, &c.base_lists, &c.rest_lists}) {
            auto ptr = take<std::int64_t>();
            auto id = take<std::uint32_t>();
            auto value = take<double>();
            check_lists(ptr, id, taken(3), taken(2), c.n_attributes);
            check_length(taken(1), value.size(), id.size(), true);
            for (const double v : value) {
                if (!(std::abs(v) <= kLargest)) wrong(message(taken(1), " to be at most ", kLargest), v);
            }
            *lists = ListPool(std::move(ptr), std::move(id), std::move(value));
        }
        if (header_.version == kWithLabelSets) {
            auto ptr = take<std::int64_t>();
            auto label = take<std::uint32_t>();
            check_lists(ptr, label, taken(2), taken(1), static_cast<std::uint32_t>(c.n_labels));
            c.label_sets = ListPool(std::move(ptr), std::move(label), {});
            for (std::uint32_t set = 1; set < c.label_sets.size(); ++set) {
                if (c.label_sets.length(set) < 2) wrong("label sets of at least two labels", c.label_sets.length(set));
            }
        }
        if (at_ != file_->bytes().size())
            wrong("the end of the file after the last array", file_->bytes().size() - at_, " more bytes");
        check_sequences(c);
        check_digest();
        return c;
    }

   private:
    template <class... Found>
    [[noreturn]] void wrong(const std::string& expected, const Found&... found) const {
        throw InputError(name_, ": expected ", expected, ", found ", found...);
    }

    void read_header() {
        const std::span<const std::byte> bytes = file_->bytes();
        if (bytes.size() < sizeof(Header)) wrong("a corpus file", bytes.size(), " bytes");
        std::memcpy(&header_, bytes.data(), sizeof(Header));
        at_ = sizeof(Header);
        if (header_.magic != kMagic) wrong("a corpus file", "a file of another kind");
        if (header_.order != kOrder) wrong("the byte order of this machine", "a different one");
        if (header_.version != kPlain && header_.version != kWithLabelSets) {
            wrong(message("version ", kPlain, " or ", kWithLabelSets), "version ", header_.version);
        }
    }

    std::int64_t count(const char* what, std::uint64_t found, const std::optional<std::int64_t>& asked,
                       std::int64_t least, std::int64_t most) const {
        if (found < static_cast<std::uint64_t>(least) || found > static_cast<std::uint64_t>(most)) {
            wrong(message(least, " to ", most, " ", what), found);
        }
        if (!asked) return static_cast<std::int64_t>(found);
        if (*asked < static_cast<std::int64_t>(found) || *asked > most) {
            wrong(message("at most ", *asked, " ", what), found);
        }
        return *asked;
    }

    // The next array.
    template <class T>
    Array<T> take() {
        const std::span<const std::byte> rest = file_->bytes().subspan(at_);
        const std::uint64_t n = header_.length[taken_];
        // Compare before multiplying: the length may be arbitrary.
        if (n > rest.size() / sizeof(T)) {
            wrong(message("room for ", n, " numbers of ", kNames[taken_]), rest.size(), " bytes");
        }
        const std::size_t used = (static_cast<std::size_t>(n) * sizeof(T) + kUnit - 1) / kUnit * kUnit;
        if (used > rest.size()) wrong(message(used, " bytes of ", kNames[taken_]), rest.size());
        at_ += used;
        ++taken_;
        return {std::span(reinterpret_cast<const T*>(rest.data()), static_cast<std::size_t>(n)), file_};
    }

    // The name of the array taken `back` calls ago.
    const char* taken(std::size_t back) const { return kNames[taken_ - back]; }

    // Checks lists of numbers below n; the array names are for error messages.
    void check_lists(const Array<std::int64_t>& ptr, const Array<std::uint32_t>& id, const char* ptr_name,
                     const char* id_name, std::uint32_t n) const {
        if (ptr.size() < 2 || ptr.size() > 0xffffffffu)
            wrong(message("2 to 2^32 - 1 numbers of ", ptr_name), ptr.size());
        if (ptr[0] != 0 || ptr[1] != 0) wrong(message(ptr_name, " to begin with an empty list"), ptr[1]);
        if (ptr.back() != static_cast<std::int64_t>(id.size())) {
            wrong(message(ptr_name, " to end with ", id.size()), ptr.back());
        }
        for (std::size_t list = 1; list + 1 < ptr.size(); ++list) {
            if (ptr[list + 1] < ptr[list] || ptr[list + 1] > ptr.back()) {
                wrong(message(ptr_name, " to ascend to ", ptr.back()), ptr[list + 1], " after ", ptr[list]);
            }
            for (std::int64_t k = ptr[list]; k < ptr[list + 1]; ++k) {
                if (id[k] >= n || (k > ptr[list] && id[k] <= id[k - 1])) {
                    wrong(message(id_name, " to ascend below ", n), id[k]);
                }
            }
        }
    }

    void check_length(const char* what, std::size_t found, std::size_t expected, bool may_be_empty) const {
        if (found != expected && !(may_be_empty && found == 0)) wrong(message(expected, " numbers of ", what), found);
    }

    void check_sequences(const Corpus& c) const {
        if (c.offsets.size() < 2) wrong("at least one sequence", "none");
        const std::size_t N = c.offsets.size() - 1, P = c.labels.size();
        if (c.offsets[0] != 0 || c.offsets[N] != static_cast<std::int64_t>(P)) {
            wrong(message("offsets from 0 to ", P), c.offsets[0], " to ", c.offsets[N]);
        }
        for (std::size_t i = 0; i < N; ++i) {
            if (c.offsets[i + 1] <= c.offsets[i]) wrong("ascending offsets", c.offsets[i + 1], " after ", c.offsets[i]);
        }
        for (const std::int32_t y : c.labels) {
            const bool is_set = y < 0 && label_set_of(y) < c.label_sets.size();
            if (!is_set && (y < 0 || y >= c.n_labels)) wrong(message("labels below ", c.n_labels), y);
        }
        check_ids("unigram", c.unigram, P, c.unigram_lists);
        check_ids("base", c.base, P, c.base_lists);
        check_ids("rest", c.rest, P, c.rest_lists);
        check_length("sequence_weight", c.sequence_weight.size(), N, true);
        check_length("token_weight", c.token_weight.size(), P, true);
        for (const Array<double>* weights : {&c.sequence_weight, &c.token_weight}) {
            for (const double w : *weights) {
                if (!(w >= 0.0) || !std::isfinite(w)) wrong("finite weights >= 0", w);
            }
        }
    }

    void check_ids(const char* what, const Array<std::uint32_t>& ids, std::size_t length, const ListPool& lists) const {
        check_length(what, ids.size(), length, false);
        for (const std::uint32_t id : ids) {
            if (id >= lists.size()) wrong(message(what, " lists below ", lists.size()), id);
        }
    }

    void check_digest() const {
        Digest digest;
        add_header(digest, header_);
        digest.add(file_->bytes().subspan(sizeof(Header)));
        if (digest.value() != header_.digest) wrong(message("content with digest ", header_.digest), "damaged content");
        if (options_.digest && *options_.digest != header_.digest) {
            wrong(message("content with digest ", *options_.digest), "other content, with ", header_.digest);
        }
    }

    const std::string name_;
    const CorpusFileOptions& options_;
    const std::shared_ptr<const FileMemory> file_;
    Header header_;
    std::size_t at_ = 0;     // bytes consumed
    std::size_t taken_ = 0;  // arrays consumed
};

}  // namespace

std::uint64_t save_corpus(const Corpus& corpus, const std::filesystem::path& path) {
    if (corpus.n_dense > 0) throw InputError("corpus file: expected no dense columns, found ", corpus.n_dense);
    Header header;
    header.version = corpus.label_sets.size() > 1 ? kWithLabelSets : kPlain;
    header.n_labels = static_cast<std::uint64_t>(corpus.n_labels);
    header.n_attributes = corpus.n_attributes;
    std::size_t array = 0;
    each_array(corpus, [&](const auto& numbers) { header.length[array++] = numbers.size(); });
    Digest digest;
    add_header(digest, header);
    WholeFile file(path);
    file.write(bytes_of(header));
    each_array(corpus, [&](const auto& numbers) {
        const std::span<const std::byte> bytes = std::as_bytes(std::span(numbers.data(), numbers.size()));
        const std::size_t whole = bytes.size() / kUnit * kUnit;
        digest.add(bytes.first(whole));
        file.write(bytes.first(whole));
        if (whole == bytes.size()) return;
        std::array<std::byte, kUnit> last{};
        std::copy(bytes.begin() + static_cast<std::ptrdiff_t>(whole), bytes.end(), last.begin());
        digest.add(last);
        file.write(last);
    });
    header.digest = digest.value();
    file.rewind();
    file.write(bytes_of(header));
    file.finish();
    return header.digest;
}

Corpus open_corpus(const std::filesystem::path& path, const CorpusFileOptions& options) {
    return Reader(path, options).read();
}

}  // namespace sparsecrf
