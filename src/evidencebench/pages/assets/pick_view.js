// Lists what a system chose, in its order, and says what each sentence adds to those before it.

import { sentenceLink } from "./aspect_matrix.js";
import { counted, foreign, h, percent, wide } from "./dom.js";
import { abstractLabel, chips, firstWords, plainMark } from "./graded.js";
import { markWords } from "./paper_list.js";
import { wordsOf } from "./route.js";

const MOST_PICKED_TEXT = 600; // characters
// Letter of a pick -> its class, and in words.
const VERDICTS = { n: ["new", "new evidence"], r: ["redundant", "adds nothing"], o: ["none", "no evidence"], h: ["heading", "heading"] };

export function picksFold(graded, side, onChoose) {
  if (!side.judged || !side.selected.length) return null;
  const { certain, tied, n_drawn: nDrawn, picks } = side.judged;
  const counts = Object.entries(VERDICTS).flatMap(([letter, [, words]]) => {
    const n = picks.split(letter).length - 1;
    return n ? [`${n} ${words}`] : [];
  });
  // Of a sentence that states something new, the aspects that no certain one before it states.
  const shownOf = (index, letter) => graded.stated[index].filter((aspect) => aspect.counts &&
    (letter !== "n" || (certain.find((one) => aspect.sentences.includes(one)) ?? index) === index));
  const words = wordsOf(graded.paper.hypothesis).filter((word) => word.length > 2 && !COMMON.has(word));
  const isLabelled = graded.aspects.length > 0;
  return h("details.picked", { "data-fold": `picks-${side.letter}` },
    h("summary", {}, h("h2", {}, plainMark(side), wide("What "), `${side.letter} chose`)),
    h("p", {}, foreign("b", {}, side.label), ", in its order", isLabelled && `: ${counts.join(", ")}`,
      ". Words of the hypothesis are underlined."),
    nDrawn > 0 && h("p", {}, `Chance draws ${nDrawn} of ${certain.length ? "the last " : ""}`,
      `${counted(tied.length, "sentence")}. What each adds is said as if it were drawn alone.`),
    h("ol", {}, [...certain, ...tied].map((index, place) => {
      const [kind, verdict] = VERDICTS[picks[place]];
      const share = side.selects(index);
      return h("li", {},
        sentenceLink(graded.paper, index), " ",
        underlined(firstWords(graded.paper.sentences[index], MOST_PICKED_TEXT), words),
        h("p", { class: `pick-verdict is-${kind}` },
          isLabelled && h("b", {}, verdict),
          share < 1 ? ` (counts with a chance of ${percent(share)}) ` : " ",
          kind === "redundant" && "stated before: ",
          chips(shownOf(index, picks[place]), onChoose)));
    })));
}

// Words that say nothing about the subject.
const COMMON = new Set((
  "and are but can for from had has have into its more not than that the their them then there these they this those " +
  "was were which while will with").split(" "));

// Whether at least four letters begin both words, and at most three follow, as in "keeps" and "keeping".
function isAlike(one, other) {
  let n = 0;
  while (n < one.length && one[n] === other[n]) n += 1;
  return one === other || (n > 3 && Math.max(one.length, other.length) - n <= 3);
}

function underlined(text, words) {
  const element = foreign("span", {}, text);
  markWords(element, "u", (found) => words.some((word) => isAlike(found, word)));
  return element;
}

// The sentences; Tab reaches one of them, and arrow keys go to the others.
export function pickText(paper, on) {
  let pressed = null;
  const toggle = (index, event) => { if (!endsSelection(event, pressed)) on.toggle(index); };
  const buttons = paper.sentences.map((sentence, index) => pickButton(sentence, index, { ...on, toggle }));
  const list = h("ol.pick-text", { role: "list", "aria-label": "Sentences of the paper", onkeydown: step, onpointerdown: press });
  buttons.forEach((button, index) => {
    const kind = paper.kinds[index];
    const label = kind === "a" && paper.kinds[index - 1] !== "a" && abstractLabel(paper, index);
    if (label) list.append(h("li.pick-label", {}, label));
    list.append(h("li", { class: `pick-row pick-${kind}` }, kind === "h" ? h("h2", {}, button) : button));
  });
  let reached = 0;
  return { element: list, showPicked, reach, focus, place, showAtTop };

  function step(event) {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by === undefined || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    event.preventDefault();
    on.move(Math.max(0, Math.min(reached + by, buttons.length - 1)));
  }

  function press({ clientX, clientY, pointerType }) {
    pressed = { x: clientX, y: clientY, isTouch: pointerType === "touch" };
  }

  function showPicked(picked) {
    buttons.forEach((button, index) => { button.ariaPressed = picked.has(index); });
  }

  function reach(index) {
    buttons[reached]?.setAttribute("tabindex", "-1");
    buttons[index]?.setAttribute("tabindex", "0");
    reached = index;
  }

  // Where the person is: at the sentence that was reached, or where it is out of view, at the first one in view.
  function place(index, bar) {
    const top = bar.getBoundingClientRect().bottom;
    const isInView = (button, { y, height } = button.getBoundingClientRect()) => y + height > top && y < innerHeight;
    return isInView(buttons[index]) ? index : Math.max(0, buttons.findIndex((button) => isInView(button)));
  }

  function showAtTop(index) {
    buttons[Math.min(index, buttons.length - 1)].scrollIntoView();
  }

  function focus(index, options) {
    buttons[index]?.focus(options);
  }
}

function pickButton(sentence, index, on) {
  return h("button.pick-sentence",
    { id: `pick-${index}`, tabindex: "-1", "aria-pressed": "false",
      onclick: (event) => on.toggle(index, event), onfocus: () => on.reach(index) },
    h("span.pick-number", {}, String(index)),
    h("span.pick-box", { "aria-hidden": "true" }),
    foreign("span.pick-words", {}, sentence.trim() ? sentence : "(no text)"));
}

const DRAG_PIXELS = 6;

/* Whether a click selects text, and so is no pick: it ends a drag, extends the selection by Shift, or
   is the third of a triple click. The second of a double click takes back the pick of the first. A finger that
   moves scrolls the page, which makes no click. A key (`detail` 0) always picks. */
function endsSelection({ detail, clientX, clientY, shiftKey }, pressed) {
  if (detail === 0 || detail === 2) return false;
  if (detail > 2 || (shiftKey && !getSelection().isCollapsed)) return true;
  return pressed !== null && !pressed.isTouch && Math.hypot(clientX - pressed.x, clientY - pressed.y) > DRAG_PIXELS;
}
