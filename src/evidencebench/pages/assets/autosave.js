// Saves on the server what a person says, while it is said: picks, marks, notes.

/* Sends the newest value, one request at a time; a request that fails is sent again until it arrives. The browser asks
   before it leaves a page where something is not saved, or `isHeld()`. `onHidden` is called once the page is hidden or closed. */
function autosave(send, say, { onHidden = () => {}, isHeld = () => false } = {}) {
  let waiting = null;
  let running = null;
  let pausing = null;
  const over = new AbortController();
  const { signal } = over;
  const isDone = () => running === null && waiting === null;
  window.addEventListener("beforeunload", (event) => { if (!isDone() || isHeld()) event.preventDefault(); }, { signal });
  window.addEventListener("pagehide", hurry, { signal }); // not every browser says both
  document.addEventListener("visibilitychange", () => { if (document.visibilityState === "hidden") hurry(); }, { signal });
  return { keep, settled, forget, end, isDone };

  // Saves after a pause (milliseconds) in which nothing newer comes, such as between the letters of a note.
  function keep(value, pause = 0) {
    waiting = value;
    if (running === null) say("saving");
    clearTimeout(pausing);
    if (pause) pausing = setTimeout(start, pause);
    else start();
  }

  function start() {
    if (waiting !== null) running ??= run();
  }

  function hurry() {
    onHidden();
    start();
  }

  async function settled() {
    start();
    await running;
  }

  function forget() {
    waiting = null;
  }

  // Waits a moment for what is not saved; where the server is away, it is sent when it is back.
  async function end() {
    const saved = settled().then(() => over.abort());
    await Promise.race([saved, new Promise((resume) => setTimeout(resume, 1500))]);
  }

  async function run() {
    while (waiting !== null) {
      const value = waiting;
      waiting = null;
      try {
        await send(value);
      } catch (error) {
        say("failed", error);
        if (error.status >= 400 && error.status < 500) continue; // the server refused it, and would refuse it again
        waiting ??= value;
        await new Promise((resume) => setTimeout(resume, 2000));
        continue;
      }
      if (waiting === null) say("saved");
    }
    running = null;
  }
}
