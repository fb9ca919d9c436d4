"""A real browser for tests: Chromium without a window, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

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
    light, dark = sorted((luminance(np.array(ink[:3])), luminance(under)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: np.ndarray) -> float:
    """The relative luminance of a colour with channels from 0 to 255."""
    channels = colour / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])
