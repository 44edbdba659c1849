// What a language model was asked about a paper and what it replied, beside the paper; loaded when a reader opens it.

// A fold for each of A and B that asks a model: what its answer took, and where the page can tell, the requests.
function exchangeBlocks(overview, record, state, source) {
  return ["a", "b"].filter((letter) => record.spent?.[state[letter]]).map((letter) => {
    const system = state[letter];
    const spent = record.spent[system][state.task] || "no request noted";
    const named = h("p", { class: "exchanges" }, systemMark(letter), " ", foreign("b", {}, systemNames(overview)[system]), `: ${spent}.`);
    if (!overview.has_exchanges) return named;
    const body = h("div", { role: "status" });
    return h("details", { class: "exchanges", "data-fold": `asked-${letter}`, ontoggle: open },
      h("summary", {}, h("h2", {}, systemMark(letter), wide(" What"), ` ${letter.toUpperCase()} was asked`, wide(" and answered"))), named, body);

    async function open() {
      if (body.childElementCount) return; // words alone are those of an error, after which it is asked for again
      body.append("Loading…");
      try {
        const { requests, note } = await source.exchanges(record.paper.id, system, state.task);
        body.replaceChildren(...requests.map(requestPart), h("p", {}, note));
      } catch (error) {
        body.replaceChildren(error.message);
      }
    }
  });
}

function requestPart({ model, follows, messages, reply, facts }, place) {
  return h("section", {}, h("h3", {}, `Request ${place + 1}: `, foreign("bdi", {}, model)), foreign("p", {}, facts),
    follows && h("p", {}, "After the messages above and their reply:"),
    messages.map(({ role, text }) => h("details", {}, h("summary", {}, `Prompt, ${role}: ${counted(text.length, "character")}`), foreign("pre", {}, text))),
    reply !== null && [h("h4", {}, "Reply"), foreign("pre", {}, reply)]);
}
