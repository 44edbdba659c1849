// The desk of a review: its table, and a cell with its paper.

import { h } from "./dom.js";

document.getElementById("viewer").append(h("p", {}, "The desk's page comes here."));
