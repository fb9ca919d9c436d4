"""Fuzz targets for whole commands: as many lines come out as went in, or one line says why not."""

from __future__ import annotations

import contextlib
import io
import signal
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import fake_translator
from oracle import target
from run_targets import examples

from nmt.cli import main
from nmt.translation.translator import Translator


@cache
def _aligner() -> Path:
    """A trained aligner, which lasts as long as the process."""
    directory = Path(tempfile.mkdtemp()) / "aligner"
    directory.mkdir()
    for name, content in examples()["aligner"].items():
        (directory / name).write_bytes(content)
    return directory


@contextlib.contextmanager
def _without_a_network():
    """Replaces the translator, as `fake_translator.install` does, for a block."""
    replaced: list[Callable[[], None]] = []

    def put(owner: object, name: str, value: object) -> None:
        old = getattr(owner, name)
        replaced.append(lambda: setattr(owner, name, old))
        setattr(owner, name, value)

    chunk, fakes = Translator.chunk_size, fake_translator.Translator.linkings
    fake_translator.install(put)
    handler = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        for undo in reversed(replaced):
            undo()
        fakes.clear()
        fake_translator.Translator.loaded.clear()
        signal.signal(signal.SIGTERM, handler)
        assert Translator.chunk_size == chunk


def check_command(words: str, data: bytes, place: Path) -> None:
    """Runs a command on a file; `{place}` is the directory and `{aligner}` an aligner."""
    (place / "in").write_bytes(data)
    (place / "run").mkdir(exist_ok=True)
    outputs = [place / name for name in ("out", "links")]
    for path in outputs:
        path.unlink(missing_ok=True)
    with _without_a_network(), contextlib.redirect_stderr(io.StringIO()) as said:
        code = main(words.format(place=place, aligner=_aligner()).split())
    counts = [path.read_bytes().count(b"\n") for path in outputs if path.exists()]
    if code == 0:
        assert counts, "no output"
        assert set(counts) == {data.count(b"\n") + (not data.endswith(b"\n") and data != b"")}, counts
    else:
        errors = [line for line in said.getvalue().splitlines() if line.startswith("nmt: error: ")]
        assert code == 2 and len(errors) == 1 and not counts, said.getvalue()


COMMANDS = {
    "translate": "translate --model {place}/run --input {place}/in --output {place}/out --alignments {place}/links",
    "score": "score --model {place}/run --source {place}/in --target {place}/in --output {place}/out",
    "markup": "translate --model {place}/run --input {place}/in --output {place}/out --markup html",
    "aligner": "aligner --model {aligner} --source {place}/in --target {place}/in --links {place}/links",
}
TEXT = "ein haus\n\n  \nzwei <b>b\u00e4ume</b> \u2028 x\r\n\u732b\n".encode()

TARGETS = {
    f"command-{name}": target(partial(check_command, words), TEXT, b"\xef\xbb\xbfa\n", b"\xff\n")
    for name, words in COMMANDS.items()
}
