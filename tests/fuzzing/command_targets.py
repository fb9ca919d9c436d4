"""Fuzz targets for whole commands: as many lines come out as went in, or one line says why not."""

from __future__ import annotations

import contextlib
import io
import json
import signal
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import fake_translator
from oracle import target
from run_targets import examples
from text_targets import PO, SRT, TMX, XLIFF_1

from nmt.alignment.word_alignment import WordAlignment
from nmt.cli import main
from nmt.text.documents import open_document
from nmt.text.languages import UNKNOWN, Language, Languages
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


def _run(words: str, name: str, data: bytes, place: Path) -> tuple[int, str]:
    """Runs a command on a file with these bytes; returns its exit code and messages. `{place}` is the directory and
    `{aligner}` an aligner."""
    (place / name).write_bytes(data)
    (place / "run").mkdir(exist_ok=True)
    with (
        _without_a_network(),
        contextlib.redirect_stderr(io.StringIO()) as said,
        contextlib.redirect_stdout(io.StringIO()),
    ):
        code = main(words.format(place=place, aligner=_aligner()).split())
    return code, said.getvalue()


def _require_one_line(code: int, said: str) -> None:
    errors = [line for line in said.splitlines() if line.startswith("nmt: error: ")]
    assert code == 2 and len(errors) == 1 and "Traceback" not in said, said


def check_command(words: str, lines: dict[str, Callable[[int], int]], data: bytes, place: Path) -> None:
    """Runs a command on a file.

    Args:
        words: of the command.
        lines: for each output the number of its lines, by the number of lines of the input.
    """
    for name in lines:
        (place / name).unlink(missing_ok=True)
    code, said = _run(words, "in", data, place)
    counts = {name: (place / name).read_bytes().count(b"\n") for name in lines if (place / name).exists()}
    if code == 0:
        count = data.count(b"\n") + (not data.endswith(b"\n") and data != b"")
        assert counts == {name: expected(count) for name, expected in lines.items()}, counts
    else:
        _require_one_line(code, said)
        assert not counts, said


def check_records(words: str, name: str, data: bytes, place: Path) -> None:
    """The records of a command are lines of JSON with one alignment each."""
    lines = {name: _equal, **({"out/sentences.tsv": lambda count: count + 1} if "explain" in words else {})}
    check_command(words, lines, data, place)
    if (place / name).exists():
        for number, line in enumerate((place / name).read_text(encoding="utf-8").split("\n")[:-1], start=1):
            record = json.loads(line)
            assert record["line"] == number
            alignment = WordAlignment.from_json(record)
            assert alignment.to_json().items() <= record.items()


def check_document_command(name: str, data: bytes, place: Path) -> None:
    """A document that is translated is a document with as many units. The fake translator does not know markup."""
    (result := place / f"out.{name}").unlink(missing_ok=True)
    words = f"translate --model {{place}}/run --input {{place}}/in.{name} --output {{place}}/out.{name} --markup none"
    words += {"srt": "", "tmx": f" --source-language {EN} --target-language {DE} --all-units"}.get(name, " --all-units")
    code, said = _run(words, f"in.{name}", data, place)
    if code:
        _require_one_line(code, said)
        assert not result.exists()
        return
    languages = Languages(EN, DE) if name == "tmx" else UNKNOWN
    documents = [open_document(str(place / each), languages, True) for each in (f"in.{name}", result.name)]
    assert len(documents[0].units) == len(documents[1].units)


def _equal(count: int) -> int:
    return count


def _twice(count: int) -> int:
    return 2 * count


IN_AND_OUT = "--model {place}/run --source {place}/in --target {place}/in"
COMMANDS: dict[str, tuple[str, dict[str, Callable[[int], int]]]] = {
    "translate": (
        "translate --model {place}/run --input {place}/in --output {place}/out.txt --alignments {place}/links",
        {"out.txt": _equal, "links": _equal},
    ),
    "score": (f"score {IN_AND_OUT} --output {{place}}/out.txt", {"out.txt": _equal}),
    "markup": (
        "translate --model {place}/run --input {place}/in --output {place}/out.txt --markup html",
        {"out.txt": _equal},
    ),
    "aligner": (
        "aligner --model {aligner} --source {place}/in --target {place}/in --links {place}/links",
        {"links": _equal},
    ),
    "distil": (
        f"distil {IN_AND_OUT} --output-source {{place}}/made.source --output-target {{place}}/made.target",
        {"made.source": _twice, "made.target": _twice},
    ),
    "back-translate": (
        "back-translate --model {place}/run --source {place}/in --output-source {place}/made.source "
        "--output-target {place}/made.target",
        {"made.source": _equal, "made.target": _equal},
    ),
    "links": (
        f"align {IN_AND_OUT} --output {{place}}/out --limit 0",
        {"out/alignments.pharaoh": _equal, "out/alignments.jsonl": _equal},
    ),
}
RECORDS = {
    "align": (f"align {IN_AND_OUT} --output {{place}}/out --limit 0", "out/alignments.jsonl"),
    "explain": (f"explain {IN_AND_OUT} --output {{place}}/out --limit 0", "out/explanation.jsonl"),
}
EN, DE = Language("en"), Language("de")
DOCUMENTS = {"po": PO, "xliff": XLIFF_1, "tmx": TMX, "srt": SRT}
TEXT = "ein haus\n\n  \nzwei <b>b\u00e4ume</b> \u2028 x\r\n\u732b\n".encode()

MORE = TEXT, b"\xef\xbb\xbfa\n", b"\xff\n"

TARGETS = {
    **{f"command-{name}": target(partial(check_command, *command), *MORE) for name, command in COMMANDS.items()},
    **{f"command-{name}": target(partial(check_records, *command), *MORE) for name, command in RECORDS.items()},
    **{f"command-{name}": target(partial(check_document_command, name), seed) for name, seed in DOCUMENTS.items()},
}
