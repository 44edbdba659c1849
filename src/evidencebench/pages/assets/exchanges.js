// What a language model was asked about a paper and what it replied, beside the paper; loaded when a reader opens it.

// For each of A and B that asks a model: what its answer took, and a fold where the page can show the requests.
function exchangeBlocks(overview, record, state, source) {
  return ["a", "b"].filter((letter) => record.spent?.[state[letter]]).map((letter) => {
    const system = state[letter];
    const mark = systemMark(letter);
    const spent = h("p.exchanges", {}, mark.cloneNode(true), " ",
      foreign("b", {}, overview.systems[system].label), `: ${record.spent[system][state.task] || "no request noted"}.`);
    if (!overview.has_exchanges) return spent;
    const body = h("div", { role: "status" });
    return h("details.exchanges", { "data-fold": `asked-${letter}`, ontoggle: open },
      h("summary", {}, h("h2", {}, mark, wide(" What"), ` ${letter.toUpperCase()} was asked`, wide(" and answered"))),
      spent, body);

    async function open() {
      if (body.childElementCount) return;
      body.textContent = "Loading…";
      try {
        const { requests, note } = await source.exchanges(record.paper.id, system, state.task);
        body.replaceChildren(...requests.map(requestPart), h("p", {}, note));
      } catch (error) {
        body.textContent = error.message;
      }
    }
  });
}

function requestPart({ title, facts, texts }) {
  return h("section", {}, foreign("h3", {}, title), foreign("p", {}, facts), texts.map(({ name, text }) =>
    h("details", { open: name === "Reply" }, h("summary", {}, name), foreign("pre", {}, text))));
}
