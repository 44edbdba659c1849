// What a language model was asked about a paper and what it replied, beside the paper; loaded when a reader opens it.

// For each of A and B that asks a model: what its answer took, and a fold where the page can show the requests.
function exchangeBlocks(overview, record, state, source) {
  return ["a", "b"].filter((letter) => record.spent?.[state[letter]]).map((letter) => {
    const system = state[letter];
    const mark = systemMark(letter);
    const spent = h("p", { class: "exchanges" }, mark.cloneNode(true), " ", foreign("b", {}, systemNames(overview)[system]), `: ${record.spent[system][state.task] || "no request noted"}.`);
    if (!overview.has_exchanges) return spent;
    const body = h("div", { role: "status" });
    return h("details", { class: "exchanges", "data-fold": `asked-${letter}`, ontoggle: open },
      h("summary", {}, h("h2", {}, mark, wide(" What"), ` ${letter.toUpperCase()} was asked`, wide(" and answered"))), spent, body);

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

function requestPart({ model, follows, messages, reply, facts }, place) {
  const prompt = ({ role, text }) => h("details", {}, h("summary", {}, `Prompt, ${role}: ${counted(text.length, "character")}`), foreign("pre", {}, text));
  return h("section", {}, h("h3", {}, `Request ${place + 1}: `, foreign("bdi", {}, model)), foreign("p", {}, facts),
    follows && h("p", {}, "After the messages above and their reply:"), messages.map(prompt),
    reply !== null && [h("h4", {}, "Reply"), foreign("pre", {}, reply)]);
}
