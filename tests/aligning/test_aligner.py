"""`nmt aligner` and `nmt.Aligner`: N pairs in, N lines of links out."""

from __future__ import annotations

import json

import pytest
from commands import nmt

from nmt.alignment.pharaoh_and_naacl import read_gold

TRAINING = "aligner --source my.en --target my.fr --output made --embedding 8 --units 8 --epochs 2"


@pytest.fixture(scope="module")
def trained(text):
    """The text's directory, with a trained aligner in `made` and its links in `my.links`."""
    nmt(f"{TRAINING} --links my.links", text)
    return text


def test_each_pair_has_a_line(trained, tiny):
    assert len((trained / "my.links").read_text().splitlines()) == len(tiny)


def test_a_trained_aligner_links_other_text(trained):
    """Empty sides and unseen words keep their lines; JSON has probabilities, and rows of posteriors that sum to 1."""
    (trained / "new.tsv").write_text("the red dog\tle chien rouge\n\tle chat\nunseen the\tle inconnu\n")
    printed = nmt("aligner --model made --tsv new.tsv --format json", trained).stdout
    first, empty, unseen = map(json.loads, printed.splitlines())
    assert empty["links"] == [] and empty["target"] == ["le", "chat"]
    for record in (first, unseen):
        for row, nothing in zip(record["weights"], record["end_of_sentence"], strict=True):
            assert sum(row) + nothing == pytest.approx(1, abs=1e-3)
        for s, t in record["links"]:
            assert 0.3 < record["probabilities"][t][s] <= 1


def test_naacl_has_the_links_of_pharaoh(trained, tiny):
    printed = nmt("aligner --model made --source my.en --target my.fr --format naacl", trained).stdout
    links = read_gold((trained / "my.links").read_text().splitlines(), "my.links")
    assert read_gold(printed.splitlines(), "naacl", "naacl", sentences=len(tiny)) == links
