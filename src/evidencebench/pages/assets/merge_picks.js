// Merges the picks that one person made in one paper in two tabs, and tells the person about it.

// A random name of this tab. The server keeps it with the picks, so that a tab is not told of its own changes.
function tabName() {
  return [...crypto.getRandomValues(new Uint32Array(4))].map((part) => part.toString(36)).join("-");
}

/* Merges the picks of two tabs that both began with `base`: what either tab added or took back. Where there is no
   room for all, the other tab's stay. Returns {picks, left}: left is what had no room. */
function mergePicks({ base, mine, theirs, budget }) {
  const { stay, added } = mergeIndices(base, mine, theirs);
  const room = Math.max(0, budget - stay.length);
  return { picks: [...stay, ...added.slice(0, room)], left: added.slice(room) };
}

/* The changes that lead to the picks, as {undo, redo} with the newest last; another tab may have made others void. A
   change is the index of a sentence that was picked, or `~index` of one that was taken back: so `~change` undoes it. */
function leadingHere(changes, picks) {
  const leading = (list = []) => {
    const picked = new Set(picks);
    return list.toReversed().filter((one) => (one < 0 ? !picked.has(~one) && picked.add(~one) : picked.delete(one))).reverse();
  };
  return { undo: leading(changes?.undo), redo: leading(changes?.redo) };
}

function mergedWords(left) {
  const words = "Your picks of this paper were changed in another tab; what you picked there and here is put together now.";
  if (!left.length) return words;
  const which = [...left].sort((one, other) => one - other).join(", ");
  return `${words} Left out, since all picks are used: ${left.length === 1 ? "sentence" : "sentences"} ${which}.`;
}

// The elements that replace a paper that was submitted in another tab.
function submittedElsewhere(id) {
  return [
    h("p.people-error", { role: "alert" },
      "You have submitted this paper in another tab. What you submitted there counts, and is final; what you changed here since does not."),
    h("p", {}, h("a.people-main", { href: linkTo(id) }, "Your answer and the evidence"), " ", h("a", { href: "#/queue" }, "All papers")),
  ];
}
