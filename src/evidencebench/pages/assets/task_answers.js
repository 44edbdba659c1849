// What a person says of a task, as plain values: {sentences | ratings | cause, note}; how two tabs' values become one.

function isSame(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}

// Of the sentences of two tabs that both began with `base`: those of the other tab that stay, and what this one added.
function mergeIndices(base, mine, theirs) {
  const stay = theirs.filter((index) => mine.includes(index) || !base.includes(index));
  return { stay, added: mine.filter((index) => !base.includes(index) && !stay.includes(index)) };
}

/* Merges the values of two tabs that both began with `base`: what either has changed. Where both changed the same
   text or choice, this tab's stays. */
function mergeAnswers(base, mine, theirs) {
  return Object.fromEntries(Object.keys(mine).map((name) => [name, mergeValues(base[name], mine[name], theirs[name])]));
}

function mergeValues(base, mine, theirs) {
  if (Array.isArray(mine)) {
    const { stay, added } = mergeIndices(base, mine, theirs);
    return [...stay, ...added].sort((one, other) => one - other);
  }
  if (typeof mine === "object") {
    const changed = Object.entries(mine).filter(([name, value]) => base[name] !== value);
    return { ...theirs, ...Object.fromEntries(changed) };
  }
  return mine === base ? theirs : mine;
}
