"""Exporting a run into a directory that holds all that its translations need."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

from nmt.exporting.errors import ExportError
from nmt.exporting.onnx.model import onnx_graphs
from nmt.files.atomic_writing import complete_directory
from nmt.run.directory import Run
from nmt.run.exported import ENCODER, EXPORT, STEP, Export
from nmt.run.packing import members_of
from nmt.version import __version__


def export_onnx(
    run: Run, output: Path, precision: str = "float32", checkpoints: int = 0, licence: str = ""
) -> dict[str, int]:
    """Exports a run to ONNX; see `nmt.run.exported` for the files. Equal runs give equal files.

    Args:
        output: the directory; it appears when it is complete.
        precision: one of `nmt.run.exported.PRECISIONS`.
        checkpoints: export the mean of this many newest checkpoints; 0: the best weights.
        licence: for the model card.

    Returns:
        Bytes of each file, by name.

    Raises:
        NmtError: the run has no weights or is damaged, or the directory exists or cannot be written.
    """
    weights = run.averaged_checkpoints(checkpoints) if checkpoints else run.weights()
    with complete_directory(output, ExportError) as directory:
        graphs = onnx_graphs(run.config.model, weights, precision)
        export = Export(precision, tuple(graphs.state), tuple(graphs.encoded), _made_with())
        network = {
            EXPORT: export.content(),
            ENCODER: graphs.encoder.SerializeToString(deterministic=True),
            STEP: graphs.step.SerializeToString(deterministic=True),
        }
        members = members_of(run, weights, checkpoints, licence, output.name, network)
        for name, content in members.items():
            (directory / name).write_bytes(content)
    return {name: len(content) for name, content in members.items()}


def _made_with() -> str:
    return f"nmt {__version__}, onnx {version('onnx')}"
