// Part of kernels.inl: label n-grams at eight positions side by side. inference/ngrams/ngram_correction.cpp explains
// the formulas; here every scalar is a row of eight values.

struct Row {
    Vec x[kParts];
};

SPARSECRF_INLINE Row row(const double* p, std::size_t k) {
    Row r;
    SPARSECRF_UNROLL
    for (int i = 0; i < kParts; ++i) r.x[i] = load(p + k * kLanes + i * L);
    return r;
}
SPARSECRF_INLINE void put(double* p, std::size_t k, const Row& r) {
    SPARSECRF_UNROLL
    for (int i = 0; i < kParts; ++i) store(p + k * kLanes + i * L, r.x[i]);
}
SPARSECRF_INLINE Row every(double x) {
    Row r;
    SPARSECRF_UNROLL
    for (int i = 0; i < kParts; ++i) r.x[i] = broadcast(x);
    return r;
}
SPARSECRF_INLINE Row operator+(const Row& a, const Row& b) {
    Row r;
    SPARSECRF_UNROLL
    for (int i = 0; i < kParts; ++i) r.x[i] = a.x[i] + b.x[i];
    return r;
}
SPARSECRF_INLINE Row operator-(const Row& a, const Row& b) {
    Row r;
    SPARSECRF_UNROLL
    for (int i = 0; i < kParts; ++i) r.x[i] = a.x[i] - b.x[i];
    return r;
}
SPARSECRF_INLINE Row operator*(const Row& a, const Row& b) {
    Row r;
    SPARSECRF_UNROLL
    for (int i = 0; i < kParts; ++i) r.x[i] = a.x[i] * b.x[i];
    return r;
}
SPARSECRF_INLINE Row larger(const Row& a, const Row& b) {
    Row r;
    SPARSECRF_UNROLL
    for (int i = 0; i < kParts; ++i) r.x[i] = select(a.x[i] > b.x[i], a.x[i], b.x[i]);
    return r;
}
// Clears `safe` unless a >= b; NaN clears it, too.
SPARSECRF_INLINE void require_not_below(Row& safe, const Row& a, const Row& b) {
    SPARSECRF_UNROLL
    for (int i = 0; i < kParts; ++i) safe.x[i] = select(a.x[i] >= b.x[i], safe.x[i], broadcast(0.0));
}

// Transposes eight rows of eight numbers.
SPARSECRF_INLINE void transpose(Row (&r)[kLanes]) {
#if SPARSECRF_LANES == 8 && defined(SPARSECRF_SHUFFLES)
    Row s[kLanes];
    SPARSECRF_UNROLL
    for (int i = 0; i < 4; ++i) {  // exchange halves of rows i and i + 4
        s[i].x[0] = __builtin_shufflevector(r[i].x[0], r[i + 4].x[0], 0, 1, 2, 3, 8, 9, 10, 11);
        s[i + 4].x[0] = __builtin_shufflevector(r[i].x[0], r[i + 4].x[0], 4, 5, 6, 7, 12, 13, 14, 15);
    }
    SPARSECRF_UNROLL
    for (int j = 0; j < 2; ++j) {
        SPARSECRF_UNROLL
        for (int i = 4 * j; i < 4 * j + 2; ++i) {  // exchange quarters
            r[i].x[0] = __builtin_shufflevector(s[i].x[0], s[i + 2].x[0], 0, 1, 8, 9, 4, 5, 12, 13);
            r[i + 2].x[0] = __builtin_shufflevector(s[i].x[0], s[i + 2].x[0], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    }
    SPARSECRF_UNROLL
    for (int i = 0; i < kLanes; i += 2) {  // exchange single numbers
        s[i].x[0] = __builtin_shufflevector(r[i].x[0], r[i + 1].x[0], 0, 8, 2, 10, 4, 12, 6, 14);
        s[i + 1].x[0] = __builtin_shufflevector(r[i].x[0], r[i + 1].x[0], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    SPARSECRF_UNROLL
    for (int i = 0; i < kLanes; ++i) r[i] = s[i];
#elif SPARSECRF_LANES == 4 && defined(SPARSECRF_SHUFFLES)
    Row s[kLanes];
    SPARSECRF_UNROLL
    for (int j = 0; j < 2; ++j) {  // 4 x 4 tiles: rows from 4 j, columns from 4 i
        SPARSECRF_UNROLL
        for (int i = 0; i < 2; ++i) {
            const Vec a = r[4 * j].x[i], b = r[4 * j + 1].x[i], c = r[4 * j + 2].x[i], d = r[4 * j + 3].x[i];
            const Vec e = __builtin_shufflevector(a, b, 0, 4, 2, 6), f = __builtin_shufflevector(a, b, 1, 5, 3, 7),
                      g = __builtin_shufflevector(c, d, 0, 4, 2, 6), h = __builtin_shufflevector(c, d, 1, 5, 3, 7);
            s[4 * i].x[j] = __builtin_shufflevector(e, g, 0, 1, 4, 5);
            s[4 * i + 1].x[j] = __builtin_shufflevector(f, h, 0, 1, 4, 5);
            s[4 * i + 2].x[j] = __builtin_shufflevector(e, g, 2, 3, 6, 7);
            s[4 * i + 3].x[j] = __builtin_shufflevector(f, h, 2, 3, 6, 7);
        }
    }
    SPARSECRF_UNROLL
    for (int i = 0; i < kLanes; ++i) r[i] = s[i];
#else
    double from[kLanes][kLanes], to[kLanes][kLanes];
    for (int i = 0; i < kLanes; ++i) put(from[i], 0, r[i]);
    for (int i = 0; i < kLanes; ++i) {
        for (int j = 0; j < kLanes; ++j) to[i][j] = from[j][i];
    }
    for (int i = 0; i < kLanes; ++i) r[i] = row(to[i], 0);
#endif
}

void to_rows(const double* const* x, int n, double* rows) {
    int j = 0;
    for (; j + kLanes <= n; j += kLanes) {
        Row r[kLanes];
        SPARSECRF_UNROLL
        for (int l = 0; l < kLanes; ++l) r[l] = row(x[l] + j, 0);
        transpose(r);
        SPARSECRF_UNROLL
        for (int i = 0; i < kLanes; ++i) put(rows, static_cast<std::size_t>(j + i), r[i]);
    }
    for (; j < n; ++j) {
        for (int l = 0; l < kLanes; ++l) rows[j * kLanes + l] = x[l][j];
    }
}

void from_rows(const double* rows, int n, double* const* x) {
    for (int j = 0; j < n; j += kLanes) {
        Row r[kLanes];
        SPARSECRF_UNROLL
        for (int i = 0; i < kLanes; ++i) r[i] = row(rows, static_cast<std::size_t>(j + i));
        transpose(r);
        SPARSECRF_UNROLL
        for (int l = 0; l < kLanes; ++l) put(x[l] + j, 0, r[l]);
    }
}

void spread(const double* x, std::size_t n, double* rows) {
    for (std::size_t k = 0; k < n; ++k) put(rows, k, every(x[k]));
}

// sum[k] += total of row k, in the order of `reduce`, for n rows; `rows` and `sum` are padded to a multiple of eight.
void add_totals(const double* rows, std::size_t n, double* sum) {
    for (std::size_t k = 0; k < n; k += kLanes) {
        Row r[kLanes];
        SPARSECRF_UNROLL
        for (int i = 0; i < kLanes; ++i) r[i] = row(rows, k + static_cast<std::size_t>(i));
        transpose(r);
        put(sum + k, 0, row(sum + k, 0) + (((r[0] + r[4]) + (r[2] + r[6])) + ((r[1] + r[5]) + (r[3] + r[7]))));
    }
}

// Pointers are copied before each loop, because the compiler must assume that storing a row could change them. Loops
// over leaves are not nested in loops over histories: a history has only one or two leaves, so the end of the inner
// loop would be mispredicted.

void ngram_masses(const NgramRows& of) {
    const std::uint16_t *label = of.label, *first = of.first;
    const double *scaled = of.scaled, *alpha = of.alpha;
    double* mass = of.mass;
    for (std::size_t h = 0, n = of.n_history_pairs; h < n; ++h)
        put(mass, h, row(scaled, label[h]) * row(alpha, first[h]));
}

SPARSECRF_INLINE void sum_leaves(const NgramRows& of) {
    const std::uint32_t *parent = of.parent, *history = of.history;
    const double *more = of.more, *mass = of.mass;
    double* leaves = of.leaves;
    for (std::size_t k = 0, n = of.n_inner + of.n_own; k < n; ++k) put(leaves, k, every(0.0));
    for (std::size_t k = 0, n = of.n_leaves; k < n; ++k)
        put(leaves, parent[k], row(leaves, parent[k]) + row(mass, history[k]) * every(more[k]));
}

void ngram_forward(const NgramRows& of, int n) {
    const Row least = every(of.least);
    Row safe = row(of.safe, 0);
    sum_leaves(of);
    const std::size_t n_inner = of.n_inner, n_own = of.n_own;
    const double *leaves = of.leaves, *alpha = of.alpha, *weight = of.weight;
    double *node = of.node, *u = of.u, *touched = of.v;
    for (std::size_t k = 0; k < n_inner + n_own; ++k) put(node, k, row(leaves, k));
    for (std::size_t g = 0; g < n_inner; ++g) {
        const std::size_t arc = of.n_leaves + g, parent = of.parent[arc];
        const Row mass = row(of.mass, of.history[arc]), own = mass * every(of.x[arc]);
        const Row value = own + row(node, g);
        require_not_below(safe, value, least * own);
        put(node, g, value);
        put(node, parent, row(node, parent) + (value - mass * every(of.x_parent[arc])));
    }
    const auto width = static_cast<std::size_t>(n);
    for (std::size_t y = 0; y < width; ++y) put(touched, y, row(u, y));
    const std::uint16_t *previous = of.pair_previous, *label = of.pair_label;
    for (std::size_t k = 0; k < n_own; ++k) {
        const Row own = row(alpha, previous[k]), sum = row(node, n_inner + k), both = own + sum;
        put(node, n_inner + k, both);
        require_not_below(safe, both, least * own);
        put(u, label[k], row(u, label[k]) + row(weight, k) * sum);
    }
    for (std::size_t y = 0; y < width; ++y) require_not_below(safe, row(u, y), least * row(touched, y));
    put(of.safe, 0, safe);
}

void ngram_values(const NgramRows& of) {
    const std::uint16_t* label = of.pair_label;
    const double* v = of.v;
    double* value = of.value;
    const std::size_t n_inner = of.n_inner, n_own = of.n_own;
    for (std::size_t g = 0; g < n_inner; ++g) put(value, g, row(v, label[of.pair_of[of.n_leaves + g]]));
    for (std::size_t k = 0; k < n_own; ++k) put(value, n_inner + k, row(v, label[k]));
}

// Computes dB, the flow and p of arcs and pairs. As in NgramFamily, sums of leaves do not contain the factor X.
template <bool kSums, bool kSquares>
SPARSECRF_INLINE void leaves_backward(const NgramRows& of, Row& safe) {
    const Row most = every(of.most), item = row(of.item, 0);
    const std::uint32_t *parent = of.parent, *history = of.history;
    const double *more = of.more, *x_parent = of.x_parent, *mass = of.mass, *flows = of.leaves;
    double *rise = of.rise, *term = of.term, *term_square = of.term_square;
    for (std::size_t k = 0, n = of.n_leaves; k < n; ++k) {
        const std::size_t h = history[k];
        const Row flow = row(flows, parent[k]), p = row(mass, h) * flow;
        put(rise, h, row(rise, h) + flow * every(more[k]));
        require_not_below(safe, most, p * every(x_parent[k]));
        if (kSums) put(term, k, item * p);
        if (kSquares) put(term_square, k, item * p * p);
    }
}

void ngram_backward(const NgramRows& of) {
    const std::size_t n_inner = of.n_inner, n_own = of.n_own, n_leaves = of.n_leaves;
    const Row zero = every(0.0), most = every(of.most);
    Row safe = row(of.safe, 0);
    const double *weight = of.weight, *alpha = of.alpha, *v = of.v;
    double *rises = of.rise, *values = of.value, *node_sum = of.node_sum, *leaves = of.leaves, *node = of.node;
    for (std::size_t h = 0, n = of.n_histories; h < n; ++h) put(rises, h, zero);
    // leaves: from sums to flow; values: from e / c B' to V = X e / c B'
    for (std::size_t g = 0; g < n_inner; ++g) {
        const Row to = row(values, g);
        put(node_sum, g, to * row(leaves, g));
        put(leaves, g, row(weight, of.pair_of[n_leaves + g]) * to);
        put(values, g, every(of.x[n_leaves + g]) * to);
    }
    for (std::size_t k = 0; k < n_own; ++k) {
        const Row to = row(values, n_inner + k);
        put(node_sum, n_inner + k, to * row(leaves, n_inner + k));
        put(leaves, n_inner + k, row(weight, k) * to);
    }
    for (std::size_t g = 0; g < n_inner; ++g) {
        const std::size_t arc = n_leaves + g, parent = of.parent[arc], h = of.history[arc];
        const Row mass = row(of.mass, h), e = row(weight, of.pair_of[arc]), value = row(values, g);
        const Row above = row(values, parent), rise = value - above, sums = row(node_sum, g);
        require_not_below(safe, most, mass * e * above);
        const Row p = e * (mass * value + sums);
        put(node, g, p);
        put(node_sum, parent, row(node_sum, parent) + (mass * rise + sums));
        put(rises, h, row(rises, h) + e * rise);
        if (of.sum != nullptr) put(of.term, arc, row(of.item, 0) * p);
        if (of.square != nullptr) put(of.term_square, arc, row(of.item, 0) * p * p);
    }
    if (of.square != nullptr) {
        leaves_backward<true, true>(of, safe);
    } else if (of.sum != nullptr) {
        leaves_backward<true, false>(of, safe);
    } else {
        leaves_backward<false, false>(of, safe);
    }
    if (of.sum != nullptr) add_totals(of.term, n_leaves + n_inner, of.sum);
    if (of.square != nullptr) add_totals(of.term_square, n_leaves + n_inner, of.square);
    const std::uint16_t *previous = of.pair_previous, *label = of.pair_label;
    for (std::size_t k = 0; k < n_own; ++k) {
        const std::size_t n = n_inner + k;
        const Row before = row(alpha, previous[k]), plain = row(v, label[k]), e = row(weight, k);
        require_not_below(safe, most, e * before * plain);
        put(node, n, e * (before * (row(values, n) - plain) + row(node_sum, n)));
    }
    put(of.safe, 0, safe);
}

void ngram_histories(const NgramRows& of, int n) {
    const Row zero = every(0.0), most = every(of.most);
    Row safe = row(of.safe, 0);
    const std::uint16_t* label = of.label;
    const double *betas = of.beta, *masses = of.mass, *scaled = of.scaled;
    double *rises = of.rise, *p = of.p, *steps = of.steps;
    for (std::size_t y = 0; y < static_cast<std::size_t>(n); ++y) put(p, y, zero);
    for (std::size_t h = 0, last = of.n_history_pairs; h < last; ++h) {
        const std::size_t y = label[h];
        const Row beta = row(betas, y), mass = row(masses, h), rise = larger(row(rises, h), zero - beta);
        require_not_below(safe, most, mass * beta);
        put(rises, h, rise);
        put(p, y, row(p, y) + mass * rise);
        put(steps, h, row(scaled, y) * rise);
    }
    for (std::size_t h = of.n_history_pairs; h < of.n_histories; ++h) {
        const std::size_t y = label[h];
        const Row beta = row(betas, y), mass = row(masses, h);
        const Row below = of.suffix[h] == NgramRows::kNone ? zero : row(rises, of.suffix[h]);
        const Row rise = larger(below + row(rises, h), zero - beta);
        require_not_below(safe, most, mass * (beta + below));
        put(rises, h, rise);
        put(p, y, row(p, y) + mass * (rise - below));
    }
    put(of.safe, 0, safe);
}

// step(y') += E(y', y) e(y) / c (B(y' y) - beta(y))
void ngram_steps(const NgramRows& of, int n) {
    const std::uint16_t* first = of.first;
    const double* steps = of.steps;
    double* step = of.step;
    for (std::size_t y = 0; y <= static_cast<std::size_t>(n); ++y) put(step, y, every(0.0));
    for (std::size_t h = 0, last = of.n_history_pairs; h < last; ++h)
        put(step, first[h], row(step, first[h]) + row(steps, h));
}
