// Shared by all parts: the data, elements, numbers as text. Strings from the model and the data become text nodes and
// attributes, never markup.

const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);

/** An element: attributes by name (false: left out), children that are nodes or text. */
function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

/** The same in SVG. */
function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** A name from the model or the data, in either writing direction. */
const name = (text, className) => el("bdi", { class: className }, text);

const ARRAYS = { u8: Uint8Array, i16: Int16Array, i32: Int32Array, f32: Float32Array };

/** A column of numbers: {type: base64 of little-endian numbers}. */
function unpack(column) {
  const [[type, text]] = Object.entries(column);
  const bytes = atob(text);
  const array = new Uint8Array(bytes.length);
  for (let k = 0; k < bytes.length; k++) array[k] = bytes.charCodeAt(k);
  return new ARRAYS[type](array.buffer);
}

/** The start of each group, from the sizes of the groups; the last entry is the end. */
function offsets(sizes) {
  const begin = new Int32Array(sizes.length + 1);
  for (let k = 0; k < sizes.length; k++) begin[k + 1] = begin[k] + sizes[k];
  return begin;
}

const whole = new Intl.NumberFormat("en");
const count = (n) => whole.format(n);
const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;
const percent = (share, digits = 1) => `${(100 * share).toFixed(digits)} %`;
/** A weight with its sign; negative values get a true minus sign. */
const signed = (value, digits = 3) => (value < 0 ? "−" : value > 0 ? "+" : "") + Math.abs(value).toFixed(digits);
/** A number in few characters. */
function short(value) {
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) return value.toExponential(1).replace("e+", "e");
  return new Intl.NumberFormat("en", { maximumSignificantDigits: 4 }).format(value);
}
const signClass = (value) => (value < 0 ? "neg" : "pos");

/** A bar from the middle, to the left for negative values. */
function bar(value, largest) {
  const inner = el("i", { class: value < 0 ? "minus" : false });
  const width = largest > 0 ? (50 * Math.min(1, Math.abs(value) / largest)) : 0;
  inner.style.width = `${width}%`;
  inner.style.left = `${value < 0 ? 50 - width : 50}%`;
  return el("span", { class: "bar-cell", "aria-hidden": "true" }, inner);
}

/** A table from column titles and rows of cells (text or nodes). The columns `numbers` are aligned at the end. */
function table(caption, titles, rows, numbers = []) {
  const side = (k) => (numbers.includes(k) ? "n" : false);
  const head = el("tr", {}, ...titles.map((title, k) => el("th", { scope: "col", class: side(k) }, title)));
  const body = rows.map((cells) =>
    el("tr", {}, ...cells.map((cell, k) =>
      k === 0 ? el("th", { scope: "row" }, cell) : el("td", { class: side(k) }, cell))));
  return el("table", {}, el("caption", { class: "visually-hidden" }, caption),
    el("thead", {}, head), el("tbody", {}, ...body));
}

/** A function that calls `act` at most once per frame. */
function soon(act) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; act(); });
  };
}

/** The options of a select: [value, text]. */
function fill(select, options) {
  select.replaceChildren(...options.map(([value, text]) => el("option", { value }, text)));
}
/** Labels, then parts of labels, to which weights belong. */
const cells = () => [...data.labels, ...data.parts];
const cellOptions = (first) => [["", first], ...cells().map((cell, y) => [y, cell])];

/** A colour of the current theme as [r, g, b]. */
function colour(variable) {
  const probe = el("span");
  probe.style.color = `var(${variable})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number);
  probe.remove();
  return found;
}
const mixed = (a, b, t) => `rgb(${a.map((v, k) => Math.round(v + t * (b[k] - v))).join(",")})`;

/** Functions that redraw parts with computed colours when the theme changes. */
const redraws = [];
const onTheme = (act) => { redraws.push(act); };
