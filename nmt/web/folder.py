"""A static folder in which a browser translates: the page, an exported network, vocabularies and ONNX Runtime.

page.json, which the page reads first:

    files           bytes and SHA-256 of the files that are loaded, by name
    vocabularies    names of the vocabularies of source and target
    tensors         names of the state and of the encoded source, see `nmt.run.exported`
    model, limits   as /v1/models of the server describes them
    search          the settings of the run's search
    suppressed      ids of pieces that never occur in a translation
    reading         how the source text is read, see `nmt.translation.source_text`
    words           the language whose words the browser cuts, where spaces do not separate them; null elsewhere
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from nmt.run.directory import Run
from nmt.run.exported import ENCODER, STEP, Export
from nmt.run.text_profile import load_profile
from nmt.run.vocabularies import LARGEST, vocabulary_names
from nmt.translation.required_text import suppressed_pieces
from nmt.translation.source_text import SourceText
from nmt.web.files import folder_files
from nmt.web.runtime import VERSION, runtime_files

SETTINGS = "page.json"

LIMITS = {"texts": 1000, "beam_size": 16}
"""Limits of a request; the page is the only one that asks."""


def write_folder(run: Run, export: Export, runtime: Path, directory: Path) -> None:
    """Writes the page into a directory that has the network already.

    Args:
        run: its vocabularies, settings and profile are used.
        export: describes the network.
        runtime: the unpacked npm package of ONNX Runtime.

    Raises:
        NmtError: ONNX Runtime is missing or has another version, or a file of the run is damaged.
    """
    names = vocabulary_names(run.config.vocabulary.shared)
    files = runtime_files(runtime)
    model = {name: (directory / name).read_bytes() for name in (ENCODER, STEP)}
    model |= {name: run.storage.read(name, LARGEST) for name in names}
    sizes = {"model": sum(map(len, model.values())), f"ONNX Runtime {VERSION}": sum(map(len, files.values()))}
    loaded = {**model, "runtime/onnxruntime.wasm": files["runtime/onnxruntime.wasm"]}
    files |= folder_files(sizes)
    files[SETTINGS] = (json.dumps(_settings(run, export, loaded), indent=1, ensure_ascii=False) + "\n").encode()
    for name, content in files.items():
        (directory / name).parent.mkdir(exist_ok=True)
        (directory / name).write_bytes(content)


def _settings(run: Run, export: Export, loaded: Mapping[str, bytes]) -> dict[str, Any]:
    """The content of page.json."""
    search = asdict(run.config.search)
    return {
        "files": {
            name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for name, content in loaded.items()
        },
        "vocabularies": vocabulary_names(run.config.vocabulary.shared),
        "tensors": {name: [spec.name for spec in getattr(export, name)] for name in ("state", "encoded")},
        "model": _description(run),
        "limits": LIMITS,
        "search": search,
        "suppressed": suppressed_pieces(run.config.search, run.target),
        "reading": _reading(run),
        "words": {
            side: str(getattr(run.languages, side)) if getattr(run, side).words.name else None
            for side in ("source", "target")
        },
    }


def _description(run: Run) -> dict[str, Any]:
    model, search = run.config.model, run.config.search
    sides = {
        side: {"tag": str(language), "direction": language.direction}
        for side, language in zip(("source", "target"), run.languages, strict=True)
    }
    attention = model.attention.score if model.architecture != "transformer" else "multi_head"
    return {
        "name": run.config.name,
        "state": "ready",
        **sides,
        "architecture": model.architecture,
        "attention": attention,
        "beam_size": search.beam_size,
        "max_source": search.max_source,
    }


def _reading(run: Run) -> dict[str, Any]:
    """How the source text is read."""
    text, kind = SourceText(run, load_profile(run.directory)), run.config.search.split_sentences
    most = {"never": None, "always": 1, "auto": text.most_sentences}[kind]
    return {"lowers": text.lowers, "dotless": text.dotless, "separates": sorted(text.separates), "mostSentences": most}
