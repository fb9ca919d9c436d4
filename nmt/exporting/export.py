"""Exporting a run into a directory that holds all that its translations need."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np

from nmt.exporting.errors import ExportError
from nmt.files.atomic_writing import complete_directory
from nmt.files.paths import real_path
from nmt.run.directory import Run
from nmt.run.exported import ENCODER, EXPORT, STEP, Export, foreign_content, is_export, read_export
from nmt.run.model_card import licence_of
from nmt.run.packing import members_of
from nmt.run.text_profile import load_profile
from nmt.translation.source_text import SourceText
from nmt.version import __version__
from nmt.web.folder import write_folder
from nmt.web.runtime import usual_place

Arrays = Mapping[str, np.ndarray]


def export_run(
    run: Run,
    output: Path,
    format: str = "onnx",
    precision: str = "float32",
    checkpoints: int = 0,
    licence: str = "",
    runtime: Path | None = None,
) -> dict[str, int]:
    """Exports a run; see `nmt.run.exported` for the files. Equal runs give equal files.

    Args:
        output: the directory; it appears when it is complete.
        format: a key of `FORMATS`.
        precision: one of `nmt.run.exported.PRECISIONS`.
        checkpoints: export the mean of this many newest checkpoints; 0: the best weights.
        licence: for the model card; empty: that of a pack.
        runtime: for the format web, the npm package of ONNX Runtime; None: `nmt.web.runtime.usual_place`.

    Returns:
        Bytes of each file, by name.

    Raises:
        NmtError: the run has no weights or is damaged, the format cannot express its network, or the directory exists
            or cannot be written.
    """
    if is_export(run.directory):
        raise ExportError(f"{run.directory}: is an export itself; export the run that it was made from")
    if real_path(output).is_relative_to(real_path(run.directory)):
        raise ExportError(f"{output}: is in the run directory: name a directory outside of {run.directory}")
    weights = run.averaged_checkpoints(checkpoints) if checkpoints else run.weights()
    with complete_directory(output, ExportError) as directory:
        FORMATS[format](run, weights, precision, directory)
        if format == "web":
            write_folder(run, read_export(directory), runtime or usual_place(), directory)
        files = [path for path in sorted(directory.rglob("*")) if path.is_file()]
        network = {path.relative_to(directory).as_posix(): path.read_bytes() for path in files}
        sides = ("shared", "shared") if run.config.vocabulary.shared else ("source", "target")
        usage = USAGE.get(format, "").replace("SIDES", repr(sides)).replace("BEAM", str(run.config.search.beam_size))
        usage += _reading_note(run) * (format in ("ctranslate2", "savedmodel"))
        licence = licence or licence_of(run)
        members = members_of(run, weights, checkpoints, licence, output.name, network, usage, format != "web")
        for name, content in members.items():
            if name not in network:
                (directory / name).write_bytes(content)
    return {name: len(content) for name, content in members.items()}


def _write_onnx(run: Run, weights: Arrays, precision: str, directory: Path, in_browser: bool = False) -> None:
    from nmt.exporting.onnx.model import onnx_graphs

    graphs = onnx_graphs(run.config.model, weights, precision, in_browser)
    export = Export(precision, tuple(graphs.state), tuple(graphs.encoded), _made_with("onnx"))
    (directory / EXPORT).write_bytes(export.content())
    (directory / ENCODER).write_bytes(graphs.encoder.SerializeToString(deterministic=True))
    (directory / STEP).write_bytes(graphs.step.SerializeToString(deterministic=True))


def _write_ctranslate2(run: Run, weights: Arrays, precision: str, directory: Path) -> None:
    from nmt.exporting.ctranslate2_model import write_model

    write_model(run, weights, precision, directory / "ctranslate2")
    (directory / EXPORT).write_bytes(foreign_content("ctranslate2", precision, _made_with("ctranslate2")))


def _write_saved_model(run: Run, weights: Arrays, precision: str, directory: Path) -> None:
    from nmt.exporting.saved_model import write_model

    write_model(run, weights, precision, directory / "savedmodel" / "1")  # a server of models expects a version
    (directory / EXPORT).write_bytes(foreign_content("savedmodel", precision, _made_with("tensorflow")))


FORMATS: dict[str, Callable[..., None]] = {
    "onnx": _write_onnx,
    "web": partial(_write_onnx, in_browser=True),
    "ctranslate2": _write_ctranslate2,
    "savedmodel": _write_saved_model,
}
"""Writers of the network in a format into a directory. For `web` it is ONNX, and the page comes beside it."""

USAGE = {
    "web": """In a browser, without any other program: start a file server in this folder,

    python3 -m http.server --bind 127.0.0.1 --directory {name} 8000

and open http://127.0.0.1:8000/. ONNX Runtime in the folder runtime/ has a licence of its own, which is beside it.

`nmt` reads the folder too:

    nmt translate --model {name} --source new.txt --output translated.txt
""",
    "ctranslate2": """In Python, with the packages ctranslate2 and sentencepiece:

    import ctranslate2
    import sentencepiece

    folder = {literal}
    source, target = (sentencepiece.SentencePieceProcessor(f"{folder}/{side}.model") for side in SIDES)
    model = ctranslate2.Translator(f"{folder}/ctranslate2")
    for found in model.translate_batch(source.encode(["A sentence."], out_type=str), beam_size=BEAM):
        print(target.decode(found.hypotheses[0]))
""",
    "savedmodel": """In Python, with the packages tensorflow and sentencepiece:

    import sentencepiece
    import tensorflow as tf

    folder = {literal}
    source, target = (sentencepiece.SentencePieceProcessor(f"{folder}/{side}.model") for side in SIDES)
    model = tf.saved_model.load(f"{folder}/savedmodel/1")
    found = model.signatures["beam"](source=tf.constant(source.encode(["A sentence."], add_eos=True)))
    print(target.decode(found["ids"][0, : found["lengths"][0] - 1].numpy().tolist()))
""",
}
"""How other programs use an export, for the model card. `SIDES` stands for the names of the vocabularies, `BEAM` for
the beam size."""


def _reading_note(run: Run) -> str:
    """What a program without nmt does to a text first, for the model card; nothing if every text is read as it is."""
    text = SourceText(run, load_profile(run.directory))
    ways = ["is in lower case"] * text.lowers
    ways += [f"has a space before {' '.join(sorted(text.separates))}"] * bool(text.separates)
    if not ways:
        return ""
    return (
        f"\nThe training text {' and '.join(ways)}. `nmt` changes other text into this form before it translates; your "
        "own program has to do so too.\n"
    )


def _made_with(library: str) -> str:
    return f"nmt {__version__}, {library} {version(library)}"
