"""Barriers in a page, found by axe-core: https://github.com/dequelabs/axe-core."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

VERSION = "4.14.1"
CACHES = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
AXE = Path(CACHES) / "nmt" / f"axe-core-{VERSION}" / "axe.min.js"
"""Where `scripts/axe.sh` puts it."""

FIND = """axe.run(document, {resultTypes: ["violations"]}).then(found => JSON.stringify({
    violations: found.violations.map(({id, impact, nodes}) => [id, impact, nodes.map(node => node.html)]),
    passes: found.passes.length,
}))"""

needs_axe = pytest.mark.skipif(not AXE.exists(), reason="needs axe-core: bash scripts/axe.sh")


def barriers(page: Any) -> list[Any]:
    """The barriers in a page: the rule, the impact, and the elements.

    The browser's own console runs axe, because the page's policy forbids scripts from elsewhere.
    """
    console = page.context.new_cdp_session(page)
    for expression in (AXE.read_text(encoding="utf-8"), FIND):
        answer = console.send(
            "Runtime.evaluate", {"expression": expression, "awaitPromise": True, "returnByValue": True}
        )
        assert "exceptionDetails" not in answer, answer
    found = json.loads(answer["result"]["value"])
    assert found["passes"] > 5  # axe has looked at the page
    return list(found["violations"])
