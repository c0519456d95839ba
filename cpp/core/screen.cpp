#include "screen.hpp"

#include <algorithm>
#include <cmath>

#include "parallel.hpp"
#include "simd/kernels.hpp"

namespace sparsecrf {
namespace {

constexpr std::uint32_t kNoRow = 0xffffffffu;

// mass[x] += weight * v, or weight * |v|, for the attributes of a list.
void add_mass(const ListPool& lists, std::uint32_t list, double weight, bool absolute, std::vector<double>& mass) {
    for (std::int64_t k = lists.begin(list); k < lists.end(list); ++k) {
        mass[lists.id(k)] += weight * (absolute ? std::fabs(lists.value(k)) : lists.value(k));
    }
}

std::vector<bool> above(const std::vector<double>& mass, double bound) {
    std::vector<bool> is(mass.size());
    for (std::size_t x = 0; x < mass.size(); ++x) is[x] = mass[x] > bound;
    return is;
}

}  // namespace

Masses attribute_masses(const Corpus& corpus, const Plan& plan, bool absolute) {
    std::vector<double> weight(static_cast<std::size_t>(corpus.n_sequences()), 0.0);
    for (const Item& item : plan.items) {
        weight[static_cast<std::size_t>(item.sequence)] +=
            absolute ? std::fabs(item.weight) : std::max(item.weight, 0.0);
    }
    const std::vector<double> zero(corpus.n_attributes, 0.0);
    Masses mass{zero, zero, zero};
    for (std::int64_t i = 0; i < corpus.n_sequences(); ++i) {
        const double w = weight[static_cast<std::size_t>(i)];
        for (std::int64_t t = corpus.offsets[i]; t < corpus.offsets[i + 1]; ++t) {
            std::vector<double>& bigram = t == corpus.offsets[i] ? mass.start : mass.inner;
            add_mass(corpus.unigram_lists, corpus.unigram[t], w, absolute, mass.unigram);
            add_mass(corpus.base_lists, corpus.base[t], w, absolute, bigram);
            add_mass(corpus.rest_lists, corpus.rest[t], w, absolute, bigram);
        }
    }
    return mass;
}

Screen::Rows Screen::make_rows(const std::vector<double>& mass, double bound, int stride) {
    Rows made;
    made.row_of.assign(mass.size(), kNoRow);
    for (std::uint32_t x = 0; x < mass.size(); ++x) {
        if (mass[x] <= bound) continue;
        made.row_of[x] = static_cast<std::uint32_t>(made.keys.size());
        made.keys.push_back(x);
    }
    made.sums.assign(made.keys.size() * static_cast<std::size_t>(stride), 0.0);
    return made;
}

Screen::Screen(const Corpus& corpus, const Plan& plan, double bound, int threads)
    : Screen(corpus, plan, attribute_masses(corpus, plan, true), bound, threads) {}

Screen::Screen(const Corpus& corpus, const Plan& plan, const Masses& mass, double bound, int threads)
    : corpus_(corpus),
      plan_(plan),
      bound_(bound),
      threads_(threads),
      n_labels_(corpus.n_labels),
      stride_(padded(corpus.n_labels)),
      index_(corpus, plan, above(mass.unigram, bound), threads),
      unigram_(index_.attributes.size() * static_cast<std::size_t>(stride_), 0.0) {
    previous_ = make_rows(mass.inner, bound, stride_);
    label_ = make_rows(mass.inner, bound, stride_);
    start_ = make_rows(mass.start, bound, stride_);
    for (auto* lists : {&list_previous_, &list_label_, &list_start_}) {
        lists->assign(corpus.base_lists.size(), AlignedVector<double>(static_cast<std::size_t>(stride_), 0.0));
    }
}

void Screen::add(std::size_t b, const BlockRows& rows) {
    const Block& block = plan_.blocks[b];
    const Kernels& k = kernels();
    const auto row = [&](std::uint32_t r) { return rows.p.data() + static_cast<std::size_t>(r) * stride_; };
    const auto each = [&](const Occurrences& all, auto visit) {
        parallel_for(static_cast<std::int64_t>(all.keys.size()), threads_, 64, [&](int, std::int64_t key) {
            for (std::uint32_t o = all.ptr[key]; o < all.ptr[key + 1]; ++o) {
                const std::uint32_t r = all.rows[o];
                visit(all.keys[key], r, std::fabs(rows.weight[r] * all.value(o)));
            }
        });
    };
    const auto add_to = [&](Rows& to, std::uint32_t x, std::uint32_t r, double f) {
        if (to.row_of[x] == kNoRow) return;
        k.axpy(f, row(r), stride_, to.sums.data() + static_cast<std::size_t>(to.row_of[x]) * stride_);
    };
    each(index_.blocks[b], [&](std::uint32_t x, std::uint32_t r, double f) {
        k.axpy(f, row(r), stride_, unigram_.data() + static_cast<std::size_t>(x) * stride_);
    });
    each(block.rest, [&](std::uint32_t x, std::uint32_t r, double f) {
        if (r == rows.first_row[rows.item[r]]) {
            add_to(start_, x, r, f);
        } else {
            add_to(previous_, x, r - 1, f);
            add_to(label_, x, r, f);
        }
    });
    each(block.inner, [&](std::uint32_t list, std::uint32_t r, double f) {
        k.axpy(f, row(r - 1), stride_, list_previous_[list].data());
        k.axpy(f, row(r), stride_, list_label_[list].data());
    });
    each(block.start,
         [&](std::uint32_t list, std::uint32_t r, double f) { k.axpy(f, row(r), stride_, list_start_[list].data()); });
}

std::vector<std::int64_t> Screen::candidates() const {
    // Base attributes: their lists' sums, in the order of the lists.
    Rows previous = previous_, label = label_, start = start_;
    const ListPool& lists = corpus_.base_lists;
    for (std::uint32_t list = 0; list < lists.size(); ++list) {
        for (std::int64_t e = lists.begin(list); e < lists.end(list); ++e) {
            const auto add = [&](Rows& to, const AlignedVector<double>& from) {
                const std::uint32_t row = to.row_of[lists.id(e)];
                if (row == kNoRow) return;
                kernels().axpy(std::fabs(lists.value(e)), from.data(), stride_,
                               to.sums.data() + static_cast<std::size_t>(row) * stride_);
            };
            add(previous, list_previous_[list]);
            add(label, list_label_[list]);
            add(start, list_start_[list]);
        }
    }
    const auto over = [&](const AlignedVector<double>& sums, std::uint32_t row) {
        std::vector<std::int64_t> labels;
        for (int y = 0; y < n_labels_; ++y) {
            if (sums[static_cast<std::size_t>(row) * stride_ + y] > bound_) labels.push_back(y);
        }
        return labels;
    };
    const std::int64_t Y = n_labels_, X = corpus_.n_attributes;
    std::vector<std::int64_t> out;
    for (std::uint32_t row = 0; row < index_.attributes.size(); ++row) {
        for (const std::int64_t y : over(unigram_, row)) out.push_back(index_.attributes[row] * Y + y);
    }
    for (std::int64_t x = 0; x < X; ++x) {
        const std::int64_t first = X * Y + x * (Y + 1) * Y;
        if (previous.row_of[x] != kNoRow) {
            const auto ys = over(label.sums, label.row_of[x]);
            for (const std::int64_t before : over(previous.sums, previous.row_of[x])) {
                for (const std::int64_t y : ys) out.push_back(first + before * Y + y);
            }
        }
        if (start.row_of[x] != kNoRow) {
            for (const std::int64_t y : over(start.sums, start.row_of[x])) out.push_back(first + Y * Y + y);
        }
    }
    return out;
}

}  // namespace sparsecrf
