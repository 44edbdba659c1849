// Starts the page of the app: the paper viewer, or the pages of people who pick sentences.

async function startApp() {
  // The token is in a cookie now, so it is taken out of the address, which readers may copy and share.
  if (location.search) history.replaceState(null, "", location.pathname + location.hash);
  document.querySelector(".page-head").append(h("p.page-title", {}, document.title), themeButton());
  const root = document.getElementById("viewer");
  const source = new ServerSource();
  let overview;
  try {
    overview = await source.overview();
  } catch (error) {
    root.append(h("p.viewer-status", { role: "status" }, error.message));
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
