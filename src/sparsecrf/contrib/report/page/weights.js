// The table of weights: filtered, sorted, any number of rows.

/** The weights by columns, with the queries of the maps. */
function readWeights() {
  const [X, P, Y, W] = ["x", "p", "y", "w"].map((key) => unpack(data.weights[key]));
  const plain = new Set(data.weights.plain);
  let folded = null;
  /** Which attributes contain the text, a byte for each; null: all. */
  const matches = (text) => {
    if (text === "") return null;
    folded ??= data.names.map((attribute) => attribute.toLowerCase());
    const wanted = text.toLowerCase();
    return Uint8Array.from(folded, (attribute) => (attribute.includes(wanted) ? 1 : 0));
  };
  return { X, P, Y, W, matches, isPlain: (x) => plain.has(x) };
}

/** Whether a weight with this previous label or class belongs to a pair, not to a label alone or to a longer string. */
const isPair = (p) => p >= 0 && p <= data.labels.length + data.weights.classes;

/** The place of each name in alphabetical order. */
function ranks(names) {
  const order = names.map((_, k) => k).sort((a, b) => (names[a] < names[b] ? -1 : names[a] > names[b] ? 1 : 0));
  const rank = new Int32Array(names.length);
  order.forEach((k, place) => { rank[k] = place; });
  return rank;
}

class WeightTable {
  static COLUMNS = [["attribute", "Attribute"], ["previous", "Previous"], ["label", "Label"], ["weight", "Weight"]];

  constructor(weights) {
    Object.assign(this, weights);
    this.cells = cells();
    this.before = [...data.labels, data.start, ...data.weights.histories];
    this.largest = this.W.length ? Math.abs(this.W[0]) : 1;
    this.exact = null; // the only attribute to list
    this.order = { by: "size", up: false };
    this.shown = new Int32Array(0); // the weights in the table, in its order
    this.ranks = { label: ranks(this.cells), before: ranks(this.before), attribute: null };
    this.heads = WeightTable.COLUMNS.map(([key, title]) => {
      const button = el("button", { type: "button" }, title);
      button.addEventListener("click", () => this.sortBy(key));
      return el("div", { role: "columnheader", class: key === "weight" ? "amount" : false }, button);
    });
    this.box = $("weight-rows");
    this.box.setAttribute("role", "grid");
    this.box.setAttribute("aria-label", "Weights");
    this.box.setAttribute("aria-colcount", WeightTable.COLUMNS.length);
    this.rows = new Rows(this.box, {
      head: el("div", { class: "head weight-row", role: "row", "aria-rowindex": "1" }, ...this.heads),
      empty: "No weight matches.",
      render: (row) => this.render(this.shown[row]),
      choose: (row) => $("weight-readout").replaceChildren(...this.inWords(this.shown[row])),
      enter: (row) => this.only(this.X[this.shown[row]]),
    });
    for (const id of ["weight-label", "weight-kind", "weight-sign"]) {
      $(id).addEventListener("change", () => this.update());
    }
    const search = soon(() => this.update());
    $("weight-search").addEventListener("input", () => { this.exact = null; search(); });
  }

  render(k) {
    const { X, P, Y, W, cells, before } = this, attribute = data.names[X[k]];
    const cell = (...content) => el("div", { role: "gridcell" }, ...content);
    return el("div", { class: "weight-row" },
      el("div", { role: "gridcell", class: "mono", title: attribute }, name(attribute)),
      P[k] < 0 ? cell() : cell(name(before[P[k]])),
      cell(name(cells[Y[k]])),
      el("div", { role: "gridcell", class: "amount" },
        bar(W[k], this.largest), el("span", { class: signClass(W[k]) }, signed(W[k], 4))));
  }

  inWords(k) {
    const { X, P, Y, W, cells, before } = this, pair = P[k] < 0 ? [] : [name(before[P[k]]), " → "];
    return [name(data.names[X[k]]), " for ", ...pair, name(cells[Y[k]]), `: ${signed(W[k], 6)}`];
  }

  /** All weights of one attribute. */
  only(x) {
    this.exact = x;
    $("weight-search").value = data.names[x];
    for (const [id, all] of [["weight-label", ""], ["weight-kind", "all"], ["weight-sign", "all"]]) $(id).value = all;
    this.update();
  }

  filtered() {
    const { X, P, Y, W, exact } = this, known = exact === null ? this.matches($("weight-search").value) : null;
    const label = $("weight-label").value === "" ? -1 : Number($("weight-label").value);
    const kind = $("weight-kind").value, sign = $("weight-sign").value;
    const kept = new Int32Array(W.length);
    let n = 0;
    for (let k = 0; k < W.length; k++) {
      if (exact !== null ? X[k] !== exact : known !== null && !known[X[k]]) continue;
      if (label >= 0 && Y[k] !== label && (P[k] !== label || label >= data.labels.length)) continue;
      if (kind === "unigram" && P[k] >= 0) continue;
      if (kind === "bigram" && !isPair(P[k])) continue;
      if (kind === "longer" && P[k] <= data.labels.length) continue;
      if (kind === "plain" && !(isPair(P[k]) && this.isPlain(X[k]))) continue;
      if (sign !== "all" && (sign === "+") !== (W[k] > 0)) continue;
      kept[n++] = k;
    }
    return kept.slice(0, n);
  }

  sorted(kept) {
    const { X, P, Y, W, order } = this;
    if (order.by === "size") return kept; // already in this order
    if (order.by === "attribute") this.ranks.attribute ??= ranks(data.names);
    const { attribute, label, before } = this.ranks;
    const key = {
      attribute: (k) => attribute[X[k]],
      previous: (k) => (P[k] < 0 ? -1 : before[P[k]]),
      label: (k) => label[Y[k]],
      weight: (k) => W[k],
    }[order.by];
    const keys = new Float64Array(W.length);
    for (const k of kept) keys[k] = key(k);
    const way = order.up ? 1 : -1;
    return kept.sort((a, b) => way * (keys[a] - keys[b]) || a - b);
  }

  /** Weights go by size, then by value down and up; the other columns up and down. */
  sortBy(key) {
    const { by, up } = this.order;
    if (key !== "weight") this.order = { by: key, up: by === key ? !up : true };
    else if (by === "size") this.order = { by: "weight", up: false };
    else if (by === "weight" && !up) this.order = { by: "weight", up: true };
    else this.order = { by: "size", up: false };
    this.update();
  }

  update() {
    this.shown = this.sorted(this.filtered());
    const { order, heads } = this, all = this.W.length, n = this.shown.length;
    this.box.setAttribute("aria-rowcount", n + 1);
    $("weight-count").textContent = n === all ? plural(n, "weight") : `${count(n)} of ${plural(all, "weight")}`;
    $("weight-readout").replaceChildren(el("span", { class: "muted" }, "Choose a row to read it in full."));
    WeightTable.COLUMNS.forEach(([key, title], c) => {
      const on = order.by === key || (key === "weight" && order.by === "size");
      heads[c].setAttribute("aria-sort", on ? (order.up ? "ascending" : "descending") : "none");
      const text = key === "weight" && order.by === "size" ? "|Weight|" : title;
      heads[c].firstElementChild.textContent = on ? `${text} ${order.up ? "↑" : "↓"}` : text;
    });
    this.rows.show(n);
  }
}

function showWeights(weights) {
  const { total } = data.weights, listed = weights.W.length;
  $("weights-note").textContent = listed < total
    ? `The ${count(listed)} largest of ${count(total)} active weights.`
    : `All ${plural(total, "active weight")}: of an attribute for a label, or for a label after a previous one.`;
  $("kind-longer").hidden = data.strings === null;
  fill($("weight-label"), cellOptions("all"));
  new WeightTable(weights).update();
}
