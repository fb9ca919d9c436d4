"""Which models translate together."""

from __future__ import annotations

from pathlib import Path

import pytest
from demo_sides import lines, profile, vocabularies

from nmt.config import CorpusConfig, RunConfig
from nmt.run.directory import Run
from nmt.run.errors import RunError
from nmt.run.text_profile import save_profile
from nmt.text.swapped_sides import measure_profile
from nmt.translation.loading import _require_one_direction


def run(directory: Path, source: str = "und-Latn", target: str = "und-Latn") -> Run:
    corpus = CorpusConfig(source_language=source, target_language=target)
    return Run(directory, RunConfig(corpus=corpus), vocabularies().source, vocabularies().target)


@pytest.mark.parametrize(
    ("languages", "refused"),
    [(("en", "fr"), False), (("und-Latn", "fr"), False), (("fr", "en"), True), (("en", "de"), True)],
)
def test_models_of_an_ensemble_have_one_pair_of_languages(tmp_path, languages, refused):
    runs = [run(tmp_path / "one", "en", "fr"), run(tmp_path / "two", *languages)]
    if not refused:
        _require_one_direction(runs, None)
        return
    with pytest.raises(RunError, match=r"one is from en to fr, and .*two is from \w+ to \w+: an ensemble needs"):
        _require_one_direction(runs, None)


@pytest.mark.parametrize("exchanged", [False, True])
def test_the_text_shows_the_direction_of_unknown_languages(tmp_path, exchanged):
    runs = [run(tmp_path / "one"), run(tmp_path / "two")]
    pairs = list(zip(lines("test.en", 300), lines("test.fr", 300), strict=True))
    text = [(target, source) for source, target in pairs] if exchanged else pairs
    (tmp_path / "two").mkdir()
    save_profile(tmp_path / "two", measure_profile(text, vocabularies()))
    if not exchanged:
        _require_one_direction(runs, profile())
        return
    with pytest.raises(RunError, match=r"two translates in the opposite direction of .*one: an ensemble needs models"):
        _require_one_direction(runs, profile())
