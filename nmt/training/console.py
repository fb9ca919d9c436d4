"""The lines on standard error while a run trains."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nmt.training.speed import Speed
from nmt.training.state import TrainingState


def progress_line(state: TrainingState, speed: Speed, guided: bool) -> str:
    """Epoch, step, mean losses since the last validation, speed and time left."""
    attention = f"attention {state.guided / state.batches:.3f}  " if guided else ""
    return (
        f"epoch {state.pass_index + 1}/{speed.config.passes}  step {state.step}/~{speed.total_steps}  "
        f"loss {state.losses / state.batches:.3f}  {attention}{speed.text(state.step)}"
    )


def validation_line(step: int, measured: Mapping[str, float], mark: str) -> str:
    """The values of a validation, and a mark if its weights translate from now on."""
    values = "  ".join(f"{name} {value:.2f}" for name, value in measured.items())
    return f"step {step}: validation {values}{f'  ({mark})' if mark else ''}"


def memory_lines(slices: int, batch_tokens: int, pieces: int, recomputed: int) -> Iterable[str]:
    """Lines on the measures that save memory.

    Args:
        slices: parts of a batch that the loss is computed in.
        batch_tokens: `training.batch_tokens`.
        pieces: size of the target vocabulary.
        recomputed: numbers in attention's hidden layer for the largest batch, if it is recomputed; else 0.
    """
    if slices > 1:
        yield (
            f"the loss of a batch is computed in {slices} slices to save memory, because its logits are large: "
            f"{batch_tokens} tokens x {pieces} pieces"
        )
    if recomputed:
        yield (
            "attention's hidden layer is recomputed in the backward pass to save memory: it takes "
            f"{recomputed >> 18} MiB for the largest batch"
        )


def raised_rate_line(step: int, before: float, now: float, planned: int, passes: int) -> str:
    """A resumed run has more epochs, which raise its learning rate.

    Args:
        step: steps that have been trained.
        before, now: rates of the next step under the schedules over `planned` and over `passes` epochs.
    """
    return (
        f"the learning rate rises from {before:.3g} to {now:.3g} at step {step}, because its schedule spans {passes} "
        f"epochs and not {planned}: --training.schedule.more_passes final_rate keeps the schedule over {planned} and "
        "continues at its last rate"
    )
