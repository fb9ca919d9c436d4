"""Runs the page's JavaScript in Node."""

from __future__ import annotations

import json
import shutil
import subprocess
from importlib import resources
from pathlib import Path
from typing import Any

NODE = shutil.which("node")

MAIN = """
import { readFileSync } from "node:fs";
const input = JSON.parse(readFileSync(0, "utf-8"));
process.stdout.write(JSON.stringify(await (async () => { %s })()));
"""


def modules(place: Path) -> Path:
    """A copy of the engine's modules that Node reads as ES modules."""
    (place / "engine").mkdir()
    for entry in resources.files("nmt.web.engine").iterdir():
        if entry.name.endswith(".js"):
            (place / "engine" / entry.name).write_bytes(entry.read_bytes())
    (place / "package.json").write_text('{"type": "module"}')
    return place


def run_node(place: Path, imports: str, body: str, values: Any, seconds: int = 300) -> Any:
    """The result of JavaScript that reads `input`, as JSON.

    Args:
        place: the copy that `modules` made.
        imports, body: of the script; the body returns the result.
        values: the input.
    """
    script = place / "main.js"
    script.write_text(imports + MAIN % body, encoding="utf-8")
    assert NODE is not None
    done = subprocess.run(
        [NODE, str(script)], input=json.dumps(values), capture_output=True, text=True, timeout=seconds, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
