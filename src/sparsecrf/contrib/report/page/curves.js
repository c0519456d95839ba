// Training curves over iterations or passes, read by pointer or arrow keys.

const CURVES = [
  { key: "objective", title: "Objective", log: true },
  { key: "gap", title: "Duality gap", log: true },
  { key: "kkt", title: "KKT residual", log: true },
  { key: "active", title: "Active weights", log: false },
  { key: "dev_error", title: "Error on dev data, %", log: false },
];
const AREA = { width: 340, height: 190, left: 52, right: 10, top: 8, bottom: 26 };

function showCurves() {
  const history = data.history;
  if (!history) return;
  $("training").hidden = false;
  const draw = () => {
    const axis = document.querySelector('input[name="axis"]:checked').value;
    $("curves").replaceChildren(...CURVES.map((curve) => figure(curve, history, axis)).filter(Boolean));
  };
  if (!history.passes) document.querySelector('input[name="axis"][value="passes"]').disabled = true;
  for (const choice of document.querySelectorAll('input[name="axis"]')) choice.addEventListener("change", draw);
  draw();
}

/** The points of a curve: [x, value, iteration]. Those without a value are left out. */
function pointsOf(history, key, axis) {
  const found = [];
  (history[key] || []).forEach((value, k) => {
    const x = history[axis][k];
    if (value !== null && x !== null) found.push([x, value, history.iter[k]]);
  });
  return found;
}

function figure({ key, title, log }, history, axis) {
  const points = pointsOf(history, key, axis);
  if (points.length < 2) return null;
  const values = points.map((point) => point[1]), low = Math.min(...values), high = Math.max(...values);
  const logarithmic = log && low > 0 && high / low > 5;
  // A linear axis begins slightly below the smallest value and ends slightly above the largest, with or without ticks.
  const margin = logarithmic ? 0 : 0.05 * (high - low);
  const bottom = low < 0 ? low - margin : Math.max(0, low - margin), top = high + margin;
  const ticks = logarithmic ? logTicks(low, high) : linearTicks(low, high).filter((v) => v >= bottom && v <= top);
  const scale = logarithmic ? Math.log : (v) => v;
  const { width, height, left, right, top: above, bottom: below } = AREA;
  const everyX = history[axis].filter((x) => x !== null), firstX = Math.min(...everyX), lastX = Math.max(...everyX);
  const X = (x) => left + (width - left - right) * (x - firstX) / Math.max(lastX - firstX, 1e-9);
  const range = Math.max(scale(top) - scale(bottom), 1e-9);
  const Y = (v) => height - below - (height - above - below) * (scale(v) - scale(bottom)) / range;

  const what = axis === "iter" ? "iteration" : "passes";
  const ends = `from ${short(values[0])} to ${short(values[values.length - 1])}`;
  const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, tabindex: "0", role: "application",
    "aria-roledescription": "curve", "aria-label": `${title}, ${ends}. Left and right arrow keys read points.` });
  for (const tick of ticks) {
    drawing.append(svg("line", { class: "axis", x1: left, x2: width - right, y1: Y(tick), y2: Y(tick) }),
      svg("text", { class: "tick", x: left - 7, y: Y(tick) + 4, "text-anchor": "end" }, short(tick)));
  }
  for (const tick of linearTicks(firstX, lastX).filter((x) => x >= firstX && x <= lastX)) {
    drawing.append(svg("text", { class: "tick", x: X(tick), y: height - 8, "text-anchor": "middle" }, short(tick)));
  }
  const steps = points.map(([x, v], k) => `${k ? "L" : "M"}${X(x).toFixed(1)},${Y(v).toFixed(1)}`);
  drawing.append(svg("path", { class: "curve", d: steps.join("") }));
  if (points.length <= 30) {
    for (const [x, v] of points) drawing.append(svg("circle", { class: "point", cx: X(x), cy: Y(v), r: 2.6 }));
  }
  const mark = svg("line", { class: "mark", y1: above, y2: height - below, visibility: "hidden" });
  const spot = svg("circle", { class: "mark-point", r: 4, visibility: "hidden" });
  drawing.append(mark, spot);

  const readout = el("span", { class: "muted", role: "status" });
  let current = points.length - 1;
  const read = (k) => {
    current = Math.min(Math.max(k, 0), points.length - 1);
    const [x, v] = points[current];
    for (const [node, attributes] of [[mark, { x1: X(x), x2: X(x) }], [spot, { cx: X(x), cy: Y(v) }]]) {
      for (const [attribute, value] of Object.entries(attributes)) node.setAttribute(attribute, value);
      node.setAttribute("visibility", "visible");
    }
    readout.textContent = `${short(v)} at ${what} ${short(x)}`;
  };
  const rest = () => {
    for (const node of [mark, spot]) node.setAttribute("visibility", "hidden");
    readout.textContent = `${short(values[values.length - 1])} at the end`;
  };
  drawing.addEventListener("pointermove", (event) => {
    const box = drawing.getBoundingClientRect(), x = (event.clientX - box.left) * width / box.width;
    read(nearest(points.map((point) => X(point[0])), x));
  });
  drawing.addEventListener("pointerleave", rest);
  drawing.addEventListener("blur", rest);
  drawing.addEventListener("focus", () => read(current));
  drawing.addEventListener("keydown", (event) => {
    const to = { ArrowLeft: current - 1, ArrowRight: current + 1, Home: 0, End: points.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    read(to);
  });
  rest();
  const caption = el("figcaption", {}, el("b", {}, title + (logarithmic ? " (log)" : "")), readout);
  return el("figure", { class: "card" }, caption, drawing);
}

function nearest(places, x) {
  let best = 0;
  places.forEach((place, k) => { if (Math.abs(place - x) < Math.abs(places[best] - x)) best = k; });
  return best;
}

function linearTicks(low, high) {
  if (high <= low) return [low];
  const rough = (high - low) / 4, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
  const ticks = [];
  for (let k = Math.floor(low / step); k * step < high + step * 0.999; k++) {
    ticks.push(Number((k * step).toPrecision(12)));
  }
  return ticks;
}

function logTicks(low, high) {
  const from = Math.floor(Math.log10(low)), to = Math.ceil(Math.log10(high));
  const steps = to - from <= 2 ? [1, 2, 5] : [1];
  const all = [];
  for (let e = from; e <= to; e += Math.ceil((to - from) / 6)) for (const m of steps) all.push(m * 10 ** e);
  const inside = all.filter((tick) => tick >= low * 0.999 && tick <= high * 1.001);
  return inside.length >= 2 ? inside : [low, high];
}
