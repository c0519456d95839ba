// Labels a column file like `sparsecrf label`, in Node, with the npm package (`make wasm` writes it to build/npm).
//
//     node label.mjs PACKAGE MODEL INPUT        PACKAGE: the folder of the package
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, model, input] = process.argv.slice(2);
const { Sparsecrf } = await import(pathToFileURL(resolve(folder, "sparsecrf.js")));
const library = await Sparsecrf.load(await readFile(resolve(folder, "sparsecrf.wasm")));
const tagger = library.open(await readFile(model));
const lines = [];
for (const sentence of (await readFile(input, "utf8")).split(/\n\s*\n/)) {
  const rows = sentence.split("\n").map((line) => line.trim().split(/[ \t]+/)).filter(([first]) => first);
  if (rows.length === 0) continue;
  const labels = tagger.label(rows);
  lines.push(...rows.map((row, t) => `${row.join(" ")} ${labels[t]}`), "");
}
process.stdout.write(lines.map((line) => `${line}\n`).join(""));
tagger.close();
