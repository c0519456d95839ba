// A list of any length in a box that scrolls: only the rows in sight exist.

const MARGIN = 8; // rows beyond the edges, for smooth scrolling
const PRINTED = 50; // rows on paper

class Rows {
  /** `render(k)` makes the element of row k; `choose(k)` is called for the current row, `enter(k)` for Enter on it. */
  constructor(box, { head = null, render, choose, enter = () => {}, empty, rowRole = "row" }) {
    Object.assign(this, { box, head, render, choose, enter, empty, rowRole, length: 0, current: -1, printing: false });
    this.space = el("div", { class: "space", role: rowRole === "row" ? "rowgroup" : "presentation" });
    box.append(...(head ? [head] : []), this.space);
    const draw = soon(() => this.draw());
    box.addEventListener("scroll", draw, { passive: true });
    new ResizeObserver(draw).observe(box);
    box.addEventListener("keydown", (event) => this.key(event));
    this.space.addEventListener("click", (event) => {
      const row = event.target.closest(".row");
      if (row) this.go(Number(row.dataset.k));
    });
    this.space.addEventListener("dblclick", () => { if (this.current >= 0) this.enter(this.current); });
    addEventListener("beforeprint", () => { this.printing = true; this.draw(); });
    addEventListener("afterprint", () => { this.printing = false; this.draw(); });
  }

  /** Show `length` rows, from the first on; `current` is the selected one, -1: none. */
  show(length, current = -1) {
    this.length = length;
    this.current = current;
    this.box.scrollTop = 0;
    if (current >= 0) this.reveal();
    this.draw();
  }

  get height() { return parseFloat(getComputedStyle(this.box).getPropertyValue("--row")); }
  get headHeight() { return this.head ? this.head.offsetHeight : 0; }
  get inSight() { return Math.max(1, Math.floor((this.box.clientHeight - this.headHeight) / this.height)); }

  draw() {
    const height = this.height;
    const begin = this.printing ? 0 : Math.max(0, Math.floor(this.box.scrollTop / height) - MARGIN);
    const end = this.printing ? Math.min(this.length, PRINTED)
      : Math.min(this.length, begin + this.inSight + 2 * MARGIN + 1);
    const rows = [];
    for (let k = begin; k < end; k++) {
      const row = this.render(k);
      row.classList.add("row");
      row.classList.toggle("on", k === this.current);
      row.setAttribute("role", this.rowRole);
      row.id = `${this.box.id}-${k}`;
      row.dataset.k = k;
      row.style.transform = `translateY(${k * height}px)`;
      if (this.rowRole === "row") row.setAttribute("aria-rowindex", k + 2);
      if (this.rowRole === "option") {
        row.setAttribute("aria-posinset", k + 1);
        row.setAttribute("aria-setsize", this.length);
      }
      if (this.rowRole === "option" || k === this.current) row.setAttribute("aria-selected", k === this.current);
      rows.push(row);
    }
    this.space.style.height = `${Math.max(this.length * height, 1)}px`;
    this.space.replaceChildren(...(this.length ? rows : [el("p", { class: "empty" }, this.empty)]));
    if (this.current >= begin && this.current < end) {
      this.box.setAttribute("aria-activedescendant", `${this.box.id}-${this.current}`);
    } else {
      this.box.removeAttribute("aria-activedescendant");
    }
  }

  /** Scroll so that the current row is in sight. */
  reveal() {
    const height = this.height, top = this.current * height, sight = this.box.clientHeight - this.headHeight;
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    else if (top + height > this.box.scrollTop + sight) this.box.scrollTop = top + height - sight;
  }

  go(k) {
    if (!this.length) return;
    this.current = Math.min(Math.max(k, 0), this.length - 1);
    this.reveal();
    this.draw();
    this.choose(this.current);
  }

  key(event) {
    if (event.target !== this.box || event.ctrlKey || event.metaKey || event.altKey) return;
    const from = this.current, page = Math.max(1, this.inSight - 1);
    const to = { ArrowDown: from + 1, ArrowUp: Math.max(0, from - 1), PageDown: Math.max(from, 0) + page,
      PageUp: from - page, Home: 0, End: this.length - 1 }[event.key];
    if (to !== undefined) {
      event.preventDefault();
      this.go(to);
    } else if (event.key === "Enter" && from >= 0) {
      event.preventDefault();
      this.enter(from);
    }
  }
}
