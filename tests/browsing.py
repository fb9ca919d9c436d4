"""A real browser for tests: Chromium without a window, driven by Playwright."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from nmt.drawing import canvas

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser, which is closed at the end."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


@dataclass
class OpenedPage:
    """An open page, with the addresses it requested and the problems it reported."""

    page: Any
    requests: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @classmethod
    def watched(cls, browser: Any, milliseconds: int, **settings: Any) -> Self:
        """A new page, empty, whose requests and problems are noted.

        Args:
            milliseconds: that actions on the page may take.
            settings: of Playwright's context, such as the colour scheme.
        """
        opened = cls(browser.new_context(**settings).new_page())
        opened.page.set_default_timeout(milliseconds)
        opened.page.context.on("request", lambda request: opened.requests.append(request.url))
        opened.page.on("console", lambda message: opened.problems.append(message.text))
        opened.page.on("pageerror", lambda error: opened.problems.append(str(error)))
        return opened

    def until(self, condition: str) -> None:
        """Waits a minute for a condition. Playwright's own function evaluates text in the page, which the policy of
        nmt's pages forbids."""
        for _ in range(1200):
            if self.page.evaluate(condition):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError((condition, self.problems))

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).first.click()


class TranslatingPage(OpenedPage):
    """The page of a server or of a web folder, which translates a text."""

    def type(self, text: str) -> None:
        self.page.locator("#text").fill(text)

    def words(self, row: int = 1) -> list[str]:
        """The words of a row; row 0 is the source's."""
        return list(self.page.locator(".result .words").nth(row).locator(".text").all_inner_texts())

    def shows(self, words: str, row: int = 1) -> None:
        """Waits until a row has these words."""
        wanted = json.dumps(words.split())
        self.until(
            f"""JSON.stringify([...document.querySelectorAll(".result .words")[{row}]?.querySelectorAll(".text")
            ?? []].map(word => word.textContent)) === JSON.stringify({wanted})"""
        )


def contrast(element: Any) -> float:
    """The contrast of an element's text with its background, by the Web Content Accessibility Guidelines 2.2."""
    ink, *layers = element.evaluate("""e => {
        const colours = [getComputedStyle(e).color];
        for (let at = e; at; at = at.parentElement) colours.push(getComputedStyle(at).backgroundColor);
        const pixel = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
        return colours.map(colour => {
            pixel.clearRect(0, 0, 1, 1);
            pixel.fillStyle = colour;
            pixel.fillRect(0, 0, 1, 1);
            return Array.from(pixel.getImageData(0, 0, 1, 1).data);
        });
    }""")
    under = np.zeros(3)
    for *colour, alpha in reversed(layers):
        under = under * (1 - alpha / 255) + np.array(colour) * alpha / 255
    shares = (tuple(np.clip(np.array(colour) / 255, 0, 1)) for colour in (ink[:3], under))
    return canvas.contrast(*shares)
