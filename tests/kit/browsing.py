"""What the tests of the pages share: pages of a real Chromium that are watched, and how accessible a page must be."""

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, FloatRect, Locator, Page, Request, WebError

from kit.examples import IS_THOROUGH
from kit.patience import MOST_SECONDS

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""What Chromium is called, here and there."""

BROWSER_FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

MOST_MILLISECONDS = 1_000 * MOST_SECONDS
"""How long a page is waited for."""

STILL = """async () => {
  let last = "";
  for (let n = 0; n < 8;) {
    await new Promise(requestAnimationFrame);
    const place = `${scrollY} ${document.documentElement.scrollHeight}`;
    n = place === last ? n + 1 : 0;
    last = place;
  }
}"""
"""Waits until a page has neither scrolled nor grown for eight frames in a row."""

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def browser_path() -> str:
    """Return where Chromium lies; without one, skip the test, or fail it where everything must be tested."""
    for name in BROWSERS:
        if path := shutil.which(name):
            return path
    reason = f"needs Chromium (one of {', '.join(BROWSERS)}), which is not here"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@dataclass(slots=True, kw_only=True)
class Pages:
    """Opens pages, each with storage of its own; ``problems`` are what they did that no page may do.

    These are errors on a console, errors that nothing caught, and requests that would leave this machine.
    """

    browser: Browser
    problems: list[str] = field(default_factory=list)
    _contexts: list[BrowserContext] = field(default_factory=list)

    def __call__(
        self,
        width: int = 1280,
        height: int = 900,
        *,
        dark: bool = False,
        expected_errors: Sequence[str] = (),
        **options: Any,
    ) -> Page:
        """Open an empty page, whose reader may prefer it dark; options are those of `Browser.new_context`.

        ``expected_errors`` are parts of console errors that the test brings about on purpose.
        """
        context = self.browser.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", **options
        )
        context.set_default_timeout(MOST_MILLISECONDS)
        self._contexts.append(context)

        def on_console(message: ConsoleMessage) -> None:
            if message.type == "error" and not any(part in message.text for part in expected_errors):
                self.problems.append(f"console: {message.text} ({message.location})")

        def on_error(error: WebError) -> None:
            self.problems.append(f"uncaught: {error.error}")

        def on_request(request: Request) -> None:
            address = urlsplit(request.url)
            if address.scheme in ("http", "https", "ws", "wss") and address.hostname not in _LOOPBACK:
                self.problems.append(f"request: {request.url}")

        context.on("console", on_console)
        context.on("weberror", on_error)
        context.on("request", on_request)
        return context.new_page()

    def leave(self) -> None:
        """Leave every page, so that nothing more is asked of a server that is about to end."""
        for context in self._contexts:
            for page in context.pages:
                page.goto("about:blank")

    def close(self) -> None:
        """Close every page that was opened."""
        for context in self._contexts:
            context.close()
        self._contexts.clear()


NewPage = Callable[..., Page]
"""Opens a page as `Pages` does."""


def assert_accessible(page: Page, *widths: int) -> None:
    """Fail if the page is too wide, or axe-core finds anything, small targets included: in both themes, at any width.

    Without ``widths``, the window stays as it is. By default axe-core looks at the first width and in one theme. A page
    whose heading is not yet drawn is waited for.
    """
    page.locator("h1").first.wait_for(state="attached")
    for number, width in enumerate(widths):
        page.set_viewport_size({"width": width, "height": 800})
        assert_fits(page)
        if number == 0 or IS_THOROUGH:
            _assert_axe_finds_nothing(page)
    if not widths:
        assert_fits(page)
        _assert_axe_finds_nothing(page)


def _assert_axe_finds_nothing(page: Page) -> None:
    if not page.evaluate("'axe' in window"):
        page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
    prefers_dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    options = {"resultTypes": ["violations"], "rules": {"target-size": {"enabled": True}}}
    for is_dark in (not prefers_dark, prefers_dark) if IS_THOROUGH else (prefers_dark,):
        page.emulate_media(color_scheme="dark" if is_dark else "light")
        violations = page.evaluate("async (options) => (await axe.run(document, options)).violations", options)
        assert not violations, "\n".join(["dark:" if is_dark else "light:", *map(_told, violations)])


def _told(violation: dict[str, Any]) -> str:
    lines = [f"{violation['id']} ({violation['impact']}): {violation['help']}"]
    for found in violation["nodes"][:5]:
        checks = [check["message"] for kind in ("any", "all", "none") for check in found[kind]]
        lines.append(f"  {' '.join(map(str, found['target']))}: {found['html'][:200]}: {'; '.join(checks)}")
    return "\n".join(lines)


def say_name(page: Page, url: str, name: str) -> None:
    """Open an app of tasks and sign in."""
    page.goto(url)
    page.get_by_label("Your name").fill(name)
    page.keyboard.press("Enter")


def assert_asks_before_leaving(page: Page) -> None:
    """Fail unless the browser asks before it leaves the page; the page stays."""
    with page.expect_event("dialog") as asks:
        page.evaluate("setTimeout(() => location.reload())")
        asks.value.dismiss()
    assert asks.value.type == "beforeunload"


def box_of(shown: Locator) -> FloatRect:
    """Return where something is shown; what is not shown fails the test."""
    box = shown.bounding_box()
    assert box is not None
    return box


def assert_fits(page: Page) -> None:
    """Fail if the page is wider than the window, so that a reader would have to scroll to the side."""
    wide, window = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert wide <= window, f"the page is {wide} pixels wide in a window of {window}"


def address_of(path: Path, fragment: str = "") -> str:
    """Return the address of a file, at a place of the page."""
    return f"{path.resolve().as_uri()}{fragment}"


def served_address_of(page: Page, path: Path) -> str:
    """Return an address at which the page finds a file as a server would give it, for tests of what a reader chose.

    Chromium under load may show a file that is loaded again its storage from before the last choice: 8 times of 371
    beside six busy processes, and 0 of 1,116 where it came from an address as here.
    """
    address = f"http://127.0.0.1/{path.name}"
    page.route(address, lambda route: route.fulfill(path=path))
    return address


def open_report(page: Page, path: Path, fragment: str = "") -> None:
    """Open a report at a place of it, and wait until it is drawn."""
    page.goto(address_of(path, fragment))
    page.locator(".scatter-mark").first.wait_for()
