// Two matrices: attributes by labels, and plain transitions.

const MAP_ROWS = 40; // the strongest attributes
const MAP_COLUMNS = 200; // the strongest labels

/** The labels to draw: all of them or, if there are too many, those with the largest sums, in their own order. */
function strongest(sums, limit) {
  const all = Array.from(sums, (_, k) => k);
  if (all.length <= limit) return all;
  return all.sort((a, b) => sums[b] - sums[a]).slice(0, limit).sort((a, b) => a - b);
}

function showMaps(weights) {
  fill($("map-label"), cellOptions("all labels"));
  const draw = () => drawMap(weights);
  for (const choice of document.querySelectorAll('input[name="map-kind"]')) choice.addEventListener("change", draw);
  $("map-label").addEventListener("change", draw);
  $("map-search").addEventListener("input", soon(draw));
  onTheme(() => $("map").repaint?.());
  draw();
}

function drawMap(weights) {
  const { X, P, Y, W, matches, isPlain } = weights;
  const pairs = document.querySelector('input[name="map-kind"]:checked').value === "bigram";
  const wanted = $("map-label").value, only = wanted === "" ? -1 : Number(wanted);
  const known = matches($("map-search").value);
  const kind = (p) => (pairs ? isPair(p) : p < 0);
  const belongs = (k) => kind(P[k]) && !(pairs && isPlain(X[k])) && (known === null || known[X[k]]);
  const strength = new Map();
  for (let k = 0; k < W.length; k++) {
    if (belongs(k) && (only < 0 || Y[k] === only)) strength.set(X[k], (strength.get(X[k]) || 0) + Math.abs(W[k]));
  }
  const chosen = [...strength].sort((a, b) => b[1] - a[1]).slice(0, MAP_ROWS).map(([x]) => x);
  const what = pairs ? "the sum of |λ| over previous labels" : "|µ|";
  const whose = pairs ? "label pairs" : only < 0 ? "labels" : "this label";
  const some = `${plural(chosen.length, "strongest attribute")} of ${count(strength.size)} with weights for ${whose}`;
  $("maps-note").textContent = `The ${some}, each with ${what} for every label.`;
  $("map").repaint = undefined;
  if (!chosen.length) {
    const none = pairs ? "Only plain transitions condition label pairs here." : "No such weights.";
    $("map").replaceChildren(el("p", { class: "empty" }, none));
    return;
  }
  const place = new Map(chosen.map((x, r) => [x, r]));
  const of = cells(); // the second label of a pair may be a class, which is named by its part
  const n = of.length, sizes = new Float64Array(chosen.length * n), net = new Float64Array(chosen.length * n);
  const number = new Int32Array(chosen.length * n), sums = new Float64Array(n);
  for (let k = 0; k < W.length; k++) {
    const r = belongs(k) ? place.get(X[k]) : undefined;
    if (r === undefined) continue;
    const cell = r * n + Y[k];
    sizes[cell] += Math.abs(W[k]);
    net[cell] += W[k];
    number[cell]++;
    sums[Y[k]] += Math.abs(W[k]);
  }
  const columns = strongest(sums, MAP_COLUMNS).filter((y) => !pairs || y < data.labels.length || sums[y] > 0);
  drawGrid($("map"), {
    label: pairs ? "Label pairs" : "Labels", corner: "attribute \\ label",
    rows: chosen.map((x) => data.names[x]), columns: columns.map((y) => of[y]), diverging: false,
    value: (r, c) => sizes[r * n + columns[c]],
    describe: (r, c) => {
      const cell = r * n + columns[c], sum = `Σ|λ| ${sizes[cell].toFixed(3)} in ${plural(number[cell], "weight")}`;
      const text = pairs ? `: ${sum}, net ${signed(net[cell])}` : `: µ ${signed(net[cell])}`;
      return [name(data.names[chosen[r]]), " for ", name(of[columns[c]]), number[cell] ? text : ": no weight"];
    },
  });
}

function showTransitions() {
  const [P, Y, W] = ["p", "y", "w"].map((key) => unpack(data.transitions[key]));
  const n = data.labels.length, matrix = new Float64Array((n + 1) * n), sums = new Float64Array(n);
  if (!W.length) {
    $("transitions-note").textContent = "The model has no plain transitions.";
    $("transition-map").append(el("p", { class: "empty" }, "No weights for label pairs apply at every position."));
    return;
  }
  for (let k = 0; k < W.length; k++) {
    matrix[P[k] * n + Y[k]] = W[k];
    sums[Y[k]] += Math.abs(W[k]);
    if (P[k] < n) sums[P[k]] += Math.abs(W[k]);
  }
  const shown = strongest(sums, MAP_COLUMNS), hasStart = P.includes(n);
  const before = hasStart ? [n, ...shown] : shown; // the start first
  const cut = shown.length < n ? ` The ${shown.length} strongest of ${count(n)} labels are drawn.` : "";
  const pairs = `${count(W.length)} of ${plural((n + (hasStart ? 1 : 0)) * n, "pair")} have one`;
  $("transitions-note").textContent = `Weights for label pairs that apply at every position: ${pairs}.${cut}`;
  const nameOf = (p) => (p === n ? data.start : data.labels[p]);
  drawGrid($("transition-map"), {
    label: "Transitions", corner: "from \\ to", rows: before.map(nameOf), columns: shown.map(nameOf), diverging: true,
    value: (r, c) => matrix[before[r] * n + shown[c]],
    describe: (r, c) => {
      const v = matrix[before[r] * n + shown[c]];
      return [name(nameOf(before[r])), " → ", name(nameOf(shown[c])), v ? `: ${signed(v)}` : ": no weight"];
    },
  });
  onTheme(() => $("transition-map").repaint());
}
