// The model and the labeller that are part of the page itself.

/** Decode gzip data in base64. */
async function inflated(text) {
  const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Show the section at once; it works as soon as the model and the library are unpacked. */
function showTrial() {
  $("try").hidden = false;
  $("try-hint").textContent = "The model and the labeller are part of this page; your text is not sent anywhere.";
  $("try-text").value = data.try.example;
  Promise.all([inflated(data.try.wasm), inflated(data.try.model)])
    .then(async ([wasm, model]) => {
      const tagger = (await Sparsecrf.load(wasm)).open(model);
      tagger.tokenizer = data.try.tokenizer;
      tagger.answers = async (tokens) => ({
        labels: tagger.label(tokens),
        marginals: tagger.marginals(tokens),
        reasons: data.try.reasons ? tagger.reasons(tokens) : null,
      });
      await new Trial(tagger).first;
      document.documentElement.dataset.try = "ready";
      document.addEventListener("sparsecrf-label", (event) => { // for automated comparisons: tokens in, labels out
        event.detail.labels = event.detail.sentences.map((tokens) => tagger.label(tokens));
      });
    })
    .catch((error) => { $("try-error").textContent = `The labeller cannot start: ${error.message}`; });
}
