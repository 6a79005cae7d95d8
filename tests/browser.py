"""A real browser for the tests of pages: the system's Chromium, headless, with a profile of its own and no network."""

import os
import shutil

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
)
MISSING = "Chromium is not installed; on Debian: apt-get install --no-install-recommends chromium"


def executable():
    """Return where Chromium is; skip the test without it, but fail in CI, where it has to be."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(MISSING)
    return found


@pytest.fixture(scope="session")
def chromium():
    """One browser for all tests of a session."""
    path = executable()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


class Visit:
    """An open page, and all that it said and asked for."""

    def __init__(self, page):
        self.page = page
        self.messages, self.requests = [], []
        page.on("console", lambda message: self.messages.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.messages.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def text(self, selector):
        """Return what an element shows."""
        return self.page.locator(selector).inner_text().replace("\u00a0", " ")

    def evaluate(self, code, argument=None):
        """Return the value of a JavaScript expression."""
        return self.page.evaluate(code, argument)


@pytest.fixture
def visit(chromium, tmp_path):
    """Open pages from disk; at the end, none of them may have complained or asked for anything else."""
    contexts, visits = [], []

    def open_page(html, *, scheme="light", width=1280, height=900):
        path = tmp_path / f"page-{len(visits)}.html"
        path.write_text(html, encoding="utf-8")
        context = chromium.new_context(color_scheme=scheme, viewport={"width": width, "height": height})
        contexts.append(context)
        one = Visit(context.new_page())
        visits.append((one, path.as_uri()))
        one.page.goto(path.as_uri())
        one.page.wait_for_selector("html[data-ready]")
        return one

    yield open_page
    for context in contexts:
        context.close()
    for one, address in visits:
        assert one.messages == []
        assert [url for url in one.requests if url not in (address, "about:srcdoc")] == []
