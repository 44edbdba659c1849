// Saves picks on the server while they are made.

// Sends the newest picks, one request at a time; a request that fails is sent again until it arrives.
function autosave(send, say) {
  let waiting = null;
  let running = null;
  return { keep, settled, forget, isDone: () => running === null };

  function keep(picks) {
    waiting = picks;
    running ??= run();
  }

  async function settled() {
    await running;
  }

  function forget() {
    waiting = null;
  }

  async function run() {
    say("saving");
    window.addEventListener("beforeunload", warn);
    while (waiting !== null) {
      const picks = waiting;
      waiting = null;
      try {
        await send(picks);
      } catch (error) {
        say("failed", error);
        if (error.status >= 400 && error.status < 500) break; // the server refused it, and would refuse it again
        waiting ??= picks;
        await new Promise((resume) => setTimeout(resume, 2000));
        continue;
      }
      if (waiting === null) say("saved");
    }
    window.removeEventListener("beforeunload", warn);
    running = null;
  }

  // The browser asks before it leaves what is not saved.
  function warn(event) {
    event.preventDefault();
  }
}
