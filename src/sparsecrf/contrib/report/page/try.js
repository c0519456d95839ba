// A sentence of the reader's own, labelled by the model that is in the page (`sparsecrf report --try`) or by the server
// that the page is from (`sparsecrf serve`).

// Words of running text, as in src/sparsecrf/files/words.py: runs of letters, digits and underscores, characters of
// scripts without spaces (Thai, Lao, Burmese, Khmer, Japanese, Chinese), and any other character, with their marks.
const OF_THEIR_OWN = "\\u0e00-\\u0eff\\u1000-\\u109f\\u1780-\\u17ff\\u3040-\\u30ff\\u31f0-\\u31ff\\u3400-\\u4dbf" +
  "\\u4e00-\\u9fff\\uf900-\\ufaff\\u{20000}-\\u{3ffff}";
const LETTER = `(?:(?![${OF_THEIR_OWN}])[\\p{L}\\p{N}_])`, MARK = "[\\p{M}\\u200d]";
const WORDS = new RegExp(`${LETTER}+(?:${MARK}+${LETTER}*)*|\\S${MARK}*`, "gu");

/**
 * The tokens of a text. A model with one column takes running text, tokenized like its training data: into words and
 * punctuation, or at blanks. A model with several columns takes one line per token, as in files; with one column, lines
 * are a way to choose the tokens yourself.
 */
function tokensOf(text, columns, tokenizer) {
  const lines = text.split("\n").map((line) => line.trim()).filter(Boolean);
  if (lines.length > 1 || columns > 1) return lines.map((line) => line.split(/[ \t]+/));
  return (text.match(tokenizer === "blanks" ? /\S+/gu : WORDS) || []).map((word) => [word]);
}

class Trial {
  /** `tagger` has `labels`, `columns`, `tokenizer`, and answers(tokens): a promise of labels, marginals and reasons (null:
   * not computed). */
  constructor(tagger) {
    this.asked = 0;
    $("try-text").addEventListener("input", () => this.show());
    this.first = this.use(tagger);
  }

  use(tagger) {
    this.tagger = tagger;
    const several = tagger.columns > 1;
    $("try-note").textContent = several
      ? `Type one token per line, its ${tagger.columns} columns separated by spaces.`
      : "Type a sentence, or one token per line to choose the tokens yourself.";
    $("try-text").rows = several ? 6 : 2;
    return this.show();
  }

  async show() {
    const { columns, tokenizer } = this.tagger, asked = ++this.asked;
    const tokens = tokensOf($("try-text").value, columns, tokenizer);
    let answer = null, error = "";
    try {
      if (tokens.length > 0) answer = await this.tagger.answers(tokens);
    } catch (found) { error = found.message; }
    if (asked !== this.asked) return; // more has been typed since
    $("try-token").replaceChildren();
    $("try-error").textContent = error;
    this.buttons = [];
    if (answer) {
      Object.assign(this, answer, { tokens });
      this.buttons = tokens.map((token, t) => this.button(token, t));
      this.choose(0);
    }
    $("try-tokens").replaceChildren(...this.buttons);
  }

  button(token, t) {
    const y = this.tagger.labels.indexOf(this.labels[t]), fill = el("i");
    fill.style.width = `${100 * this.marginals[t][y]}%`;
    const made = el("button", { type: "button", class: "token" }, el("span", { class: "word" }, name(token[0])),
      el("span", { class: "tag" }, name(this.labels[t])), el("span", { class: "sure", "aria-hidden": "true" }, fill));
    made.setAttribute("aria-label", `${token[0]}: ${this.labels[t]}, ${percent(this.marginals[t][y])}`);
    made.addEventListener("click", () => this.choose(t));
    made.addEventListener("keydown", (event) => {
      const to = t + { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!(to >= 0 && to < this.buttons.length)) return;
      event.preventDefault();
      this.choose(to);
      this.buttons[to].focus();
    });
    return made;
  }

  /** The details of token t. */
  choose(t) {
    this.buttons.forEach((button, k) => button.classList.toggle("on", k === t));
    const order = this.tagger.labels.map((_, y) => y).sort((a, b) => this.marginals[t][b] - this.marginals[t][a]);
    const likely = order.filter((y, k) => k < 2 || this.marginals[t][y] >= 5e-4).slice(0, 6);
    const chances = el("ul", { class: "chances" }, ...likely.map((y) => {
      const p = this.marginals[t][y], fill = el("i");
      fill.style.width = `${100 * p}%`;
      return el("li", {}, el("span", {}, name(this.tagger.labels[y])),
        el("span", { class: "track", "aria-hidden": "true" }, fill), el("span", { class: "n" }, percent(p)));
    }));
    const before = t === 0 ? data.start : this.labels[t - 1];
    $("try-token").replaceChildren(
      el("h4", {}, name(this.tokens[t].join(" "))),
      el("div", { class: "token-columns" },
        el("div", {}, el("h5", {}, "Probability of labels here"), chances),
        el("div", {}, el("h5", {}, "Evidence for ", name(this.labels[t]), ", after ", name(before)), this.terms(t))));
  }

  terms(t) {
    if (!this.reasons) return el("p", { class: "muted" }, "Not computed for models with label n-grams.");
    const own = this.reasons.filter((reason) => reason.token === t)
      .map((reason) => ({ ...reason, amount: reason.value * reason.weight }))
      .sort((a, b) => Math.abs(b.amount) - Math.abs(a.amount));
    if (own.length === 0) return el("p", { class: "muted" }, "No weight of the model applies here.");
    const largest = Math.abs(own[0].amount), quiet = (text) => el("span", { class: "muted" }, text);
    const rows = own.map(({ attribute, previous, value, amount }) => [
      el("span", {}, name(attribute, "mono"), previous === null ? null : quiet(" pair"),
        value === 1 ? null : quiet(` × ${short(value)}`)),
      el("span", { class: signClass(amount) }, signed(amount, 2)), bar(amount, largest)]);
    const made = table("Evidence for the label", ["Attribute", "Adds", "Share"], rows, [1]);
    made.className = "terms";
    for (const row of made.rows) row.lastElementChild.classList.add("speaks");
    return made;
  }
}

