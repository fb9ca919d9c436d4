"""One system that translates in a process of its own. The system's own Python runs it, so it imports nothing else.

    python worker.py JOB

JOB is JSON with the fields `kind` (nmt, joeynmt, marian, ctranslate2), `sentences`, `warm`, `alone`, and the arguments
of the class of this kind. The process translates `warm` sentences one by one untimed, then `alone` sentences one by one
timed, then `warm` sentences at once untimed, then all sentences at once timed. A system may compile one program for a
single sentence and another one for several. The last line of the output is JSON: the seconds of each stage, and the
translations.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

del sys.path[0]  # this folder: its profile.py would hide Python's own


class Nmt:
    """This package.

    Args:
        model: run directory.
        beam: beam size.
        precision: precision of the matrix products.
        short_list: see `SearchConfig.short_list`.
    """

    def __init__(self, model: str, beam: int, precision: str, short_list: int, **_: Any) -> None:
        from dataclasses import replace

        import nmt

        self._translator = nmt.Translator.load(model, precision=precision)
        own = self._translator.config.search
        self._search = replace(own, beam_size=beam, length_penalty=1.0, short_list=short_list)

    def translate(self, sentences: list[str]) -> list[str]:
        return [found.text for found in self._translator.translate(sentences, self._search)]


class JoeyNMT:
    """JoeyNMT 2.3.0.

    Args:
        settings: configuration file, which sets the beam size.
    """

    def __init__(self, settings: str, **_: Any) -> None:
        from pathlib import Path

        from joeynmt.config import load_config, parse_global_args
        from joeynmt.prediction import predict, prepare

        self._predict = predict
        self._settings = parse_global_args(load_config(Path(settings)), rank=0, mode="translate")
        self._model, _, _, self._data = prepare(self._settings, rank=0, mode="translate")

    def translate(self, sentences: list[str]) -> list[str]:
        settings = self._settings
        self._data.reset_cache()
        for sentence in sentences:
            self._data.set_item(sentence)
        found = self._predict(
            model=self._model,
            data=self._data,
            device=settings.device,
            n_gpu=settings.n_gpu,
            normalization="none",
            num_workers=settings.num_workers,
            args=settings.test,
            autocast=settings.autocast,
        )
        return list(found[2])


class Marian:
    """Marian 1.12.

    Args:
        options: command line of Marian.
    """

    def __init__(self, options: str, **_: Any) -> None:
        import pymarian

        self._translator = pymarian.Translator(options)

    def translate(self, sentences: list[str]) -> list[str]:
        return list(self._translator.translate(sentences))


class CTranslate2:
    """CTranslate2 over an export of nmt.

    Args:
        model: directory of the export.
        beam: beam size.
        steps: pieces of every translation; 0: the model decides.
        threads: batches side by side; each takes one processor.
    """

    def __init__(self, model: str, beam: int, steps: int, threads: int, **_: Any) -> None:
        from pathlib import Path

        import ctranslate2
        import sentencepiece

        self._pieces = sentencepiece.SentencePieceProcessor(str(Path(model) / "shared.model"))
        self._translator = ctranslate2.Translator(
            str(Path(model) / "ctranslate2"), inter_threads=threads, intra_threads=1
        )
        self._options: dict[str, Any] = {"beam_size": beam, "length_penalty": 1.0}
        if steps:
            self._options |= {"min_decoding_length": steps, "max_decoding_length": steps}

    def translate(self, sentences: list[str]) -> list[str]:
        found = self._translator.translate_batch(
            self._pieces.encode(sentences, out_type=str), max_batch_size=64, **self._options
        )
        return [self._pieces.decode(one.hypotheses[0]) for one in found]


def main() -> None:
    job = json.loads(sys.argv[1])
    sentences = job["sentences"]
    systems: dict[str, Any] = {"nmt": Nmt, "joeynmt": JoeyNMT, "marian": Marian, "ctranslate2": CTranslate2}
    system, loaded = timed(lambda: systems[job["kind"]](**job))
    _, first = timed(lambda: system.translate(sentences[:1]))
    for sentence in sentences[: job["warm"]]:
        system.translate([sentence])
    alone = [timed(lambda sentence=sentence: system.translate([sentence]))[1] for sentence in sentences[: job["alone"]]]
    system.translate(sentences[: job["warm"]])
    found, batch = timed(lambda: system.translate(sentences))
    measured = {"loaded_s": loaded, "first_s": first, "alone_s": alone, "batch_s": batch, "found": found}
    print(json.dumps(measured))


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """The result of a call, and its seconds."""
    begin = time.perf_counter()
    result = call()
    return result, time.perf_counter() - begin


if __name__ == "__main__":
    main()
