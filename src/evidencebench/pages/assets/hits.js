// Marks the words of a search, and steps through the sentences of a paper that hold them.

const WORD_LIKE = /([\p{L}\p{N}\p{M}]+)/u;
const PARTS_BEFORE = 24; // words and gaps that a snippet shows before its first searched word, where that is further on
const LONGEST_MARKED = 1000; // characters of a word; marks on many lines are slow to draw

function isHit(text, words) {
  return words.length > 0 && wordsOf(text).some((word) => words.some((asked) => word.startsWith(asked)));
}

// Sets the words of an element that are wanted in elements of a tag, and no others.
function markWords(element, tag, isWanted) {
  const isMarked = (part) => part.length < LONGEST_MARKED && wordsOf(part).some(isWanted);
  const parts = element.textContent.split(WORD_LIKE); // every second part is a word
  element.replaceChildren(...parts.map((part, n) => (n % 2 && isMarked(part) ? h(tag, {}, part) : part)));
  element.normalize();
}

// Marks the words that begin with one of these.
function markHits(element, words) {
  markWords(element, "mark", (word) => words.some((asked) => word.startsWith(asked)));
}

// The part of a sentence from shortly before the first searched word on.
function snippetOf(text, words) {
  const parts = text.split(WORD_LIKE);
  const first = parts.findIndex((part) => isHit(part, words)) - PARTS_BEFORE;
  return first > PARTS_BEFORE ? `…${parts.slice(first).join("")}` : text;
}

// The hits in the paper that is shown: marks in hypothesis, text and map, and a stepper over the text.
function paperHits(root) {
  let held = {}; // {paper, key, indexes}
  const place = h("span.number", { role: "status" });
  const asked = foreign("span", {}, "");
  const button = (by, word, sign) => h("button", { "aria-label": `${word} hit`, onclick: () => step(by) }, sign);
  const stepper = h("span.stepper.hits", {},
    button(-1, "previous", "‹"), asked, " ", place, button(1, "next", "›"));
  return { follow, step };

  function follow(route) {
    const paper = root.querySelector(".paper");
    const words = searchedIn(route, "text");
    const key = route.query.get("q") + route.query.get("in");
    if (!paper || (held.paper === paper && held.key === key)) return;
    const texts = [...paper.querySelectorAll(".sentence .text")];
    const indexes = [...texts.keys()].filter((index) => isHit(texts[index].textContent, words));
    held = { paper, key, indexes };
    markHits(paper.querySelector(".hypothesis"), searchedIn(route, "hypothesis"));
    texts.forEach((text, index) => (text.firstElementChild || indexes.includes(index)) && markHits(text, words));
    const ticks = indexes.map((index) => blockPath(index, 47, 4)).join("");
    for (const map of paper.querySelectorAll(".map g")) {
      map.querySelector(".map-hits")?.remove();
      map.append(svg("path", { class: "map-hits", d: ticks }));
    }
    asked.textContent = cleaned(`“${shortened(route.query.get("q") ?? "", 20)}”`);
    place.textContent = indexes.length;
    stepper.remove();
    if (words.length) paper.querySelector(".toolbar").prepend(stepper);
  }

  function step(by) {
    if (!held.indexes?.length) return;
    const current = held.paper.querySelector(".is-target")?.dataset.index;
    const next = nextTarget(held.indexes, current === undefined ? null : Number(current), by);
    held.paper.show(next);
    place.textContent = `${held.indexes.indexOf(next) + 1} of ${held.indexes.length}`;
  }
}
