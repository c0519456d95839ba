// The sentence explorer: a list to choose from, the tokens of one sentence, one of them explained.

const LONG = 150; // tokens; more than these scroll in a box of their own

const SCRIPTS = ["Arabic", "Hebrew", "Syriac", "Thaana", "Nko", "Adlam"];
const RIGHT_TO_LEFT = new RegExp(`[${SCRIPTS.map((script) => `\\p{Script=${script}}`).join("")}]`, "u");

/** Whether a text is written from right to left, judging by its first letter. */
function isRightToLeft(text) {
  const first = text.match(/\p{L}/u);
  return first !== null && RIGHT_TO_LEFT.test(first[0]);
}

class Explorer {
  constructor() {
    this.columns = readSentences();
    const { words } = data.sentences, { begin, gold, predicted } = this.columns;
    this.errors = words.map((_, s) => {
      let n = 0;
      for (let t = begin[s]; t < begin[s + 1]; t++) n += gold[t] !== predicted[t];
      return n;
    });
    // Single letters are joined to words, and words to sentences.
    this.texts = words.map((some) => some.join(some.every((word) => [...word].length <= 1) ? "" : " "));
    this.listed = []; // the sentences in the list
    this.sentence = 0;
    this.chosen = 0; // the token from which arrow keys move
    this.list = new Rows($("sentence-list"), {
      rowRole: "option", empty: "No sentence matches.",
      render: (k) => this.listRow(this.listed[k]),
      choose: (k) => this.open(this.listed[k]),
    });
    $("previous-sentence").addEventListener("click", () => this.step(-1));
    $("next-sentence").addEventListener("click", () => this.step(1));
    $("sentence-search").addEventListener("input", soon(() => this.update()));
    $("errors-only").addEventListener("change", () => this.update());
    $("tokens").addEventListener("pointerleave", () => this.explain(this.chosen));
    $("sentence-panel").addEventListener("keydown", (event) => this.key(event));
  }

  /** List the matching sentences; the open sentence stays open if it is one of them. */
  update() {
    const wanted = $("sentence-search").value.toLowerCase(), only = $("errors-only").checked;
    this.listed = this.texts.map((_, s) => s).filter((s) =>
      (!only || this.errors[s] > 0) && (wanted === "" || this.texts[s].toLowerCase().includes(wanted)));
    const n = this.listed.length, place = Math.max(0, this.listed.indexOf(this.sentence));
    $("sentence-count").textContent = `${count(n)} of ${plural(this.texts.length, "sentence")}`;
    $("sentence-panel").hidden = !n;
    this.list.show(n, n ? place : -1);
    if (n) this.open(this.listed[place]);
  }

  listRow(s) {
    const n = this.errors[s], [className, says, mark] = n
      ? ["wrong", plural(n, "error"), `✗ ${n}`] : ["wrong none", "no error", "✓"];
    return el("div", { class: "sentence-row" },
      el("span", { class: "where" }, count(this.columns.number[s])),
      el("span", { class: className, "aria-label": says, role: "img" }, mark),
      name(this.texts[s].slice(0, 200)));
  }

  open(s) {
    this.sentence = s;
    const place = this.listed.indexOf(s), n = this.errors[s], box = $("tokens");
    const probability = percent(Math.exp(this.columns.logProb[s]));
    const errors = n ? plural(n, "error") : "no error";
    $("sentence-h").textContent = `Sentence ${count(this.columns.number[s])}: ${errors}, probability ${probability}`;
    // Not disabled: that would take the focus away from a button that was just pressed.
    $("previous-sentence").setAttribute("aria-disabled", place <= 0);
    $("next-sentence").setAttribute("aria-disabled", place >= this.listed.length - 1);
    const words = data.sentences.words[s], tokens = words.map((_, t) => this.token(t));
    box.dir = isRightToLeft(this.texts[s]) ? "rtl" : "ltr";
    box.classList.toggle("long", words.length > LONG);
    box.replaceChildren(...tokens);
    box.scrollTop = 0;
    this.choose(Math.max(0, tokens.findIndex((token) => token.classList.contains("bad"))));
  }

  /** The button of token t of the open sentence. */
  token(t) {
    const { nTop, names, words } = data.sentences, { columns } = this, at = columns.begin[this.sentence] + t;
    const word = words[this.sentence][t], predicted = names[columns.predicted[at]], gold = names[columns.gold[at]];
    const wrong = columns.gold[at] !== columns.predicted[at];
    const sure = el("i");
    sure.style.width = `${100 * columns.topP[at * nTop]}%`;
    const button = el("button", { type: "button", class: `token${wrong ? " bad" : ""}`, tabindex: "-1",
      "aria-controls": "token",
      "aria-label": `${word}: ${wrong ? `error, predicted ${predicted}, gold ${gold}` : predicted}` },
      name(word, "word"),
      el("span", { class: "tag" }, wrong ? "✗ " : "", name(predicted)),
      wrong ? el("span", { class: "tag gold" }, "gold ", name(gold)) : null,
      el("span", { class: "sure", "aria-hidden": "true" }, sure));
    button.addEventListener("click", () => button.focus()); // Safari does not focus buttons that are pressed
    button.addEventListener("focus", () => this.choose(t));
    button.addEventListener("pointerenter", (event) => { if (event.pointerType === "mouse") this.explain(t); });
    return button;
  }

  choose(t) {
    this.chosen = t;
    [...$("tokens").children].forEach((token, k) => { token.tabIndex = k === t ? 0 : -1; });
    this.explain(t);
  }

  /** Explain token t, chosen or under the pointer. */
  explain(t) {
    const { words, more, names } = data.sentences, { columns, sentence } = this, at = columns.begin[sentence] + t;
    [...$("tokens").children].forEach((token, k) => token.classList.toggle("on", k === t));
    const previous = t ? names[columns.predicted[at - 1]] : data.start;
    showToken($("token"), columns, at, words[sentence][t], more ? more[sentence][t] : "", previous);
  }

  /** The next or the previous sentence of the list. */
  step(by) {
    const place = this.listed.indexOf(this.sentence) + by;
    if (place >= 0 && place < this.listed.length) this.list.go(place);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const tokens = $("tokens").children, last = tokens.length - 1, onToken = event.target.closest(".token") !== null;
    const [back, forward] = $("tokens").dir === "rtl" ? ["ArrowRight", "ArrowLeft"] : ["ArrowLeft", "ArrowRight"];
    const at = this.chosen;
    const moves = { [forward]: Math.min(at + 1, last), [back]: Math.max(at - 1, 0), Home: 0, End: last };
    if (onToken && event.key in moves) {
      event.preventDefault();
      tokens[moves[event.key]].focus();
    } else if (event.key === "PageDown" || event.key === "PageUp") {
      event.preventDefault();
      this.step(event.key === "PageDown" ? 1 : -1);
      if (onToken) $("tokens").children[this.chosen].focus();
    }
  }
}

function showSentences() {
  if (!data.sentences) return;
  $("sentences").hidden = false;
  showScores();
  new Explorer().update();
}
