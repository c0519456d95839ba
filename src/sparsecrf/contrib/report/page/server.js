// The page of `sparsecrf serve`: models on the server, queried over HTTP.

/** A model of the server. */
class Remote {
  /** `about`: the entry of the model in /models. */
  constructor(about) {
    this.about = about;
    this.labels = about.labels;
    this.columns = about.columns;
    this.tokenizer = about.tokenizer;
  }

  async answers(tokens) {
    const input = this.columns < 0 ? "attributes" : "columns";
    const asked = { model: this.about.name, [input]: [tokens], marginals: true, explain: this.about.explains };
    const { labels, marginals, reasons } = await fromServer("label", { method: "POST", body: JSON.stringify(asked) });
    return { labels: labels[0], marginals: marginals[0], reasons: reasons ? reasons[0] : null };
  }
}

/** The JSON at an address of the server, with the token if there is one. Errors repeat the server's message. */
async function fromServer(address, options = {}) {
  const headers = { "Content-Type": "application/json" };
  if (data.token) headers.Authorization = `Bearer ${$("token").value}`;
  const answer = await fetch(address, { ...options, headers });
  const found = await answer.json();
  if (answer.ok) return found;
  throw new Error(found.error.message + (found.error.instead ? `; send ${found.error.instead}` : ""));
}

let trial = null, models = [];

/** Use the chosen model. */
function useModel() {
  const remote = new Remote(models.find((about) => about.name === $("model").value));
  $("title").textContent = remote.about.name;
  if (trial) return trial.use(remote);
  trial = new Trial(remote);
  return trial.first;
}

/** List the models of the server, and use the model in `?model=NAME`, or the first. */
async function showModels() {
  $("try-error").textContent = "";
  try {
    ({ models } = await fromServer("models"));
    fill($("model"), models.map((about) => [about.name, about.name]));
    $("model-label").hidden = models.length < 2;
    const asked = new URLSearchParams(location.search).get("model");
    if (models.some((about) => about.name === asked)) $("model").value = asked;
    await useModel();
    document.documentElement.dataset.try = "ready";
  } catch (error) { $("try-error").textContent = error.message; }
}

showTheme();
$("version").textContent = data.version;
$("try").hidden = false;
$("try-hint").textContent = "The server of this page labels the sentences.";
$("model").addEventListener("change", useModel);
$("token").addEventListener("change", showModels);
$("choices").addEventListener("submit", (event) => event.preventDefault()); // the change has been seen
$("token-label").hidden = !data.token;
if (!data.token) showModels();
