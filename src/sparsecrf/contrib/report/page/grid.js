// A matrix with names at its sides: cells in a canvas, read by pointer, touch or arrow keys.

const MOST_PIXELS = 8000; // maximum length of a side of a canvas
/** The width of the row names in pixels: about 7.6 per letter, up to the limit in parts.css. */
const namesWidth = (names) => Math.min(240, 0.38 * innerWidth, 24 + 7.6 * Math.max(16, ...names.map((n) => n.length)));

/**
 * Draw into `host`. `rows` and `columns` are names, value(r, c) returns a number (0: empty cell), and describe(r, c)
 * returns nodes or text for readers. `diverging`: values are signed.
 */
function drawGrid(host, { label, rows, columns, corner, value, describe, diverging }) {
  let largest = 0;
  for (let r = 0; r < rows.length; r++) {
    for (let c = 0; c < columns.length; c++) largest = Math.max(largest, Math.abs(value(r, c)));
  }
  // Pixels: cells are as wide as there is room for, and show their numbers if those fit.
  const high = columns.length > 60 ? 14 : columns.length > 30 ? 18 : 22;
  const wide = Math.max(high, Math.floor((host.clientWidth - namesWidth(rows) - 4) / columns.length));
  const width = wide * columns.length, height = high * rows.length;
  const extent = `${plural(rows.length, "row")} by ${plural(columns.length, "column")}`;
  const canvas = el("canvas", { tabindex: "0", role: "application", "aria-roledescription": "matrix",
    "aria-label": `${label}: ${extent}. Arrow keys read cells.` });
  const cursor = el("div", { class: "cursor", hidden: "" });
  const readout = el("p", { class: "readout", "aria-live": "polite" });
  const side = (className, names) => el("div", { class: className, "aria-hidden": "true" },
    ...names.map((text) => el("span", { title: text, dir: "auto" }, text)));
  const columnNames = side("columns", columns), rowNames = side("names", rows);
  if (columns.every((text) => text.length * 8 < wide)) columnNames.classList.add("flat");
  for (const span of columnNames.children) span.style.width = `${wide}px`;
  for (const span of rowNames.children) span.style.height = span.style.lineHeight = `${high}px`;
  for (const names of [columnNames, rowNames]) names.classList.toggle("small", high < 16);
  cursor.style.width = `${wide + 1}px`;
  cursor.style.height = `${high + 1}px`;

  const paint = () => {
    const ratio = Math.min(devicePixelRatio || 1, MOST_PIXELS / Math.max(width, height, 1));
    canvas.width = Math.ceil(width * ratio);
    canvas.height = Math.ceil(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const pen = canvas.getContext("2d");
    pen.setTransform(canvas.width / width, 0, 0, canvas.height / height, 0, 0);
    const shade = shades(diverging), inkOn = (v) => (brightness(shade(v)) > 0.55 ? "#10181c" : "#ffffff");
    pen.fillStyle = shade(0);
    pen.fillRect(0, 0, width, height);
    Object.assign(pen, { font: "11px system-ui, sans-serif", textAlign: "center", textBaseline: "middle" });
    for (let r = 0; r < rows.length; r++) {
      for (let c = 0; c < columns.length; c++) {
        const v = value(r, c);
        if (v === 0) continue;
        pen.fillStyle = shade(v / largest);
        pen.fillRect(c * wide, r * high, wide - 1, high - 1);
        if (wide < 36 || Math.abs(v) < 0.05) continue;
        pen.fillStyle = inkOn(v / largest);
        pen.fillText(diverging ? signed(v, 1) : v.toFixed(1), (c + 0.5) * wide - 0.5, (r + 0.5) * high);
      }
    }
  };
  let at = null, pinned = null;
  const read = (r, c) => {
    if (at) for (const [side, k] of [[rowNames, at[0]], [columnNames, at[1]]]) side.children[k].classList.remove("on");
    at = [r, c];
    for (const [side, k] of [[rowNames, r], [columnNames, c]]) side.children[k].classList.add("on");
    cursor.hidden = false;
    cursor.style.left = `${c * wide - 1}px`;
    cursor.style.top = `${r * high - 1}px`;
    readout.replaceChildren(...describe(r, c));
  };
  const cellOf = (event) => {
    const box = canvas.getBoundingClientRect();
    const inside = (k, size, n) => Math.min(Math.max(Math.floor(k / size), 0), n - 1);
    return [inside(event.clientY - box.top, high, rows.length), inside(event.clientX - box.left, wide, columns.length)];
  };
  canvas.addEventListener("pointermove", (event) => read(...cellOf(event)));
  canvas.addEventListener("pointerdown", (event) => { pinned = cellOf(event); read(...pinned); });
  canvas.addEventListener("pointerleave", () => { if (pinned) read(...pinned); });
  canvas.addEventListener("focus", () => read(...(at || [0, 0])));
  canvas.addEventListener("keydown", (event) => {
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
      Home: [0, -columns.length], End: [0, columns.length], PageUp: [-10, 0], PageDown: [10, 0] }[event.key];
    if (!move || !at) return;
    event.preventDefault();
    const clamp = (k, n) => Math.min(Math.max(k, 0), n - 1);
    read(clamp(at[0] + move[0], rows.length), clamp(at[1] + move[1], columns.length));
    pinned = at;
    keepInSight(canvas.closest(".matrix"), at, [wide, high], columnNames.offsetHeight, rowNames.offsetWidth);
  });
  const inner = el("div", { class: "matrix-inner" }, el("div", { class: "corner", "aria-hidden": "true" }, corner),
    columnNames, rowNames, el("div", { class: "cells" }, canvas, cursor));
  host.replaceChildren(el("div", { class: "matrix" }, inner), legend(largest, diverging), readout,
    textOf(label, rows, columns, value, describe));
  readout.textContent = "Point at a cell, or use the arrow keys, to read it.";
  paint();
  host.repaint = () => { paint(); host.querySelector(".legend").replaceWith(legend(largest, diverging)); };
}

/** The colour of a value from -1 to 1. It grows with the square root, since small values would hardly be visible. */
function shades(diverging) {
  const paper = colour("--sunken"), plus = colour(diverging ? "--positive" : "--accent"), minus = colour("--negative");
  return (v) => mixed(paper, v < 0 ? minus : plus, Math.min(1, Math.sqrt(Math.abs(v))));
}

/** The brightness of a colour, from 0 (black) to 1 (white). */
function brightness(paint) {
  const [r, g, b] = paint.match(/\d+/g).map(Number);
  return (0.299 * r + 0.587 * g + 0.114 * b) / 255;
}

function legend(largest, diverging) {
  const width = 160, bars = el("canvas", { width, height: 10, "aria-hidden": "true" });
  const pen = bars.getContext("2d"), shade = shades(diverging);
  for (let k = 0; k < width; k++) {
    pen.fillStyle = shade(diverging ? 2 * k / (width - 1) - 1 : k / (width - 1));
    pen.fillRect(k, 0, 1, 10);
  }
  return el("div", { class: "legend" }, diverging ? `−${largest.toFixed(2)}` : "0", bars,
    `${diverging ? "+" : ""}${largest.toFixed(2)}`, el("span", {}, "Colour grows with the square root."));
}

/** Scroll the box of a matrix until the cell is beside the sticky names. */
function keepInSight(box, [r, c], [wide, high], top, left) {
  const x = c * wide, y = r * high;
  if (x < box.scrollLeft) box.scrollLeft = x;
  if (x + wide + left > box.scrollLeft + box.clientWidth) box.scrollLeft = x + wide + left - box.clientWidth;
  if (y < box.scrollTop) box.scrollTop = y;
  if (y + high + top > box.scrollTop + box.clientHeight) box.scrollTop = y + high + top - box.clientHeight;
}

/** The largest cells as text. */
function textOf(label, rows, columns, value, describe) {
  const found = [];
  for (let r = 0; r < rows.length; r++) {
    for (let c = 0; c < columns.length; c++) if (value(r, c) !== 0) found.push([r, c]);
  }
  found.sort((a, b) => Math.abs(value(...b)) - Math.abs(value(...a)));
  const shown = found.slice(0, 50);
  const some = shown.length < found.length ? `: the ${shown.length} largest of ${count(found.length)}` : "";
  const box = el("details", {}, el("summary", {}, `As text${some}`));
  box.addEventListener("toggle", () => {
    if (box.open && box.children.length === 1) {
      box.append(el("ol", { "aria-label": label }, ...shown.map(([r, c]) => el("li", {}, ...describe(r, c)))));
    }
  });
  return box;
}
