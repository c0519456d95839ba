// The C library (cpp/c/sparsecrf.h) as WebAssembly: models that label in a browser or in Node, without a network. Part of
// the page of `sparsecrf report --try` and, with its exports, the npm package (cpp/wasm).

/** A running instance of sparsecrf.wasm. */
class Sparsecrf {
  /** `bytes`: the content of sparsecrf.wasm, as a buffer or compiled. */
  static async load(bytes) {
    const made = new Sparsecrf();
    // The host functions of the library: an empty environment, no process exit, and a notification when memory grows.
    const view = () => new DataView(made.wasm.memory.buffer);
    const host = {
      env: { emscripten_notify_memory_growth() {} },
      wasi_snapshot_preview1: {
        proc_exit(status) { throw new Error(`sparsecrf: expected to go on, found its end (${status})`); },
        environ_sizes_get(count, size) {
          view().setUint32(count, 0, true);
          view().setUint32(size, 0, true);
          return 0;
        },
        environ_get: () => 0,
      },
    };
    const found = await WebAssembly.instantiate(bytes, host);
    made.wasm = (found.instance || found).exports;
    made.wasm._initialize();
    if (made.wasm.sparsecrf_abi_version() !== 1) throw new Error("sparsecrf.wasm: expected ABI 1, found another");
    return made;
  }

  /** The model in the content of its file. Call `close` when it is not needed any more. */
  open(content) { return new Tagger(this, content); }

  get version() { return this.text(this.wasm.sparsecrf_version()); }

  // ---- Memory of the library, which may move when it grows, so views are recreated.
  text(at, size) {
    const bytes = new Uint8Array(this.wasm.memory.buffer);
    return new TextDecoder().decode(bytes.slice(at, size === undefined ? bytes.indexOf(0, at) : at + size));
  }
  /** use(address) with `size` bytes of memory, which are freed afterwards. */
  borrowed(size, use) {
    const at = this.wasm.malloc(size || 1);
    if (at === 0) throw new RangeError("expected enough memory, found too little");
    try { return use(at); } finally { this.wasm.free(at); }
  }
  with(bytes, use) {
    return this.borrowed(bytes.length, (at) => {
      new Uint8Array(this.wasm.memory.buffer).set(bytes, at);
      return use(at);
    });
  }
  /** An address or a number that a function writes to its last argument. */
  made(call) {
    return this.borrowed(4, (at) => {
      this.check(call(at));
      return new DataView(this.wasm.memory.buffer).getUint32(at, true);
    });
  }
  check(status) { if (status !== 0) throw new Error(this.text(this.wasm.sparsecrf_error())); }
}

/** A model. Tokens are lists of columns if it has a template, else of attributes: names, or [name, value]. */
class Tagger {
  constructor(library, content) {
    this.library = library;
    const { wasm } = library;
    this.model = library.with(content, (at) => library.made((to) => wasm.sparsecrf_open_memory(at, content.length, to)));
    this.sequence = library.made((to) => wasm.sparsecrf_sequence_new(this.model, to));
    this.labels = Array.from({ length: wasm.sparsecrf_n_labels(this.model) },
      (_, y) => library.text(wasm.sparsecrf_label_name(this.model, y)));
    /** Minimum number of columns of a token; -1: tokens are attributes. */
    this.columns = wasm.sparsecrf_n_columns(this.model);
  }

  close() {
    this.library.wasm.sparsecrf_sequence_free(this.sequence);
    this.library.wasm.sparsecrf_close(this.model);
  }

  /** The best labels of a sentence. */
  label(tokens) {
    this.put(tokens);
    return Array.from(this.path(tokens.length), (y) => this.labels[y]);
  }

  /** The probability of each label at each token: a row for each token. */
  marginals(tokens) {
    this.put(tokens);
    const { library, labels } = this, n = tokens.length * labels.length;
    return library.borrowed(8 * n, (at) => {
      library.check(library.wasm.sparsecrf_marginals(this.sequence, at, n));
      return tokens.map((_, t) => Array.from(
        new Float64Array(library.wasm.memory.buffer, at + 8 * t * labels.length, labels.length)));
    });
  }

  /** The k best labellings with their probabilities, best first. */
  nbest(tokens, k) {
    this.put(tokens);
    const { library } = this, length = tokens.length;
    return library.borrowed(8 * k + 4 * k * length, (at) => {
      const paths = at + 8 * k;
      const found = library.made((to) => library.wasm.sparsecrf_nbest(this.sequence, k, paths, k * length, at, to));
      return Array.from({ length: found }, (_, j) => ({
        labels: Array.from(new Int32Array(library.wasm.memory.buffer, paths + 4 * j * length, length),
          (y) => this.labels[y]),
        probability: new Float64Array(library.wasm.memory.buffer, at, k)[j],
      }));
    });
  }

  /** The contribution of each attribute to the score of the best labels. */
  reasons(tokens) {
    this.put(tokens);
    const { library } = this, path = this.path(tokens.length), bytes = new Uint8Array(path.buffer), SIZE = 40;
    return library.with(bytes, (labels) => {
      const ask = (at, n) => library.made((to) =>
        library.wasm.sparsecrf_reasons(this.sequence, labels, path.length, at, n, to));
      const n = ask(0, 0);
      return library.borrowed(SIZE * n, (at) => {
        ask(at, n);
        return Array.from({ length: n }, (_, k) => this.reason(at + SIZE * k));
      });
    });
  }

  // ---- Helper methods
  reason(at) {
    const view = new DataView(this.library.wasm.memory.buffer), previous = view.getInt32(at + 16, true);
    return {
      token: Number(view.getBigInt64(at, true)),
      attribute: this.library.text(view.getUint32(at + 8, true), view.getUint32(at + 12, true)),
      previous: previous < 0 ? null : previous === this.labels.length ? "" : this.labels[previous],
      label: this.labels[view.getInt32(at + 20, true)],
      value: view.getFloat64(at + 24, true),
      weight: view.getFloat64(at + 32, true),
    };
  }

  path(length) {
    const { library } = this;
    return library.borrowed(4 * length, (at) => {
      library.check(library.wasm.sparsecrf_label(this.sequence, at, length));
      return new Int32Array(library.wasm.memory.buffer, at, length).slice();
    });
  }

  /** Pass tokens to the library; all texts are written to its memory together. */
  put(tokens) {
    const { library, sequence } = this, { wasm } = library, encoder = new TextEncoder();
    const all = tokens.map((token) => (typeof token === "string" ? [token] : token));
    const textOf = (item) => (typeof item === "string" ? item : item[0]);
    let size = 0;
    for (const token of all) for (const item of token) size += 3 * textOf(item).length; // bytes of UTF-8 at most
    wasm.sparsecrf_clear(sequence);
    library.borrowed(size, (at) => {
      const bytes = new Uint8Array(wasm.memory.buffer, at, size), sizes = [];
      let end = 0;
      for (const token of all) {
        for (const item of token) {
          const { written } = encoder.encodeInto(textOf(item), bytes.subarray(end));
          sizes.push(written);
          end += written;
        }
      }
      let k = 0, from = at;
      for (const token of all) {
        for (const item of token) {
          library.check(wasm.sparsecrf_add(sequence, from, sizes[k], typeof item === "string" ? 1 : item[1]));
          from += sizes[k++];
        }
        library.check(wasm.sparsecrf_end_token(sequence));
      }
    });
  }
}
