"""Words learn from other words that begin with the same letters."""

from __future__ import annotations

import random

import numpy as np

from nmt import Aligner, AlignerConfig, PairsConfig
from nmt.aligning.cooccurrence import Cooccurrence
from nmt.aligning.stems import stem_priors
from nmt.aligning.vocabulary import FIRST, WordVocabulary

VERBS = {"walk": "march", "talk": "parle", "sing": "chant", "work": "travail", "play": "jouer"}


def test_words_with_equal_first_letters_have_one_stem():
    made = WordVocabulary(["chante", "le", "chanter", "la", "chat"])
    stems = made.stems(4)
    assert len(stems) == made.size
    assert stems[FIRST] == stems[FIRST + 2]
    assert len(set(stems.tolist())) == made.size - 1


def test_a_stem_gives_its_translations_to_its_words():
    """Source words 2 and 3 have one stem, target words 2 and 3 too; 4 is alone. Counts and shares by hand."""
    cooccurrence = Cooccurrence(np.array([2 * 5 + 2, 2 * 5 + 4, 3 * 5 + 3]), 5, 5)
    stems = np.array([0, 1, 2, 2, 3])
    frequencies = [np.array([0.1, 0.1, 0.5, 0.3, 0.2]), np.array([0.1, 0.1, 0.6, 0.2, 0.2])]
    first, second = stem_priors(cooccurrence, (stems, stems), frequencies)
    cells = np.array([6.0, 2.0, 1.0])
    found = first.probabilities(cells, np.array([2, 2, 3]), np.bincount([2, 2, 3], cells, minlength=5))
    # the stem of 2 and 3 generated the stem of 2 and 3 in 7 of 9 times, and 4 in 2 of 9
    np.testing.assert_allclose(found, [7 / 9 * 0.75, 2 / 9, 7 / 9 * 0.25])
    found = second.probabilities(cells, np.array([2, 4, 3]), np.bincount([2, 4, 3], cells, minlength=5))
    np.testing.assert_allclose(found, [5 / 8, 5 / 8, 3 / 8])


def test_forms_that_come_once_are_linked_by_their_stems(tmp_path):
    """Two verbs in any order, each form once in the text: only the stems tell which belong together."""
    generator = random.Random(1)
    pairs, expected = [], []
    for number in range(200):
        one, two = generator.sample(sorted(VERBS), 2)
        target = [f"{VERBS[one]}{number}", f"{VERBS[two]}{number}"]
        crossed = generator.random() < 0.5
        pairs.append((f"{one}{number} {two}{number}", " ".join(reversed(target) if crossed else target)))
        expected.append({(0, 1), (1, 0)} if crossed else {(0, 0), (1, 1)})
    (tmp_path / "my.tsv").write_text("".join(f"{one}\t{two}\n" for one, two in pairs), encoding="utf-8")

    def right(stem_weight: float) -> int:
        config = AlignerConfig(stem_weight=stem_weight)
        made = Aligner.train(PairsConfig(tsv=str(tmp_path / "my.tsv")), tmp_path / str(stem_weight), config)
        assert made is not None
        return sum(set(one.links) == links for one, links in zip(made.align(pairs), expected, strict=True))

    assert right(20) > 190 and right(0) < 130
