// Counts a person's working time: the page is in view, and its last input was less than a minute ago.

const IDLE_SECONDS = 60;
const LONGEST_TICK_SECONDS = 2; // the first tick after the machine slept would count the whole sleep

// Counts on from `before` seconds; stop() ends it.
function workClock(before) {
  const inputs = ["pointermove", "pointerdown", "keydown", "wheel", "scroll", "touchmove"];
  let counted = before;
  let ticked = performance.now();
  let moved = ticked;
  const touch = () => { moved = performance.now(); };
  for (const name of inputs) document.addEventListener(name, touch, { capture: true, passive: true });
  const timer = setInterval(tick, 1000);
  return { seconds, stop };

  function tick() {
    const now = performance.now();
    const isActive = document.visibilityState === "visible" && now - moved < 1000 * IDLE_SECONDS;
    if (isActive) counted += Math.min((now - ticked) / 1000, LONGEST_TICK_SECONDS);
    ticked = now;
  }

  function seconds() {
    tick();
    return Math.floor(counted);
  }

  function stop() {
    clearInterval(timer);
    for (const name of inputs) document.removeEventListener(name, touch, { capture: true });
  }
}

function minutes(seconds) {
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")} min`;
}
