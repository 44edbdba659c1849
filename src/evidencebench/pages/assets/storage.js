// Keeps the reader's choices in the browser: in "localStorage", or in "sessionStorage" for this tab only.

// A browser may refuse storage to a page from a file or in a private window; then nothing is kept.
function recall(key, storage = "localStorage") {
  try {
    return window[storage].getItem(key);
  } catch {
    return null;
  }
}

function remember(key, value, storage = "localStorage") {
  try {
    if (value === null) window[storage].removeItem(key);
    else window[storage].setItem(key, value);
  } catch {
    // The choice holds until the page is left.
  }
}
