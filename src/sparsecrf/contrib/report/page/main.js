// Put the page together.

function showNavigation() {
  const sections = [...document.querySelectorAll("main > section")].filter((section) => !section.hidden);
  const links = new Map(sections.map((section) => {
    const title = section.id === "summary" ? "Summary" : section.querySelector("h2").textContent;
    return [section, el("a", { href: `#${section.id}` }, title)];
  }));
  $("nav").append(...[...links.values()].map((link) => el("li", {}, link)));
  const mark = soon(() => {
    const bar = document.querySelector(".bar").offsetHeight;
    const atEnd = scrollY + innerHeight >= document.documentElement.scrollHeight - 2;
    let current = sections[0];
    for (const section of sections) if (section.getBoundingClientRect().top < bar + innerHeight / 3) current = section;
    if (atEnd) current = sections[sections.length - 1];
    for (const [section, link] of links) {
      if (section === current) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    // Not scrollIntoView: it would scroll the page as well.
    const nav = $("nav").parentElement, link = links.get(current);
    nav.scrollLeft = link.offsetLeft - nav.offsetLeft - (nav.clientWidth - link.offsetWidth) / 2;
  });
  addEventListener("scroll", mark, { passive: true });
  mark();
}

showTheme();
showSummary();
const weights = readWeights();
showSentences();
showWeights(weights);
showMaps(weights);
showTransitions();
showStrings();
showTemplates();
showCurves();
if (data.try) showTrial();
showNavigation();
document.documentElement.dataset.ready = Math.round(performance.now());
