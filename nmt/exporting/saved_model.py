"""A run as a SavedModel of TensorFlow, with greedy and beam search inside the graph.

The signatures `greedy` and `beam` (also `serving_default`) read `source`, int32 [batch, positions]: piece ids with the
end of sentence, padded with PAD. They give, with one row for each sentence and the most probable translation alone:

* `ids`, int32 [batch, longest]: the pieces, the end of sentence, then PAD;
* `lengths`, int32 [batch]: the number of pieces, end of sentence included;
* `log_probability`, float32 [batch], in nats;
* `alignment`, float32 [batch, longest, positions]: attention to the source pieces at each step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from nmt.backend.compiling import snapshot
from nmt.config import SearchConfig
from nmt.exporting.errors import ExportError
from nmt.network.building import build_model
from nmt.network.weights import assign_arrays
from nmt.run.directory import Run
from nmt.text.pieces import PAD
from nmt.text.tokenizer import Tokenizer
from nmt.translation.inference.ensemble import Ensemble
from nmt.translation.inference.search_batch import PhraseArrays, PhrasePlaces, SearchBatch
from nmt.translation.inference.search_programs import SearchPrograms, program_settings
from nmt.translation.required_text import suppressed_pieces
from nmt.translation.short_list import BatchLists


def write_model(run: Run, arrays: Mapping[str, np.ndarray], precision: str, directory: Path) -> None:
    """Writes a SavedModel into a directory.

    Raises:
        ExportError: the precision is not float32.
    """
    if precision != "float32":
        raise ExportError(f"a SavedModel is float32: leave --precision {precision} out, or export in onnx")
    model = build_model(run.config.model, run.source.size, run.target.size)
    assign_arrays(model.trainable_variables, arrays, str(run.directory))
    module = tf.Module()
    ensemble = Ensemble([model])
    module.weights = [weight.value for weight in ensemble.weights]
    joins, opens = np.asarray(run.target.joins), np.asarray(run.target.opens)
    programs = SearchPrograms(ensemble, joins, opens, compiles=False)
    own = replace(run.config.search, method="beam", short_list=0)
    searches = {"greedy": replace(own, beam_size=1), "beam": own}
    signatures = {name: _signature(programs, ensemble, search, run.target) for name, search in searches.items()}
    module.functions = list(signatures.values())
    tf.saved_model.save(module, str(directory), {**signatures, "serving_default": signatures["beam"]})


def _signature(programs: SearchPrograms, ensemble: Ensemble, search: SearchConfig, target: Tokenizer) -> Any:
    """A function from source ids to translations."""
    program = programs.program(program_settings(search, suppressed=suppressed_pieces(search, target)))

    def translate(source: tf.Tensor) -> dict[str, tf.Tensor]:
        with snapshot(ensemble.weights):
            found = program(_batch(source, search))
        return {
            "ids": found.tokens[:, 0],
            "lengths": found.lengths[:, 0],
            "log_probability": found.log_probabilities[:, 0],
            "alignment": found.records[:, 0],
        }

    return tf.function(translate, [tf.TensorSpec([None, None], tf.int32, name="source")], autograph=False)


def _batch(source: tf.Tensor, search: SearchConfig) -> SearchBatch:
    """The arrays of `search_batch.make_search_batch` without constraints, as tensors."""
    rows = tf.shape(source)[0]
    lengths = tf.reduce_sum(tf.cast(source != PAD, tf.float64), axis=1) - 1
    limits = tf.cast(tf.math.ceil(search.max_length_ratio * lengths) + 10, tf.int32)
    least = tf.cast(tf.math.floor(search.min_length_ratio * lengths), tf.int32)
    none = PhraseArrays(*(tf.zeros([rows, *axes], tf.int32) for axes in ([1, 1], [1], [1])))
    return SearchBatch(
        source=source,
        limits=limits,
        steps=tf.zeros([tf.reduce_max(limits), 0], tf.int32),
        least=tf.minimum(least, limits - 1),
        nbest=tf.ones([], tf.int32),
        seeds=tf.zeros([rows], tf.uint32),
        prefix=tf.zeros([rows, 1], tf.int32),
        required=none,
        preferred=none,
        places=PhrasePlaces(none.phrases, none.phrases, tf.zeros([rows, 1, tf.shape(source)[1]]), tf.zeros([rows, 1])),
        lists=BatchLists(tf.zeros([0], tf.int32), tf.zeros([rows, 0], tf.bool)),
    )
