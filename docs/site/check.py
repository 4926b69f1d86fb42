"""Finds what would trip a reader of the built site: links that lead nowhere and, in a browser, pages that fail."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit


class _Page(HTMLParser):
    """The links of a page, and the places in it that links may lead to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if given.get("id"):
            self.places.add(given["id"] or "")
        for name in ("href", "src"):
            if given.get(name):
                self.links.append(given[name] or "")


def _pages(html: Path) -> list[Path]:
    return [path for path in sorted(html.rglob("*.html")) if "_static" not in path.parts]


def broken_links(html: Path) -> list[str]:
    """`page: link` for each link within the site that has no target."""
    pages = {path: _Page(path.read_text(encoding="utf-8")) for path in _pages(html)}
    found = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            there = target.exists() and (
                not parts.fragment or target not in pages or unquote(parts.fragment) in pages[target].places
            )
            if not there:
                found.append(f"{path.relative_to(html)}: {link}")
    return found


PHONE, SCREEN = (390, 844), (1300, 900)
SAMPLE = 15  # pages of the reference, which one generator writes, beside all others


def failures_in_browser(html: Path) -> Iterator[str]:
    """Yield what is wrong with the pages in Chromium, as wide as a phone and as a screen, and in the search."""
    browser = _chromium()
    try:
        written = [path for path in _pages(html) if path.parent.name != "reference"]
        made = sorted((html / "reference").glob("*.html"))
        for path in [*written, *random.Random(0).sample(made, SAMPLE)]:
            yield from (f"{path.relative_to(html)}: {what}" for what in _of_page(browser, path.as_uri()))
        yield from _of_search(browser, html)
    finally:
        browser.quit()


def _chromium() -> Any:
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in (
        "headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking",
        "disable-component-update", "disable-sync", f"user-data-dir={tempfile.mkdtemp()}",
    ):  # fmt: skip
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "SEVERE"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))


def _of_page(browser: Any, address: str) -> Iterator[str]:
    for width, height in (PHONE, SCREEN):
        browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
        )
        browser.get(address)
        wide = browser.execute_script("return document.documentElement.scrollWidth")
        if wide > width:
            yield f"{wide} pixels wide on a screen of {width}"
    if not browser.title or not browser.find_elements("tag name", "h1"):
        yield "no title"
    yield from (entry["message"] for entry in browser.get_log("browser"))


def _of_search(browser: Any, html: Path) -> Iterator[str]:
    from selenium.webdriver.support.ui import WebDriverWait

    for word in ("logsumexp", "custom_vjp", "DetachingError"):
        browser.get(f"{(html / 'search.html').as_uri()}?q={word}")
        found = WebDriverWait(browser, 20).until(lambda b: b.find_elements("css selector", "#search-results li a"))
        if not any(word in link.get_attribute("href") for link in found):
            yield f"search: {word} is not found"
