// Starts the page of the app: the papers of the server, or the pages of people who pick sentences in them.

async function startApp() {
  // The token has become a cookie; it need not stand in the address, from where it is copied.
  if (location.search) history.replaceState(null, "", location.pathname + location.hash);
  document.querySelector(".page-head").append(h("p", { class: "page-title" }, document.title), themeButton());
  const root = document.getElementById("viewer");
  const source = new ServerSource();
  let overview;
  try {
    overview = await source.overview();
  } catch (error) {
    root.append(h("p", { class: "viewer-status", role: "status" }, error.message));
    return;
  }
  if (overview.people) {
    showPeople(root);
    return;
  }
  if (readRoute().place !== "papers") history.replaceState(null, "", "#/papers");
  await showViewer(root, source);
}

startApp();
