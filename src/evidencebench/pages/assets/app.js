// Starts the page of the app: the paper viewer, or the pages of people who answer tasks.

import { h, themeButton } from "./dom.js";
import { readRoute } from "./route.js";
import { serverSource } from "./server.js";
import { showTasks } from "./task_pages.js";
import { showViewer } from "./viewer.js";

async function startApp() {
  // The token is in a cookie now, so it is taken out of the address, which readers may copy and share.
  if (location.search) history.replaceState(null, "", location.pathname + location.hash);
  document.querySelector(".page-head").append(h("p.page-title", {}, document.title), themeButton());
  const root = document.getElementById("viewer");
  if (document.body.dataset.source === "tasks") return showTasks(root);
  if (readRoute().place !== "papers") history.replaceState(null, "", "#/papers");
  await showViewer(root, serverSource());
}

startApp();
