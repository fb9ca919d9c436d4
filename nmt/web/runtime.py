"""ONNX Runtime for browsers: the files of its npm package that a page needs, of the version that is tested.

They are 14 MB, so nmt does not carry them: `scripts/web_runtime.sh` fetches them, and an export copies them.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from nmt.errors import NmtError

PACKAGE, VERSION = "onnxruntime-web", "1.30.0"

FILES = {
    "runtime/onnxruntime.js": (
        "dist/ort.wasm.bundle.min.mjs",
        "11e64bd8ffe11bd1a2a2f0d6275fdfbbba7262f0b76b99b53d228a8a22ef3d90",
    ),
    "runtime/onnxruntime.wasm": (
        "dist/ort-wasm-simd-threaded.wasm",
        "3398c10d07d229bd91b364548e130e0e51a8e5704b88c7c083ebbeb78842dee2",
    ),
}
"""Path in a page's folder: path in the package, SHA-256. Many file servers do not know the type of a file `.mjs`."""

LICENCE = """ONNX Runtime is distributed under this licence:

MIT License

Copyright (c) Microsoft Corporation

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
associated documentation files (the "Software"), to deal in the Software without restriction,
including without limitation the rights to use, copy, modify, merge, publish, distribute,
sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial
portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT
NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES
OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN
CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""


def usual_place() -> Path:
    """The directory that `scripts/web_runtime.sh` makes."""
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # Path.home() raises without a home
    return Path(caches) / "nmt" / f"{PACKAGE}-{VERSION}"


def runtime_files(package: Path) -> dict[str, bytes]:
    """The files of the unpacked npm package, by their paths in a page's folder.

    Raises:
        NmtError: a file is missing, or it is not of the tested version.
    """
    files = {name: _read(package / path, digest) for name, (path, digest) in FILES.items()}
    return {**files, "runtime/LICENSE": LICENCE.encode()}


def _read(path: Path, digest: str) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise NmtError(
            f"{path}: {error.strerror}: run `npm pack {PACKAGE}@{VERSION}`, unpack the file, and give the directory "
            "`package` with --runtime; in a checkout scripts/web_runtime.sh does it"
        ) from None
    if hashlib.sha256(content).hexdigest() != digest:
        raise NmtError(f"{path}: is not the file of {PACKAGE} {VERSION}: fetch this version with npm")
    return content
