// Starts the page of people who answer tasks.

function startTasks() {
  // The token is in a cookie now, so it is taken out of the address, which readers may copy and share.
  if (location.search) history.replaceState(null, "", location.pathname + location.hash);
  document.querySelector(".page-head").append(h("p.page-title", {}, document.title), themeButton());
  showTasks(document.getElementById("viewer"));
}

startTasks();
