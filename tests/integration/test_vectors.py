"""`nmt embeddings` on a trained run."""

from __future__ import annotations

import copy_task
import numpy as np
from commands import nmt

from nmt.explaining.embeddings import Embeddings


def test_neighbours_analogies_picture_and_file(playground):
    result = nmt(
        "embeddings --model runs/copy --side source --neighbours ba --count 23 --analogy ba bi ni "
        "--plot words.svg --words ba bi be na ni ne --export vectors.txt",
        playground,
    )
    text = (playground / "train.source").read_text().split()
    lines = result.stdout.splitlines()
    times = f"{text.count('ba')} times"
    assert lines[0] == f"ba = ▁ba (seen {times}; as a whole word {times})"
    rows = [line.split() for line in lines[2:25]]
    # Both sides share the matrix, but only words of the chosen side are answers.
    assert {piece for _, _, piece in rows} == {f"▁{word}" for word in copy_task.WORDS} - {"▁ba"}
    assert [int(seen) for _, seen, _ in rows] == [text.count(piece[1:]) for _, _, piece in rows]
    back = Embeddings.read(playground / "vectors.txt")
    vectors = {piece: vector / np.linalg.norm(vector) for piece, vector in zip(back.pieces, back.vectors, strict=True)}
    cosines = [float(vectors["▁ba"] @ vectors[piece]) for _, _, piece in rows]
    np.testing.assert_allclose([float(cosine) for cosine, _, _ in rows], cosines, atol=6e-4)
    assert cosines == sorted(cosines, reverse=True)
    assert lines[25] == "ba - bi + ni, these left out of the answers"
    picture = (playground / "words.svg").read_text()
    assert all(f">{word}</text>" in picture for word in ("ba", "ni"))
    assert "6 words drawn, " in result.stderr
