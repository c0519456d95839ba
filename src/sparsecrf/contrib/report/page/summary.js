// The head of the page: certificate, sparsity, the training record; the tables of longer strings and of templates.

function showSummary() {
  const { certificate, summary } = data;
  document.title = `${data.name} – sparsecrf report`;
  $("title").textContent = $("name").textContent = data.name;
  $("version").textContent = data.version;
  $("certificate").append(
    el("p", { class: `big ${certificate.good ? "good" : ""}` }, certificate.headline),
    el("p", {}, certificate.detail));
  $("sparsity").append(...sparsity(summary));
  const own = [
    ["Labels", count(summary.labels)],
    ["Attributes with a weight", count(summary.attributes)],
    ["Weights for labels", count(summary.active_unigram)],
    ...(summary.active_part ? [["of which for label parts", count(summary.active_part)]] : []),
    ["Weights for label pairs", count(summary.active_bigram)],
    ...(summary.active_class_pair ? [["of which for class pairs", count(summary.active_class_pair)]] : []),
    ...(summary.active_ngram ? [["Weights for longer strings", count(summary.active_ngram)]] : []),
    ...(summary.vectors ? [["Words with vectors", vectors(...summary.vectors)]] : []),
    ["Start label", summary.start ? "yes" : "no"],
  ];
  $("facts").append(...[...own, ...data.facts].map(([what, value]) => fact(what, value)));
}

const vectors = (words, width) => `${count(words)}, with ${plural(width, "dimension")} each`;

const fact = (what, value, more = null) =>
  el("div", {}, el("dt", {}, what), el("dd", {}, value, more === null ? null : el("small", {}, ` ${more}`)));

function sparsity({ active, features }) {
  const big = (text) => el("p", { class: "big" }, text);
  if (!features || !active) {
    return [big(plural(active, "active weight")), el("p", {}, "The file does not say how many features are possible.")];
  }
  const share = active / features;
  const one = share < 0.5 ? `: one in ${count(Math.round(1 / share))}` : "";
  return [
    big(`${count(active)} of ${plural(features, "feature")}`),
    el("p", {}, `have nonzero weights${one}. Training selected them; all others are exactly zero.`),
  ];
}

/** The longest strings of labels that have weights, with the sums of their weights over attributes. */
function showStrings() {
  if (data.strings === null) return;
  const { by_length: counts, longest } = data.strings;
  $("strings").hidden = false;
  const numbers = counts.map((n, k) => `${count(n)} of ${plural(k + 1, "label")}`).join(", ");
  $("strings-note").textContent = `Weights by number of labels: ${numbers}. The longest strings, with the weights of ` +
    "all attributes that condition them: for the last label after those before it.";
  const largest = Math.max(...longest.flatMap(({ positive, negative }) => [positive, -negative]));
  const sum = (value) => (value ? el("span", { class: "sum" }, bar(value, largest), signed(value)) : "");
  const rows = longest.map(({ labels, attributes, positive, negative }) =>
    [name(labels.join(" "), "mono"), count(labels.length), count(attributes), sum(positive), sum(negative)]);
  const titles = ["Labels", "Length", "Attributes", "Σ positive", "Σ negative"];
  $("string-table").append(table("Longest strings of labels", titles, rows, [1, 2, 3, 4]));
}

function showTemplates() {
  const uses = data.templates, mass = uses.reduce((sum, use) => sum + use.mass, 0);
  const idle = uses.filter((use) => use.attributes === 0).length;
  const unused = idle ? ` ${plural(idle, "line has", "lines have")} none and could be left out.` : "";
  $("templates-note").textContent = data.template === null
    ? "Active weights by the text of attributes before the first colon or equals sign."
    : `Active weights by line of the template.${unused}`;
  if (!uses.length) {
    $("template-table").append(el("p", { class: "muted" }, "There are no active weights."));
    return;
  }
  const rows = uses.map((use) => {
    const share = el("span", { class: "share", "aria-hidden": "true" });
    share.style.width = `${mass ? 100 * use.mass / uses[0].mass : 0}%`;
    return [name(use.name, "mono"), count(use.attributes), count(use.unigram), count(use.bigram),
      `${use.mass.toFixed(1)}`, mass ? percent(use.mass / mass) : "", share];
  });
  const titles = ["Template", "Attributes", "Labels", "Pairs", "Σ|w|", "Share", ""];
  const made = table("Templates by mass of active weights", titles, rows, [1, 2, 3, 4, 5]);
  for (const row of made.tBodies[0].rows) row.lastElementChild.className = "share-cell";
  $("template-table").append(made);
}
