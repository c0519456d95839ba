// Scores of the labels of the data, at the head of the page and above the sentence explorer.

/** The main score: F1 of chunks, or the accuracy if labels do not encode chunks. */
function showHeadline(scores, file, rate) {
  const accuracy = `${rate(100 - scores.token_error)} of ${plural(scores.tokens, "token")} are right`;
  const big = scores.f1 === null ? `Accuracy ${rate(100 - scores.token_error)}` : `Chunk F1 ${scores.f1.toFixed(2)}`;
  $("score").hidden = false;
  const whole = `${rate(100 - scores.sequence_error)} of ${plural(scores.sequences, "sentence")} have no error`;
  $("score").append(el("p", { class: "big" }, big), el("p", {}, "On ", name(file), `: ${accuracy}; ${whole}.`));
}

/** Scores by type of chunk, or by label if labels do not encode chunks. */
function showTable(scores, rate) {
  const [title, kind, each] = scores.f1 === null
    ? ["Labels, by tokens", "Label", scores.labels]
    : ["Chunks by type", "Type", scores.types];
  const rows = Object.entries(each).map(([key, score]) => [
    key === "" ? "(no type)" : name(key), score.f1.toFixed(2), rate(score.precision), rate(score.recall),
    count(score.gold), count(score.predicted), count(score.correct)]);
  $("types-box").hidden = !rows.length;
  $("types-title").textContent = title;
  const titles = [kind, "F1", "Precision", "Recall", "Gold", "Predicted", "Correct"];
  $("types").append(table(title, titles, rows, [1, 2, 3, 4, 5, 6]));
}

function showScores() {
  const { scores, confusions, file, wrong, words } = data.sentences;
  const shown = words.length, all = scores.sequences;
  const missing = wrong > shown ? "; not all errors are here" : "";
  const rest = shown < all ? ` ${count(shown)} of them are shown, those with errors first${missing}.` : "";
  $("sentences-note").replaceChildren(name(file), `: ${plural(all, "sentence")}, ${count(wrong)} with errors.${rest}`);
  const rate = (value) => `${value.toFixed(2)} %`;
  const facts = [
    ["Token accuracy", rate(100 - scores.token_error), `of ${count(scores.tokens)}`],
    ["Sentences without error", rate(100 - scores.sequence_error), `of ${count(all)}`],
  ];
  if (scores.f1 !== null) {
    facts.push(["Chunk F1", scores.f1.toFixed(2)], ["Chunk precision", rate(scores.precision)],
      ["Chunk recall", rate(scores.recall)]);
  }
  $("scores").append(...facts.map((line) => fact(...line)));
  showHeadline(scores, file, rate);
  showTable(scores, rate);
  $("confusions-box").hidden = !confusions.length;
  $("confusions").append(table("Most frequent confusions", ["Gold", "Predicted", "Tokens"],
    confusions.map(([gold, predicted, n]) => [name(gold), name(predicted), count(n)]), [2]));
}
