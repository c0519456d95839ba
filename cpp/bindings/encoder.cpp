// Python tokens to a corpus, one sequence at a time: strings are interned on the way and no Python object is kept.
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "arrays.hpp"
#include "core/corpus.hpp"
#include "core/string_table.hpp"
#include "core/text_encoder.hpp"
#include "module.hpp"
#include "rows.hpp"

namespace sparsecrf::bindings {
namespace {

// "int 3": type and the first 80 characters.
std::string described(nb::handle x) {
    const nb::object start = nb::repr(x)[nb::slice(nb::int_(0), nb::int_(80), nb::int_(1))];
    return nb::cast<std::string>(x.type().attr("__name__")) + " " + nb::cast<std::string>(start);
}

// One level of a recursion over Python objects: too deep, or a mapping within itself, is Python's RecursionError.
struct Deeper {
    explicit Deeper(const char* where) {
        if (Py_EnterRecursiveCall(where) != 0) throw nb::python_error();
    }
    ~Deeper() { Py_LeaveRecursiveCall(); }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
};

class Encoder {
   public:
    // grow: unknown attributes and labels get an id; otherwise attributes are left out and labels are an error.
    // bigram: None (no attribute of a token conditions label pairs), True (all do), or a predicate on the attribute,
    // called once for each. bias: an attribute that conditions label pairs at every position, or empty.
    // start: whether bigram attributes of the first position condition the pair (start, label).
    // skip_empty: a sequence without tokens is left out instead of being an error.
    // lines: a template that makes the attributes, tokens being rows of columns; it also says which condition pairs.
    Encoder(std::shared_ptr<StringTable> attributes, std::shared_ptr<StringTable> labels, nb::object bigram,
            const std::string& bias, bool start, bool grow, bool skip_empty, std::shared_ptr<const Template> lines)
        : attributes_(std::move(attributes)),
          labels_(std::move(labels)),
          bigram_(std::move(bigram)),
          start_(start),
          grow_(grow),
          skip_empty_(skip_empty),
          lines_(std::move(lines)),
          names_(attributes_, grow),
          expander_(names_, start) {
        if (bias.empty() || lines_) return;
        if (grow_) attributes_->intern(bias);
        if (const auto id = attributes_->find(bias)) bias_.push_back({*id, 1.0});
    }

    // Returns the number of positions.
    std::int64_t add(nb::handle tokens, nb::handle labels, nb::handle weight, nb::handle token_weights) {
        return add_sequence(labels, weight, token_weights, [&](const auto& position) {
            if (lines_) return add_rows(tokens, position);
            const nb::iterator all = iterate(tokens, "an iterable of tokens");
            position_ = 0;
            for (const nb::handle token : all) {
                add_token(token);
                position();
            }
        });
    }

    // The same for rows of a CSR matrix: ptr [T + 1], column and value [entries], id [columns] of the attribute that a
    // column stands for, -1: none.
    std::int64_t add_matrix(Array1<std::int64_t> ptr, Array1<std::int32_t> column, Array1<double> value,
                            Array1<std::int64_t> id, nb::handle labels, nb::handle weight, nb::handle token_weights) {
        return add_sequence(labels, weight, token_weights, [&](const auto& position) {
            position_ = 0;
            for (std::size_t t = 0; t + 1 < ptr.size(); ++t) {
                b_ = bias_;
                const std::int64_t begin = ptr.data()[t], end = ptr.data()[t + 1];
                if (begin < 0 || end < begin || end > static_cast<std::int64_t>(std::min(column.size(), value.size())))
                    throw InputError(message(here(), ": expected a CSR matrix, found rows that overlap its end"));
                for (std::int64_t k = begin; k < end; ++k) {
                    const std::int32_t c = column.data()[k];
                    if (c < 0 || c >= static_cast<std::int64_t>(id.size()))
                        throw InputError(message(here(), ": expected a column below ", id.size(), ", found ", c));
                    const std::int64_t x = id.data()[c];
                    if (x >= 0 && value.data()[k] != 0.0) add_known(static_cast<std::uint32_t>(x), value.data()[k]);
                }
                position();
            }
        });
    }

    // sort_labels: their ids become those of their order by name, so that the order of the data does not show.
    std::shared_ptr<Corpus> build(bool sort_labels) {
        const nb::gil_scoped_release unlocked;
        if (sort_labels) sort();
        return std::make_shared<Corpus>(builder_.build(labels_->size(), attributes_->size()));
    }

   private:
    [[noreturn]] void fail(const std::string& expected, nb::handle found) const {
        throw InputError(message(here(), ": expected ", expected, ", found ", described(found)));
    }
    std::string here() const {
        if (position_ == kWholeSequence) return message("sequence ", sequence_);
        return message("sequence ", sequence_, ", position ", position_);
    }

    nb::iterator iterate(nb::handle x, const char* expected) const {
        PyObject* iterator = PyObject_GetIter(x.ptr());
        if (iterator == nullptr) {
            if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw nb::python_error();
            PyErr_Clear();
            fail(expected, x);
        }
        return nb::steal<nb::iterator>(iterator);
    }

    std::string_view text(nb::handle x) const {
        Py_ssize_t size = 0;
        const char* data = PyUnicode_AsUTF8AndSize(x.ptr(), &size);
        if (data == nullptr) {
            PyErr_Clear();
            fail("text that UTF-8 can encode", x);
        }
        return {data, static_cast<std::size_t>(size)};
    }

    // `fill` fills u_ and b_ for a position and calls what it is given, once for each.
    template <class Fill>
    std::int64_t add_sequence(nb::handle labels, nb::handle weight, nb::handle token_weights, const Fill& fill) {
        const std::int64_t before = builder_.n_tokens();
        sequence_ = builder_.n_seen();
        position_ = kWholeSequence;
        u_.clear();
        builder_.begin_sequence(number(weight, "a sequence weight to be a number"));
        try {
            Beside label = beside(labels, "an iterable of labels");
            Beside token_weight = beside(token_weights, "an iterable of token weights");
            fill([&] {
                const std::int32_t y = label.given ? label_id(next(label, "a label")) : kMissing;
                const double w =
                    token_weight.given ? number(next(token_weight, "a weight"), "a token weight to be a number") : 1.0;
                if (position_ == 0 && !start_) b_.clear();
                builder_.add_position(u_, b_, y, w);
                ++position_;
            });
            if (label.given && label.at != nb::iterator::sentinel())
                throw InputError(
                    message(here(), ": expected no token beyond the last label, found more labels than tokens"));
            if (token_weight.given && token_weight.at != nb::iterator::sentinel())
                throw InputError(message(here(), ": expected one weight a token, found more"));
            if (position_ <= 0 && skip_empty_) {
                builder_.skip_sequence();
            } else {
                builder_.end_sequence();
            }
        } catch (...) {
            builder_.abandon_sequence();
            throw;
        }
        return builder_.n_tokens() - before;
    }

    // What comes with the tokens, one for each.
    struct Beside {
        bool given;
        nb::iterator at;
    };
    Beside beside(nb::handle values, const char* expected) const {
        if (values.is_none()) return {false, {}};
        return {true, iterate(values, expected)};
    }
    nb::object next(Beside& values, const char* what) const {
        if (values.at == nb::iterator::sentinel())
            throw InputError(message(here(), ": expected ", what, " for every token, found no more"));
        const nb::object value = nb::borrow(*values.at);
        ++values.at;
        return value;
    }

    template <class Position>
    void add_rows(nb::handle tokens, const Position& position) {
        PyObject* list = PySequence_List(tokens.ptr());
        if (list == nullptr) {
            PyErr_Clear();
            fail("an iterable of rows of columns", tokens);
        }
        nb::list owners;
        const Rows rows = rows_of(nb::steal<nb::sequence>(list), owners, here() + ", ");
        position_ = 0;
        if (rows.length > 0) lines_->check_columns(rows.n_columns, here());
        for (std::int64_t t = 0; t < rows.length; ++t) {
            b_.clear();
            expander_.expand(*lines_, rows, t, u_, b_);
            position();
        }
    }

    void sort() {
        std::vector<std::uint32_t> order(labels_->size());  // [Y] old ids by name
        std::iota(order.begin(), order.end(), 0u);
        std::sort(order.begin(), order.end(), [&](auto a, auto b) { return (*labels_)[a] < (*labels_)[b]; });
        std::vector<std::int32_t> to(order.size());
        StringTable sorted;
        for (const std::uint32_t y : order) to[y] = static_cast<std::int32_t>(sorted.intern((*labels_)[y]));
        builder_.rename_labels(to);
        *labels_ = std::move(sorted);
    }

    std::int32_t label_id(nb::handle label) {
        if (label.is_none()) return kMissing;
        if (!PyUnicode_Check(label.ptr())) fail("a label (text, or None where it is missing)", label);
        const std::string_view name = text(label);
        if (grow_) return static_cast<std::int32_t>(labels_->intern(name));
        if (const auto id = labels_->find(name)) return static_cast<std::int32_t>(*id);
        fail("a label of the model", label);
    }

    double number(nb::handle x, const char* what) const {
        const double value = PyFloat_AsDouble(x.ptr());
        if (value == -1.0 && PyErr_Occurred()) {
            PyErr_Clear();
            fail(what, x);
        }
        return value;
    }

    // str: one attribute. Mapping: name -> number, text ("name:text"), or nested. Iterable: attributes, or pairs
    // (attribute, value).
    void add_token(nb::handle token) {
        b_ = bias_;
        if (PyUnicode_Check(token.ptr())) {
            add_attribute(text(token), 1.0);
        } else if (nb::isinstance<nb::dict>(token) || nb::hasattr(token, "items")) {
            add_mapping(token, "");
        } else if (nb::hasattr(token, "__iter__") && !PyBytes_Check(token.ptr())) {
            for (const nb::handle item : nb::iter(token)) add_item(item);
        } else {
            fail("a token (text, a mapping, or a list of attributes)", token);
        }
    }

    void add_item(nb::handle item) {
        if (PyUnicode_Check(item.ptr())) return add_attribute(text(item), 1.0);
        if (!nb::isinstance<nb::tuple>(item) || nb::len(item) != 2 || !PyUnicode_Check(nb::handle(item[0]).ptr())) {
            fail("an attribute (text) or a pair (attribute, value)", item);
        }
        const nb::object name = item[0], value = item[1];
        add_attribute(text(name), number(value, "an attribute's value to be a number"));
    }

    void add_mapping(nb::handle mapping, std::string_view prefix) {
        const Deeper level("reading a token's nested mappings");
        if (PyDict_CheckExact(mapping.ptr())) {
            PyObject *key, *value;
            for (Py_ssize_t at = 0; PyDict_Next(mapping.ptr(), &at, &key, &value);) {
                const nb::object kept = nb::borrow(value);  // reading a value can run code that changes the mapping
                add_entry(prefix, nb::borrow(key), kept);
            }
            return;
        }
        const nb::object items = mapping.attr("items")();
        for (const nb::handle pair : nb::iter(items)) add_entry(prefix, pair[0], pair[1]);
    }

    void add_entry(std::string_view prefix, const nb::object& key, const nb::object& value) {
        if (!PyUnicode_Check(key.ptr())) fail("an attribute's name to be text", key);
        const std::string_view name[] = {prefix, text(key)};
        if (PyUnicode_Check(value.ptr())) {
            add_named(name, text(value));
        } else if (nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value) || PyAnySet_Check(value.ptr())) {
            for (const nb::handle item : nb::iter(value)) {
                if (!PyUnicode_Check(item.ptr())) fail("a list of text as an attribute's value", item);
                add_named(name, text(item));
            }
        } else if (!PyFloat_Check(value.ptr()) && !PyLong_Check(value.ptr()) && nb::hasattr(value, "items")) {
            add_mapping(value, message(name[0], name[1], ":"));
        } else {
            const double number_found = number(value, "an attribute's value (number, text, list of text, or mapping)");
            add_attribute(name, TextHash(name[0]) + TextHash(name[1]), number_found);
        }
    }

    // The attribute "name:text".
    void add_named(const std::string_view (&name)[2], std::string_view text) {
        static const TextHash colon(":");
        const std::string_view parts[] = {name[0], name[1], ":", text};
        add_attribute(parts, TextHash(name[0]) + TextHash(name[1]) + colon + TextHash(text), 1.0);
    }

    void add_attribute(std::string_view name, double value) { add_attribute({&name, 1}, TextHash(name), value); }

    void add_attribute(std::span<const std::string_view> parts, const TextHash& hash, double value) {
        const std::int64_t id = names_.id(parts, hash);
        if (id != Names::kUnknown) add_known(static_cast<std::uint32_t>(id), value);
    }

    void add_known(std::uint32_t id, double value) {
        u_.push_back({id, value});
        const bool is_bias = !bias_.empty() && bias_.front().id == id;  // it is in b_ already
        if (!is_bias && conditions_pairs(id)) b_.push_back({id, value});
    }

    bool conditions_pairs(std::uint32_t id) {
        if (bigram_.is_none()) return false;
        if (bigram_.ptr() == Py_True) return true;
        if (id >= pairs_.size()) pairs_.resize(std::max<std::size_t>(id + 1, attributes_->size()), kUnknown);
        if (pairs_[id] == kUnknown) pairs_[id] = nb::cast<bool>(nb::bool_(bigram_((*attributes_)[id]))) ? kYes : kNo;
        return pairs_[id] == kYes;
    }

    static constexpr std::int64_t kWholeSequence = -1;
    enum Answer : char { kUnknown, kYes, kNo };
    std::shared_ptr<StringTable> attributes_, labels_;
    nb::object bigram_;
    bool start_, grow_, skip_empty_;
    std::shared_ptr<const Template> lines_;
    Names names_;  // of attributes_
    Expander expander_;
    std::vector<Attribute> bias_, u_, b_;
    std::vector<Answer> pairs_;  // the predicate's answers by attribute
    CorpusBuilder builder_;
    std::int64_t sequence_ = 0, position_ = 0;  // the current ones
};

}  // namespace

void bind_encoder(nb::module_& m) {
    nb::class_<Encoder>(m, "Encoder", "Builds a corpus from Python tokens, keeping none of them.")
        .def(nb::init<std::shared_ptr<StringTable>, std::shared_ptr<StringTable>, nb::object, const std::string&, bool,
                      bool, bool, std::shared_ptr<const Template>>(),
             nb::kw_only(), nb::arg("attributes"), nb::arg("labels"), nb::arg("bigram").none(), nb::arg("bias"),
             nb::arg("start"), nb::arg("grow"), nb::arg("skip_empty") = false, nb::arg("template").none() = nb::none())
        .def("add", &Encoder::add, nb::arg("tokens").none(), nb::arg("labels").none() = nb::none(),
             nb::arg("weight").none() = 1.0, nb::arg("token_weights").none() = nb::none(),
             "Append a sequence; returns its length.")
        .def("add_matrix", &Encoder::add_matrix, nb::arg("ptr").noconvert(), nb::arg("column").noconvert(),
             nb::arg("value").noconvert(), nb::arg("id").noconvert(), nb::arg("labels").none() = nb::none(),
             nb::arg("weight").none() = 1.0, nb::arg("token_weights").none() = nb::none(),
             "Append the rows of a CSR matrix; id: the attribute of each column, -1: none.")
        .def("build", &Encoder::build, nb::arg("sort_labels") = false,
             "The corpus of all sequences added; the encoder is empty again. sort_labels: new ids by name.");
}

}  // namespace sparsecrf::bindings
