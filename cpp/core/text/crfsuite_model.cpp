#include "core/text/crfsuite_model.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "core/base/bits.hpp"
#include "core/base/error.hpp"
#include "core/corpus/numbering.hpp"

namespace sparsecrf {
namespace {

constexpr std::uint32_t kHeader = 48, kStringsHeader = 24, kFeature = 20;
constexpr std::uint32_t kByteOrder = 0x62445371;

}  // namespace

// Adds 12 bytes at a time to three sums, which are mixed after each addition except the last.
std::uint32_t CrfsuiteModel::hash(std::string_view text) {
    const std::size_t length = text.size() + 1;
    std::uint32_t a = 0xDEADBEEFu + static_cast<std::uint32_t>(length), b = a, c = a;
    const auto word = [&](std::size_t at) {
        std::uint32_t made = 0;
        for (std::size_t k = 0; k < 4 && at + k < text.size(); ++k) {
            made |= std::uint32_t{static_cast<unsigned char>(text[at + k])} << (8 * k);
        }
        return made;
    };
    for (std::size_t at = 0;; at += 12) {
        a += word(at);
        b += word(at + 4);
        c += word(at + 8);
        if (at + 12 >= length) break;
        for (const int bits : {4, 6, 8, 16, 19, 4}) {
            a = (a - c) ^ std::rotl(c, bits);
            c += b;
            std::swap(a, b);
            std::swap(b, c);
        }
    }
    for (const int bits : {14, 11, 25, 16, 4, 14, 24}) {
        c = (c ^ b) - std::rotl(b, bits);
        std::swap(a, b);
        std::swap(b, c);
    }
    return b;  // after seven steps, the three sums have rotated by one place
}

void CrfsuiteModel::fail(const std::string& what) const { throw InputError(source_, ": ", what); }

std::uint32_t CrfsuiteModel::u4(std::uint64_t at) const {
    if (at + 4 > data_.size()) fail(message("expected a number at byte ", at, ", found the end of the file"));
    std::uint32_t made = 0;
    for (int k = 3; k >= 0; --k) made = made << 8 | static_cast<unsigned char>(data_[at + static_cast<unsigned>(k)]);
    return made;
}

CrfsuiteModel::CrfsuiteModel(std::string_view data, std::string source) : data_(data), source_(std::move(source)) {
    if (data_.size() < kHeader || !data_.starts_with("lCRF") || data_.substr(8, 4) != "FOMC" || u4(12) != 100 ||
        u4(4) != data_.size()) {
        fail(message("expected a CRFsuite model (lCRF, FOMC, version 100)",
                     data_.size() < kHeader ? "" : message(" of ", u4(4), " bytes, found version ", u4(12)), ", found ",
                     data_.size(), " bytes"));
    }
    features_ = u4(28) + 12;
    n_features_ = u4(std::uint64_t{u4(28)} + 8);
    if (data_.substr(std::min<std::size_t>(u4(28), data_.size()), 4) != "FEAT" ||
        std::uint64_t{features_} + std::uint64_t{kFeature} * n_features_ > data_.size()) {
        fail(message("expected ", n_features_, " features at byte ", u4(28)));
    }
    label_strings_ = strings(u4(32), u4(20), "labels");
    attributes_ = strings(u4(36), u4(24), "attributes");
    of_labels_ = u4(40);
    of_attributes_ = u4(44);
    labels_ = names(label_strings_, "labels");
    std::uint64_t slots = 0;
    for (const auto& table : attributes_.at) slots += table[1];
    const auto has = [&](std::uint32_t at, std::string_view magic, std::uint32_t n) {
        return at != 0 && at < data_.size() && data_.substr(at, 4) == magic && u4(std::uint64_t{at} + 8) >= n;
    };
    has_tables_ = slots >= attributes_.n && has(of_labels_, "LFRF", label_strings_.n) &&
                  has(of_attributes_, "AFRF", attributes_.n);
    if (!has_tables_) return;
    for (std::uint32_t y = 0; y < label_strings_.n; ++y) add_features(of_labels_, y, 1, transitions_);
}

CrfsuiteModel::Strings CrfsuiteModel::strings(std::uint32_t at, std::uint32_t n, const char* what) const {
    Strings made;
    made.begin = at;
    const std::uint64_t begin = at;
    if (data_.substr(std::min<std::size_t>(at, data_.size()), 4) != "CQDB" || u4(begin + 12) != kByteOrder ||
        u4(begin + 16) < n) {
        fail(message(what, ": expected ", n, " strings at byte ", at));
    }
    made.n = n;
    made.links = u4(begin + 20);
    if (begin + made.links + 4ull * n > data_.size()) fail(message(what, ": expected ", n, " offsets within the file"));
    // In a file without hash tables, the strings may begin here. The values read are then meaningless (see
    // has_tables_).
    for (std::uint32_t k = 0; k < 256; ++k) {
        const std::uint64_t place = begin + kStringsHeader + 8ull * k;
        if (place + 8 > data_.size()) {
            made.at[k] = {0, 0};
            continue;
        }
        made.at[k] = {u4(place), u4(place + 4)};
        if (begin + made.at[k][0] + 8ull * made.at[k][1] > data_.size()) made.at[k] = {0, 0};
    }
    return made;
}

std::string_view CrfsuiteModel::string_at(const Strings& of, std::uint32_t offset) const {
    const std::uint64_t at = std::uint64_t{of.begin} + offset;
    const std::uint32_t size = u4(at + 4);  // including the terminating 0
    if (size == 0 || at + 8 + size > data_.size() || data_[at + 7 + size] != 0) {
        fail(message("expected a string at byte ", at));
    }
    return data_.substr(at + 8, size - 1);
}

std::shared_ptr<StringTable> CrfsuiteModel::names(const Strings& of, const char* what) const {
    std::vector<std::uint8_t> bytes;
    std::vector<std::int64_t> ptr{0};
    for (std::uint32_t k = 0; k < of.n; ++k) {
        const std::uint32_t offset = u4(std::uint64_t{of.begin} + of.links + 4ull * k);
        const std::string_view name = string_at(of, offset);
        if (u4(std::uint64_t{of.begin} + offset) != k) fail(message(what, ": expected string ", k, " at its offset"));
        bytes.insert(bytes.end(), name.begin(), name.end());
        ptr.push_back(static_cast<std::int64_t>(bytes.size()));
        // Without this check, a file could make the reader allocate a hundred times its size.
        if (bytes.size() > data_.size()) fail(message(what, ": expected separate strings, found overlapping strings"));
    }
    try {
        return std::make_shared<StringTable>(bytes, ptr);
    } catch (const InputError& error) {
        fail(message(what, ": ", error.what()));
    }
}

std::optional<std::uint32_t> CrfsuiteModel::find(const Strings& in, std::string_view name) const {
    const std::uint32_t h = hash(name);
    const auto [begin, slots] = in.at[h % 256];
    for (std::uint32_t k = 0; k < slots; ++k) {
        const std::uint64_t slot = std::uint64_t{in.begin} + begin + 8ull * ((std::uint64_t{h >> 8} + k) % slots);
        const std::uint32_t offset = u4(slot + 4);
        if (offset == 0) return std::nullopt;
        if (u4(slot) == h && string_at(in, offset) == name) {
            const std::uint32_t id = u4(std::uint64_t{in.begin} + offset);
            if (id >= in.n) fail(message("expected an id below ", in.n, ", found ", id));
            return id;
        }
    }
    return std::nullopt;
}

CrfsuiteModel::Feature CrfsuiteModel::feature(std::uint32_t number) const {
    if (number >= n_features_) fail(message("expected a feature below ", n_features_, ", found ", number));
    const std::uint64_t at = std::uint64_t{features_} + std::uint64_t{kFeature} * number;
    const std::uint64_t bits = u4(at + 12) | std::uint64_t{u4(at + 16)} << 32;
    const Feature found{u4(at), u4(at + 4), u4(at + 8), bits_as<double>(bits)};
    const std::uint32_t sources = found.type == 1 ? label_strings_.n : attributes_.n;
    if (found.type > 1 || found.source >= sources || found.label >= label_strings_.n || !std::isfinite(found.weight)) {
        fail(message("feature ", number, ": expected type 0 or 1, a source below ", sources, ", a label below ",
                     label_strings_.n, " and a finite weight, found ", found.type, ", ", found.source, ", ",
                     found.label, " and ", found.weight));
    }
    return found;
}

void CrfsuiteModel::add_features(std::uint32_t table, std::uint32_t id, std::uint32_t type,
                                 std::vector<Feature>& out) const {
    const std::uint64_t list = u4(std::uint64_t{table} + 12 + 4ull * id);
    const std::uint32_t n = u4(list);
    if (list + 4 + 4ull * n > data_.size()) fail(message("expected ", n, " features in the list at byte ", list));
    for (std::uint32_t k = 0; k < n; ++k) {
        const std::uint32_t number = u4(list + 4 + 4ull * k);
        const Feature found = feature(number);
        if (found.type != type || found.source != id) {
            fail(message("feature ", number, ": expected type ", type, " and source ", id, ", found ", found.type,
                         " and ", found.source));
        }
        out.push_back(found);
    }
}

CrfsuiteModel::Slice CrfsuiteModel::slice(const StringTable& names, std::string_view bias) const {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> known;  // id in the file, id in `names`
    for (std::uint32_t k = 0; k < names.size(); ++k) {
        if (const auto id = find(attributes_, names[k])) known.emplace_back(*id, k);
    }
    std::sort(known.begin(), known.end());
    auto attributes = std::make_shared<StringTable>();
    std::vector<Feature> states;
    for (const auto& [id, k] : known) {
        const std::size_t begin = states.size();
        add_features(of_attributes_, id, 0, states);
        const std::uint32_t x = attributes->intern(names[k]);
        for (Feature& f : std::span(states).subspan(begin)) f.source = x;
    }
    return slice_of(std::move(attributes), bias, states, transitions_);
}

CrfsuiteModel::Slice CrfsuiteModel::whole(std::string_view bias) const {
    std::vector<Feature> of_type[2];
    for (std::uint32_t number = 0; number < n_features_; ++number) {
        const Feature found = feature(number);
        of_type[found.type].push_back(found);
    }
    return slice_of(names(attributes_, "attributes"), bias, of_type[0], of_type[1]);
}

CrfsuiteModel::Slice CrfsuiteModel::slice_of(std::shared_ptr<StringTable> attributes, std::string_view bias,
                                             std::span<const Feature> states,
                                             std::span<const Feature> transitions) const {
    const std::uint32_t pairs_of = attributes->intern(bias);
    const Numbering numbering(label_strings_.n, attributes->size());
    std::vector<std::pair<std::int64_t, double>> weights;  // sorted by feature number
    for (const Feature& f : states) weights.emplace_back(numbering.unigram.number(f.source, f.label), f.weight);
    for (const Feature& f : transitions) {
        weights.emplace_back(numbering.bigram.number(pairs_of, numbering.pairs.pair(f.source, f.label)), f.weight);
    }
    std::sort(weights.begin(), weights.end());
    Slice made{std::move(attributes), nullptr, {}};
    std::vector<std::int64_t> numbers;
    for (const auto& [number, w] : weights) {
        if (w == 0) continue;
        if (!numbers.empty() && number == numbers.back()) fail("expected distinct features, found one twice");
        numbers.push_back(number);
        made.w.push_back(w);
    }
    made.features =
        std::make_shared<FeatureSet>(FeatureSet::from_numbers(label_strings_.n, made.attributes->size(), numbers));
    return made;
}

}  // namespace sparsecrf
