// Signing in by name, and the bar that says who is signed in.

// `links` are [address, words].
function personBar(server, leave, links) {
  const name = foreign("strong", {}, "");
  const bar = h("div.person-bar", {},
    h("span", {}, "Signed in as ", name),
    links.map(([href, words]) => h("a", { href }, words)),
    h("button", { onclick: leave }, "Sign out"));
  return { element: bar, update };

  function update() {
    bar.hidden = server.name() === null;
    name.textContent = cleaned(server.name() ?? "");
  }
}

// `explain` returns what stands above the field, from what the server tells of all tasks.
function signPage(server, enter, { title, note, explain }) {
  const field = h("input", { id: "person-name", name: "name", autocomplete: "off", maxlength: 200, required: true, dir: "auto" });
  const error = h("p.people-error", { role: "alert" });
  const about = h("div");
  const form = h("form.sign-in", { onsubmit: sign },
    h("label", { for: "person-name" }, "Your name"),
    h("p.people-note", { id: "person-note" }, note),
    field,
    h("button", { type: "submit", class: "people-main" }, "Begin"));
  field.setAttribute("aria-describedby", "person-note");
  return { element: h("section.people-page", { hidden: true }, h("h1", {}, title), about, form, error), show };

  function show(found) {
    error.textContent = typeof found === "string" ? found : "";
    if (typeof found !== "string") about.replaceChildren(...explain(found));
    field.focus();
  }

  async function sign(event) {
    event.preventDefault();
    error.textContent = "";
    try {
      await enter(await server.signIn(field.value));
      field.value = "";
    } catch (refusal) {
      error.textContent = refusal.message;
    }
  }
}
