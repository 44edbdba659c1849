// What the browser remembers of the reader's choices: in "localStorage", or in "sessionStorage" for this tab only.

// A page opened from a file, or in a private window, may be refused its storage: then nothing is remembered.
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
    // Nothing is lost but the memory of it.
  }
}
