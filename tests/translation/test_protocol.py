"""The translator over a hand-written implementation of the inference protocol, without a network."""

from __future__ import annotations

import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import hand_written
import numpy as np
import pytest
from commands import environment
from hand_written import LINES, Copier, make_run

from nmt.errors import NmtError
from nmt.explaining.erasure import ErasureError, erase
from nmt.run.directory import Run
from nmt.translation.glossary import Glossary, Term
from nmt.translation.inference.protocol import ErasingInference
from nmt.translation.minimum_bayes_risk import expected_utilities
from nmt.translation.request import Constraint, RequestError, TranslationRequest
from nmt.translation.request_search import LEAST_BEAM
from nmt.translation.short_list import ShortList
from nmt.translation.translator import Translator


@pytest.fixture
def translator() -> Any:
    return Translator(make_run(beam_size=3), Copier())


def test_a_translator_without_keras() -> None:
    """A process of its own: translation, scores and alignments come from the protocol alone."""
    command = [sys.executable, hand_written.__file__]
    result = subprocess.run(command, capture_output=True, text=True, env=environment(), check=True)
    assert result.stdout.splitlines() == [str(LINES), "['0-0 1-1 2-2', '0-0 1-1']", "[]"]


def test_requests_with_equal_settings_are_searched_together_and_answered_in_order(translator: Any) -> None:
    wide = replace(translator.config.search, beam_size=8)
    requests = [
        TranslationRequest(text, search, prefix=prefix, nbest=nbest, sentence_id=index)
        for index, (text, search, prefix, nbest) in enumerate(
            [
                ("ba ki", translator.config.search, "", None),
                ("le", wide, "", None),
                ("ma", translator.config.search, "", 2),
                (" ", wide, "", 5),
                ("ko", translator.config.search, "me", None),
                ("ki", translator.config.search, "", None),
                ("me", wide, "", None),
            ]
        )
    ]
    answers = [[one.text for one in found] for found in translator.answer(requests)]
    assert answers == [["ba ki"], ["le"], ["ma", "ma ma"], [""], ["me ko"], ["ki"], ["me"]]
    own = translator.config.search
    assert translator.inference.calls == [
        (2, own, 1, False),
        (2, wide, 1, False),
        (1, own, 2, False),
        (1, own, 1, True),
    ]
    assert translator.inference.ids == [0, 5, 1, 6, 2, 4]


def test_translate_answers_one_request_per_sentence(translator: Any) -> None:
    """`translate` and `translate_nbest` are `answer` with one request for each sentence."""
    requests = [
        TranslationRequest(text, translator.config.search, nbest=2, sentence_id=4 + i) for i, text in enumerate(LINES)
    ]
    answers = [[t.text for t in found] for found in translator.answer(requests)]
    assert answers == [[t.text for t in found] for found in translator.translate_nbest(LINES, nbest=2, first=4)]
    assert [found[0] for found in answers] == [t.text for t in translator.translate(LINES)]


def test_minimum_bayes_risk_answers_with_one_candidate(translator: Any) -> None:
    """Samples weigh equally, hypotheses of a beam by their probability."""
    texts = ["ba ki", "ba ki ki", "ba ki ki ki"]
    for method, weights in (("sample", None), ("beam", [-1.5, -2.0, -2.5])):
        values = expected_utilities(texts, "chrf", weights)
        search = replace(translator.config.search, method=method)
        request = TranslationRequest("ba ki", search, nbest=3, minimum_bayes_risk="chrf")
        ((answer,),) = translator.answer([request])
        assert answer.text == texts[values.index(max(values))]


def test_a_missing_tokenizer_is_refused_before_the_search(translator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacrebleu.tokenizers.tokenizer_ja_mecab", None)
    run = translator.run
    recorded = replace(run.config, training=replace(run.config.training, tokenize="ja-mecab"))
    japanese = Translator(Run(run.directory, recorded, run.source, run.target), translator.inference)
    request = TranslationRequest("ba", translator.config.search, minimum_bayes_risk="bleu")
    with pytest.raises(NmtError, match="tokenize is 'ja-mecab'") as error:
        next(japanese.answer([request]))
    assert "\n" not in str(error.value)
    assert not translator.inference.calls
    assert next(japanese.answer([replace(request, minimum_bayes_risk="chrf")]))


def test_impossible_searches_are_refused_at_the_call(translator: Any) -> None:
    """The call itself raises, before the first sentence is read."""

    def sentences() -> Any:
        raise AssertionError("a sentence was read")
        yield

    with pytest.raises(RequestError, match="nbest is 4, more than the 3 hypotheses of the beam"):
        translator.translate_nbest(sentences(), nbest=4)
    suppressing = replace(translator.config.search, suppress=("nowhere",))
    with pytest.raises(NmtError, match="'nowhere' is no piece of the target vocabulary"):
        translator.translate(sentences(), suppressing)


@pytest.mark.parametrize("constraints", [[], [Constraint()] * 9])
def test_as_many_constraints_as_sentences(translator: Any, constraints: list[Constraint]) -> None:
    with pytest.raises(NmtError, match="give one constraint for each sentence"):
        list(translator.translate(LINES, constraints=constraints))


def test_erasure_and_embeddings_of_a_model_without_them_are_refused(translator: Any) -> None:
    assert not isinstance(translator.inference, ErasingInference)
    with pytest.raises(ErasureError, match="cannot score a pair without a word"):
        next(erase(translator, translator.translate(LINES)))
    with pytest.raises(NmtError, match="does not show its embeddings"):
        translator.embeddings("source")


def test_erasure_does_not_compute_the_fingerprint() -> None:
    """The fingerprint reads all weights."""

    class Eraser(Copier):
        @property
        def fingerprint(self) -> str:  # type: ignore[override]
            raise AssertionError("the fingerprint was computed")

        def erase(self, sources: Any, targets: Any, erased: Any, *_: Any) -> list[np.ndarray]:
            return [np.zeros((len(sets), len(target) + 1)) for sets, target in zip(erased, targets, strict=True)]

    translator = Translator(make_run(), Eraser())
    assert len(list(erase(translator, translator.translate(LINES)))) == len(LINES)


def test_threads_learn_a_short_list_once(monkeypatch: pytest.MonkeyPatch) -> None:
    learned: list[Any] = []
    waiting = threading.Barrier(8)

    def of_run(run: Any) -> str:
        learned.append(run)
        return "a table"

    monkeypatch.setattr(ShortList, "of_run", of_run)
    translator = Translator(make_run(short_list=5), Copier())

    def prepare() -> None:
        waiting.wait()
        translator.prepare(translator.config.search)

    threads = [threading.Thread(target=prepare) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(learned) == 1


LIGHT = """
nmt.text.tokenizer nmt.text.pairs nmt.text.held_out_pairs nmt.alignment.word_alignment nmt.alignment.pieces_to_words
nmt.alignment.symmetrizing nmt.config nmt.config.reading nmt.batches.arrays nmt.batches.plan nmt.batches.encoded_corpus
nmt.batches.windows nmt.run.directory nmt.translation.short_list nmt.translation.request nmt.translation.translator
nmt.translation.result nmt.translation.required_text nmt.translation.unknown_words nmt.translation.nbest
nmt.translation.loading nmt.translation.two_directions nmt.translation.minimum_bayes_risk
nmt.translation.inference.protocol nmt.translation.inference.search_batch nmt.drawing nmt.drawing.page
nmt.explaining.erasure nmt.explaining.unusual_pairs
"""


def test_the_core_loads_neither_keras_nor_tensorflow() -> None:
    """Each module in a process that has loaded none before it."""
    program = (
        "import importlib, os, sys\n"
        "for name in sys.argv[1:]:\n"
        "    if not (child := os.fork()):\n"
        "        importlib.import_module(name)\n"
        "        loaded = {module.partition('.')[0] for module in sys.modules}\n"
        "        os._exit(bool(loaded & {'keras', 'tensorflow', 'jax'}))\n"
        "    if os.waitpid(child, 0)[1]:\n"
        "        print(name)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", program, *LIGHT.split()],
        capture_output=True,
        text=True,
        env=environment(),
        cwd=Path(__file__).parents[2],
        check=True,
    )
    assert (result.stdout, result.stderr) == ("", "")


@pytest.mark.parametrize(("beam_size", "again"), [(1, LEAST_BEAM), (LEAST_BEAM + 2, LEAST_BEAM + 2)])
def test_sentences_that_lack_a_required_term_are_searched_again_with_a_wide_beam(beam_size, again):
    """The copier never writes the term of its first sentence."""
    inference = Copier()
    translator = Translator(make_run(beam_size=beam_size), inference)
    glossary = Glossary([Term("ba", ("le",)), Term("ma", ("ma",))], "require")
    list(translator.translate(["ba ki", "ma", "ko"], glossary=glossary))
    # The first search is greedy: it shows the places of the terms.
    assert [call[1].beam_size for call in inference.calls] == [1, *[beam_size] * (len(inference.calls) - 2), again]
    assert inference.calls[-1][0] == 1
