// What stands over the list: how many papers, their means, and their aspects by how many systems find them.

function listSummary(source) {
  const count = h("p.list-count", { role: "status" });
  const told = h("p.list-means");
  const bars = h("nav.found-bars", { "aria-label": "Aspects by how many systems find them" });
  const links = h("span");
  const element = h("div.list-head", {}, h("div", {}, h("div.list-told", {}, count, links), told), bars);
  return { element, say, show };

  function show(asked, listing) {
    say(countText(asked, listing));
    const progress = progressOf(asked, listing);
    told.replaceChildren(...meansLine(listing), progress);
    links.replaceChildren(...(progress ? [] : source.linksOf?.(asked) ?? []));
    const focused = [...bars.children].indexOf(document.activeElement);
    bars.replaceChildren(...foundBars(asked, listing));
    bars.children[focused]?.focus();
  }

  // Sets the text only where it changed, since a screen reader reads it aloud each time it is set.
  function say(text) {
    if (count.textContent !== text) count.textContent = text;
  }
}

// The number of found papers in words, such as "37 of 96 papers; 3 without Results".
function countText({ q, found }, { n_found, n_instances: all, n_scored, n_without_results: without, rows }) {
  const parts = [n_found === all ? counted(all, "paper") : `${n_found.toLocaleString("en")} of ${counted(all, "paper")}`];
  if (without && n_scored === all) parts.push(`${without.toLocaleString("en")} without Results`);
  if (found !== null) parts.push(`only with an aspect that ${found ? counted(found, "system") : "no system"} found`);
  if (q && !wordsOf(q).length && rows[0]?.id !== q) parts.push("to search, type letters or digits");
  return parts.join("; ");
}

// How far the source is that still reads the papers; empty where the list and its means cannot change any more.
function progressOf({ q }, { n_searched, n_scored, n_instances: all }) {
  const part = (word, n) => (n < all ? [`${word} ${n.toLocaleString("en")} of ${all.toLocaleString("en")} so far`] : []);
  return [...(q ? part("searched", n_searched) : []), ...part("scored", n_scored)].join("; ");
}

function meansLine({ means: [a, b, ceiling], n_means: n }) {
  const of = (mean, ...name) => (mean === null ? [] : [h("span", {}, ...name, " ", h("b", {}, percent(mean)))]);
  const both = a === null || b === null ? [] : [differenceLine(a - b)];
  return n ? [`Mean aspect recall over ${counted(n, "paper")}: `, ...of(a, systemMark("a"), "A"), ...of(b, systemMark("b"), "B"), ...both, ...of(ceiling, "ceiling")] : [];
}

// A bar for no system, one, two ... with the number of aspects that so many find; it opens the papers with such aspects.
function foundBars(asked, { found }) {
  if (!found.some(Boolean)) return [];
  return found.map((n, systems) => {
    const isChosen = asked.found === systems;
    const name = `${counted(n, "aspect")} that ${systems} of ${counted(found.length - 1, "system")} found`;
    const href = linkTo(readRoute().id, null, { found: isChosen ? null : systems, page: null });
    const bar = h("a", { href, title: name, "aria-label": name, "aria-current": isChosen && "true" }, n.toLocaleString("en"), h("b", {}, systems));
    bar.style.setProperty("--share", n / Math.max(...found));
    return bar;
  });
}
