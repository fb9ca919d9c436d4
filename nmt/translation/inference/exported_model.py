"""An exported network as a model that search runs over: ONNX Runtime computes with it, and all tensors are NumPy
arrays."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nmt.backend.machine import processors
from nmt.errors import NmtError, install_command
from nmt.files.digests import digest_file
from nmt.run.errors import RunError
from nmt.run.exported import ENCODER, NEXT, STEP, read_export
from nmt.run.pack_storage import storage_of
from nmt.text.pieces import EOS
from nmt.translation.inference.side_by_side import FEW_ROWS, has_all_processors

Arrays = dict[str, np.ndarray]

_EVERY_PIECE = np.zeros(0, np.int32)
"""The value of `among` with which a step computes all logits."""

_FOLDER_OF_WEIGHTS = "session.model_external_initializers_file_folder_path"
"""ONNX Runtime's setting: where it looks for weights that are outside of a graph's file."""

_EXACT_WITHOUT_VNNI = "session.x64quantprecision"
"""ONNX Runtime's setting: exact sums of 8-bit products."""

THREADS = 2
"""Threads of an operation in a batch of few rows that runs alone. More gain little, and cost much on a busy machine."""

LONE_BATCHES = 2
"""The first such batch that these threads compute: a command that translates one line needs no second session."""


class ExportedState(NamedTuple):
    """The state of a decoder after one step."""

    tensors: Arrays
    """By the names in export.json, one row for each hypothesis."""
    weights: np.ndarray
    """Attention weights of the step, float32 [rows, positions]."""


class ExportedModel:
    """An exported network. Its methods are those of `network.model.Seq2Seq` that a search calls.

    One thread computes an operation, and batches run side by side. Sentences that are translated one by one get a
    second session, where threads share the reading of the weights. In int8 a short list, an export for browsers and old
    exports round all values of a product with one scale, so results depend a little on the sentences beside them.

    Args:
        directory: the export.
        target_size: size of the target vocabulary.

    Raises:
        RunError: the directory is no export, or a damaged one, or its files are from different exports.
        NmtError: ONNX Runtime is not installed.
    """

    compute_dtype = "float32"
    """Type of the logits."""

    def __init__(self, directory: Path, target_size: int) -> None:
        self.directory, self.target_size = directory, target_size
        self.export = read_export(directory)
        self._encoder, self._step = (_session(directory, name) for name in (ENCODER, STEP))
        self._state = [spec.name for spec in self.export.state]
        self._encoded = [spec.name for spec in self.export.encoded]
        self._stepped = ["logits", "weights", *(NEXT + name for name in self._state)]
        self._steps_of_few: Any = None
        self._lone_batches = 0
        self._require_fitting_files()

    trainable_variables: tuple[Any, ...] = ()
    """None: the weights are part of the graphs."""

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 of both graphs."""
        return "".join(digest_file(self.directory / name) for name in (ENCODER, STEP))

    def start(self, source: np.ndarray, longest: int = 0) -> tuple[ExportedState, Arrays]:
        """The first state of the decoder, and the encoded source that each step reads.

        Args:
            source: int32 [batch, positions], end of sentence included.
        """
        if has_all_processors() and len(source) <= FEW_ROWS:
            self._lone_batches += 1
            if self._lone_batches == LONE_BATCHES:
                self._steps_of_few = _session(self.directory, STEP, min(processors(), THREADS))
        names = [*self._state, *self._encoded]
        values = dict(zip(names, self._encoder.run(names, {"source": source}), strict=True))
        state, encoded = ({name: values[name] for name in some} for some in (self._state, self._encoded))
        return ExportedState(state, np.zeros(source.shape, np.float32)), encoded

    def step(
        self, pieces: np.ndarray, state: ExportedState, encoded: Arrays, among: np.ndarray | None = None
    ) -> tuple[np.ndarray, ExportedState]:
        """One step of search: the logits of the next piece, float32 [rows, pieces], and the new state.

        Args:
            pieces: last piece of each hypothesis, int32 [rows].
            among: the pieces whose logits are computed, int32; None: all.
        """
        columns = _EVERY_PIECE if among is None else among
        inputs = {"pieces": pieces, "among": columns, **state.tensors, **encoded}
        shared = self._steps_of_few is not None and len(pieces) <= FEW_ROWS and has_all_processors()
        logits, weights, *tensors = (self._steps_of_few if shared else self._step).run(self._stepped, inputs)
        return logits, ExportedState(dict(zip(self._state, tensors, strict=True)), weights)

    def _require_fitting_files(self) -> None:
        """Makes a step with the last piece, which fails unless graphs, export.json and vocabulary fit each other.

        Raises:
            RunError: says what fails.
        """
        try:
            state, encoded = self.start(np.array([[EOS]], np.int32))
            logits, _ = self.step(np.array([self.target_size - 1], np.int32), state, encoded)
            if logits.shape[1] != self.target_size:
                raise ValueError(f"{STEP} has {logits.shape[1]} pieces, and the vocabulary {self.target_size}")
        except Exception as error:
            raise _unusable(self.directory, "its files do not fit each other", error) from None

    def output_layer(self, pieces: np.ndarray) -> np.ndarray:
        """The output layer over some pieces, for `step`: the graph reads their numbers."""
        return pieces


def _session(directory: Path, name: str, threads: int = 1) -> Any:
    """A graph of the export, ready to compute.

    Args:
        threads: that share an operation.

    Raises:
        RunError: the file is missing or damaged.
        NmtError: ONNX Runtime is not installed.
    """
    try:
        import onnxruntime
    except ImportError as error:
        raise NmtError(f"an exported model needs {error.name}: {install_command('onnx')}") from None
    options = session_options(threads)
    # Files beside the graph have no sum, and a graph of somebody else may name any: the folder of such files is a file.
    options.add_session_config_entry(_FOLDER_OF_WEIGHTS, str(directory / name))
    try:
        with storage_of(directory).open(name) as file:
            content = file.read()
    except OSError as error:
        raise RunError(f"{directory / name}: {error.strerror}: export the run again") from None
    try:
        return onnxruntime.InferenceSession(content, options, ["CPUExecutionProvider"])
    except Exception as error:
        raise _unusable(directory / name, "cannot be read", error) from None


def session_options(threads: int = 1) -> Any:
    """How ONNX Runtime computes.

    Args:
        threads: that share an operation.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.enable_mem_pattern = False  # shapes change with each batch
    options.log_severity_level = 4  # errors are raised, so nothing else need print them
    # Old exports and exports for browsers multiply signed bytes. Processors without VNNI add pairs of such products in
    # 16 bits, which overflow. There ONNX Runtime stores constant weights as unsigned bytes and adds in 32 bits;
    # elsewhere nothing changes. Old exports choose the weights of a short list at each step, and those may overflow.
    options.add_session_config_entry(_EXACT_WITHOUT_VNNI, "1")
    return options


def _unusable(path: Path, problem: str, error: Exception) -> RunError:
    """An error in one line. ONNX Runtime has many kinds of errors, with no class above them."""
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return RunError(f"{path}: {problem} ({reason:.200}): export the run again")
