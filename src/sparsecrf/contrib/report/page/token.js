// One token explained: the probabilities of its labels, and the evidence for the predicted label and its rival.

/** The columns of the explained sentences. */
function readSentences() {
  const given = data.sentences, columns = {};
  const own = ["number", "logProb", "lengths", "gold", "predicted", "rival", "goldP", "margin", "top", "topP"];
  for (const key of own) columns[key] = unpack(given[key]);
  for (const key of ["counts", "x", "pair", "value", "own", "rival"]) columns[`term_${key}`] = unpack(given.terms[key]);
  columns.begin = offsets(columns.lengths); // of the tokens of a sentence
  columns.terms = offsets(columns.term_counts); // of the terms of a token
  return columns;
}

/** Show the details of token t (counted over all sentences) in `host`. */
function showToken(host, columns, t, word, more, previous) {
  const names = data.sentences.names, predicted = columns.predicted[t], gold = columns.gold[t];
  const wrong = predicted !== gold, rival = columns.rival[t];
  const strong = (y) => el("b", {}, name(names[y]));
  const verdict = wrong
    ? [el("span", { class: "bad-word" }, "✗ error: "), "predicted ", strong(predicted), ", gold ", strong(gold), "."]
    : ["✓ ", strong(predicted), " is right."];
  // Without another label there is no other labelling.
  const margin = columns.margin[t].toFixed(2);
  const less = rival < 0 ? "" : ` The best labelling with another label here scores ${margin} less.`;
  host.replaceChildren(
    el("h4", {}, name(word), more ? el("span", { class: "muted" }, " ", name(more)) : null),
    el("p", {}, ...verdict, less),
    el("div", { class: "token-columns" },
      el("div", {}, el("h5", {}, "Probability of labels here"), chances(columns, t)),
      el("div", {}, el("h5", {}, "Evidence for the label, after ", name(previous)), terms(columns, t))));
}

function chances(columns, t) {
  const { nTop, names } = data.sentences, gold = columns.gold[t], items = [];
  let seen = false;
  for (let k = t * nTop; k < (t + 1) * nTop; k++) {
    if (columns.topP[k] < 5e-4 && items.length > 1) break;
    seen ||= columns.top[k] === gold;
    items.push([columns.top[k], columns.topP[k]]);
  }
  if (!seen) items.push([gold, columns.goldP[t]]);
  return el("ul", { class: "chances" }, ...items.map(([y, p]) => {
    const fill = el("i");
    fill.style.width = `${100 * p}%`;
    const isGold = y === gold && gold !== columns.predicted[t];
    return el("li", { class: isGold ? "gold" : false },
      el("span", {}, name(names[y]), isGold ? " (gold)" : null),
      el("span", { class: "track", "aria-hidden": "true" }, fill),
      el("span", { class: "n" }, percent(p)));
  }));
}

function terms(columns, t) {
  const { names } = data.sentences, from = columns.terms[t], to = columns.terms[t + 1];
  const rival = columns.rival[t], own = names[columns.predicted[t]];
  if (from === to) return el("p", { class: "muted" }, "No weight of the model applies here.");
  let largest = 0, sumOwn = 0, sumRival = 0;
  for (let k = from; k < to; k++) {
    largest = Math.max(largest, Math.abs(columns.term_own[k] - columns.term_rival[k]));
    sumOwn += columns.term_own[k];
    sumRival += columns.term_rival[k];
  }
  const against = (cell) => (rival < 0 ? [] : [cell]); // there may be no other label
  const amount = (v) => (Math.abs(v) < 0.005 ? "" : el("span", { class: signClass(v) }, signed(v, 2)));
  const rows = [];
  for (let k = from; k < to; k++) {
    const x = columns.term_x[k], value = columns.term_value[k], a = columns.term_own[k], b = columns.term_rival[k];
    if (x < 0 && Math.max(Math.abs(a), Math.abs(b)) < 0.005) continue;
    const quiet = (text) => el("span", { class: "muted" }, text);
    const what = x < 0 ? [quiet(plural(value, "other"))]
      : [name(data.names[x], "mono"), columns.term_pair[k] ? quiet(" pair") : null,
        value === 1 ? null : quiet(` × ${short(value)}`)];
    rows.push([el("span", {}, ...what), amount(a), ...against(amount(b)), bar(a - b, largest)]);
  }
  const titles = ["Attribute", name(own), ...against(name(names[rival])), "Difference"];
  const made = table("Evidence for the label", titles, rows, rival < 0 ? [1] : [1, 2]);
  made.className = "terms";
  const foot = el("tr", {}, el("th", { scope: "row" }, "Sum"), el("td", { class: "n" }, signed(sumOwn, 2)),
    ...against(el("td", { class: "n" }, signed(sumRival, 2))), el("td", {}, signed(sumOwn - sumRival, 2)));
  made.append(el("tfoot", {}, foot));
  for (const row of made.rows) row.lastElementChild.classList.add("speaks");
  return made;
}
