// Light and dark.

/** Light or dark, as in the system until the button is pressed. Browsers without storage forget the choice. */
function showTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)"), root = document.documentElement;
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
  const offer = () => { $("theme").textContent = isDark() ? "Light theme" : "Dark theme"; };
  const apply = () => {
    offer();
    for (const redraw of redraws) redraw();
  };
  try { root.dataset.theme = localStorage.getItem("sparsecrf-theme") || ""; } catch { /* not kept */ }
  $("theme").addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("sparsecrf-theme", root.dataset.theme); } catch { /* not kept */ }
    apply();
  });
  dark.addEventListener("change", apply);
  offer();
}
