"""The commands `nmt align` and `nmt evaluate`."""

from __future__ import annotations

import json
from dataclasses import replace

import fake_translator
import numpy as np
import pytest

from nmt.alignment.hard_links import Linking
from nmt.alignment.word_alignment import WordAlignment
from nmt.cli import main
from nmt.config import CorpusConfig, RunConfig, TrainingConfig


class Crossing:
    """An aligner that links the first word to the last, and so on."""

    is_unfinished = False

    def align(self, pairs):
        for source, target in pairs:
            links = frozenset((s, len(target) - 1 - s) for s in range(min(len(source), len(target))))
            weights = np.zeros((len(target), len(source)), np.float32)
            yield WordAlignment(source, target, weights, np.zeros(len(target), np.float32), links)


# Align


def test_align_the_model_s_own_translations(model, write, tmp_path):
    output = tmp_path / "alignments"
    source = write("in", "ein haus", "", "a b c")
    assert main(["align", "--model", model, "--source", source, "--output", str(output), "--format", "svg"]) == 0
    assert not (output / "alignments.html").exists()
    assert (output / "alignments.pharaoh").read_text() == "0-0 1-1\n\n0-0 1-1 2-2\n"
    records = [json.loads(line) for line in (output / "alignments.jsonl").read_text().splitlines()]
    assert [r["line"] for r in records] == [1, 2, 3]
    assert records[0]["target"] == ["EIN", "HAUS"]
    assert records[0]["weights"] == [[1, 0], [0, 1]]
    assert records[0]["links"] == [[0, 0], [1, 1]]
    assert records[0]["log_probability"] == -1.5
    assert records[1]["source"] == records[1]["links"] == []
    assert sorted(path.name for path in output.glob("*.svg")) == ["0001.svg", "0003.svg"]


def test_align_writes_a_page_and_pictures_by_default(model, write, tmp_path):
    output = tmp_path / "o"
    source = write("in", "ein haus", "", "<b> c", "d")
    assert main(["align", "--model", model, "--source", source, "--output", str(output), "--limit", "2"]) == 0
    names = ["0001.png", "0003.png", "alignments.html", "alignments.jsonl", "alignments.pharaoh"]
    assert sorted(path.name for path in output.iterdir()) == names
    page = (output / "alignments.html").read_text()
    assert '"line 1"' in page and '"line 3"' in page and '"line 4"' not in page
    assert "EIN" in page and "<b> c" not in page


def test_align_says_that_nothing_is_drawn(model, write, tmp_path, capsys):
    command = ["align", "--model", model, "--source", write("in", "a", "b"), "--output", str(tmp_path / "o")]
    assert main([*command, "--limit", "0"]) == 0
    assert capsys.readouterr().err.endswith(f"written to {tmp_path / 'o'}; no pair is drawn (--limit 0)\n")
    assert main([*command, "--limit", "1"]) == 0
    assert "is drawn" not in capsys.readouterr().err


def test_a_pair_too_long_to_draw_is_left_out_and_named(model, write, tmp_path, capsys):
    output = tmp_path / "o"
    source = write("in", "a " * 1001, "b " * 1000, "c")
    command = ["align", "--model", model, "--source", source, "--output", str(output), "--format", "html"]
    assert main([*command, "--limit", "1"]) == 0
    assert "nmt: line 1 is not drawn: a side has more than 1000 words\n" in capsys.readouterr().err
    page = (output / "alignments.html").read_text()
    assert '"line 2"' in page and '"line 1"' not in page
    assert len((output / "alignments.pharaoh").read_text().splitlines()) == 3


def test_reverse_must_be_another_run_than_model(model, write, tmp_path, capsys):
    command = ["align", "--model", model, "--source", write("in", "a"), "--output", str(tmp_path / "o")]
    assert main([*command, "--reverse", f"{model}/../run"]) == 2
    assert "--reverse and --model name the same run" in capsys.readouterr().err


def test_reverse_must_translate_in_the_opposite_direction(model, write, tmp_path, capsys, monkeypatch):
    other = tmp_path / "other"
    other.mkdir()
    config = RunConfig(corpus=CorpusConfig(source_language="en", target_language="fr"))
    monkeypatch.setattr(fake_translator.Translator, "config", config)
    command = ["align", "--model", model, "--source", write("in", "a"), "--output", str(tmp_path / "o")]
    assert main([*command, "--reverse", str(other)]) == 2
    said = "--reverse translates from en to fr, and --model from en to fr: give a run of the opposite direction"
    assert said in capsys.readouterr().err


def test_an_aligner_s_links_are_drawn_as_its_own(model, write, tmp_path, monkeypatch):
    """The page and the records say that the links are none of attention."""
    monkeypatch.setattr("nmt.aligning.aligner.Aligner.load", lambda directory: Crossing())
    command = ["align", "--model", model, "--source", write("in", "ein haus"), "--output", str(tmp_path / "o")]
    assert main([*command, "--format", "html", "--aligner", "made"]) == 0
    assert "by an aligner, not by attention" in (tmp_path / "o" / "alignments.html").read_text()
    (record,) = map(json.loads, (tmp_path / "o" / "alignments.jsonl").read_text().splitlines())
    assert (record["links"], record["linked_by"]) == ([[0, 1], [1, 0]], "aligner")


def test_a_run_s_own_aligner_makes_the_links_unless_flags_choose_attention(model, write, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("nmt.aligning.run_aligner.load_run_aligner", lambda storage: Crossing())
    command = ["align", "--model", model, "--source", write("in", "ein haus"), "--output", str(tmp_path / "o")]
    for more, by in (([], "aligner"), (["--aligner", "none"], "attention"), (["--links", "argmax"], "attention")):
        assert main([*command, "--limit", "0", *more]) == 0
        record = json.loads((tmp_path / "o" / "alignments.jsonl").read_text())
        assert record["linked_by"] == by
        assert (f"the aligner that {model} keeps" in capsys.readouterr().err) == (by == "aligner")


def test_an_aligner_makes_rules_for_attention_idle(model, write, tmp_path, capsys):
    command = ["align", "--model", model, "--source", write("in", "a"), "--output", str(tmp_path / "o")]
    assert main([*command, "--aligner", "made", "--links", "argmax"]) == 2
    assert "--links is for links of attention" in capsys.readouterr().err


def test_both_directions_are_loaded_with_the_same_weights_and_precision(model, write, tmp_path, monkeypatch):
    monkeypatch.setattr(fake_translator.Translator, "loaded", [])
    other = tmp_path / "other"
    other.mkdir()
    command = ["align", "--model", model, "--source", write("in", "a"), "--output", str(tmp_path / "o")]
    more = ["--reverse", str(other), "--checkpoints", "3", "--precision", "mixed_bfloat16"]
    assert main([*command, *more]) == 0
    (_, forward), (_, reverse) = fake_translator.Translator.loaded
    assert (forward["checkpoints"], forward["precision"]) == (3, "mixed_bfloat16")
    assert reverse.items() <= forward.items() and len(reverse) == 3


def test_several_formats_can_be_drawn_and_a_pdf_is_one_file(model, write, tmp_path):
    output = tmp_path / "o"
    command = ["align", "--model", model, "--source", write("in", "ein haus", "c"), "--output", str(output)]
    assert main([*command, "--format", "pdf", "svg"]) == 0
    names = ["0001.svg", "0002.svg", "alignments.jsonl", "alignments.pdf", "alignments.pharaoh"]
    assert sorted(path.name for path in output.iterdir()) == names
    assert (output / "alignments.pdf").read_bytes().startswith(b"%PDF")


def test_gold_links_are_drawn(model, write, tmp_path, capsys):
    files = ["--source", write("in", "a b"), "--target", write("out", "x y"), "--gold", write("gold", "0-1 1p1")]
    command = ["align", "--model", model, *files, "--output", str(tmp_path / "o"), "--format", "svg", "html"]
    assert main(command) == 0
    assert "AER" in capsys.readouterr().out
    picture = (tmp_path / "o" / "0001.svg").read_text()
    assert "gold link, sure" in picture and "gold link, possible" in picture
    assert '"gold":{"sure":[[0,1]],"possible":[[0,1],[1,1]]}' in (tmp_path / "o" / "alignments.html").read_text()


def test_forced_alignment_against_gold(model, write, tmp_path, capsys):
    files = ["--source", write("in", "a b", "c"), "--target", write("out", "x y", "z"), "--limit", "0"]
    command = ["align", "--model", model, *files, "--output", str(tmp_path / "o")]
    assert main([*command, "--gold", write("gold", "0-0 1-0", "0-0")]) == 0
    # 3 links, 3 sure ones, 2 in common: AER = 1 - (2 + 2) / 6.
    assert "AER = 0.333 (precision 0.667, recall 0.667" in capsys.readouterr().out
    assert json.loads((tmp_path / "o" / "alignments.jsonl").read_text().splitlines()[0])["target"] == ["x", "y"]


def test_gold_links_beyond_a_sentence_leave_no_directory(model, write, tmp_path, capsys):
    files = ["--source", write("in", "a b", "c"), "--target", write("out", "x y", "z")]
    command = ["align", "--model", model, *files, "--output", str(tmp_path / "o")]
    assert main([*command, "--gold", write("far", "0-0", "0-1")]) == 2
    assert "far, sentence 2: link 0-1, counted from 0, is out of range" in capsys.readouterr().err
    assert main([*command, "--gold", write("none", "", "")]) == 2
    assert "none: has no links, so nothing can be measured with it" in capsys.readouterr().err
    assert not (tmp_path / "o").exists()


def test_gold_links_behind_the_cut_of_a_long_sentence_count_as_missed(model, write, tmp_path, capsys, monkeypatch):
    def align(self, sources, targets, linking):
        for source, target in zip(sources, targets, strict=True):
            pair = fake_translator.make_pair(source, target, truncated=True)
            alignment = fake_translator.make_pair("a b", "x y", truncated=False).alignment
            yield replace(pair, alignment=alignment)

    monkeypatch.setattr(fake_translator.Translator, "align", align)
    files = ["--source", write("in", "a b c"), "--target", write("out", "x y z"), "--gold", write("gold", "0-0 2-2")]
    assert main(["align", "--model", model, *files, "--output", str(tmp_path / "o"), "--format", "html"]) == 0
    assert "recall 0.500" in capsys.readouterr().out
    assert '"gold":{"sure":[[0,0]],"possible":[[0,0]]}' in (tmp_path / "o" / "alignments.html").read_text()


@pytest.mark.parametrize("command", ["align", "explain"])
def test_inputs_are_never_overwritten(model, write, tmp_path, capsys, command):
    (tmp_path / "out").mkdir()
    name = {"align": "alignments.pharaoh", "explain": "sentences.tsv"}[command]
    target = tmp_path / "out" / name
    target.write_text("x\n")
    files = ["--source", write("s", "a"), "--target", str(target)]
    assert main([command, "--model", model, *files, "--output", str(tmp_path / "out")]) == 2
    assert f"{name}: is named twice and would be overwritten" in capsys.readouterr().err
    assert target.read_text() == "x\n"


def test_gold_links_count_the_words_of_a_language_without_spaces(model, write, tmp_path, capsys, monkeypatch):
    corpus = CorpusConfig(source_language="en", target_language="ja")
    config = replace(fake_translator.Translator.config, corpus=corpus)
    monkeypatch.setattr(fake_translator.Translator, "config", config)
    source, target = write("in", "I like cats."), write("out", "猫が好きです。")
    align = [
        "align",
        "--model",
        model,
        "--source",
        source,
        "--target",
        target,
        "--output",
        str(tmp_path / "o"),
        "--format",
        "html",
        "--gold",
    ]
    evaluate = ["evaluate", "--model", model, "--source", source, "--reference", target, "--gold"]
    said = "nmt: words of the target are cut by budoux's model ja_word; links count these words\n"
    for command in (align, evaluate):
        assert main([*command, write("far", "0-0 2-5")]) == 2
        error = capsys.readouterr().err
        assert error.startswith(said)
        assert "link 2-5, counted from 0, is out of range: the pair has 3 source and 5 target words" in error
        assert main([*command, write("near", "0-0 2-4")]) == 0
        assert said in capsys.readouterr().err


def test_gold_in_the_format_of_the_shared_tasks(model, write, tmp_path, capsys):
    files = ["--source", write("in", "a b", "c"), "--target", write("out", "x y", "z"), "--limit", "0"]
    command = ["align", "--model", model, *files, "--output", str(tmp_path / "o"), "--gold"]
    gold = write("gold", "1 1 1 S", "1 1 2 P", "2 1 1 S")
    assert main([*command, gold, "--gold-format", "naacl"]) == 0
    # 3 links, 2 sure ones, both found; the third is not even possible: AER = 1 - (2 + 2) / 5.
    assert "AER = 0.200 (precision 0.667, recall 1.000" in capsys.readouterr().out
    assert main([*command, gold, "--gold-format", "naacl", "--gold-base", "0"]) == 2
    assert f"{gold}, sentence 1: link 1-2, counted from 0, is out of range" in capsys.readouterr().err
    assert main([*command, write("one", "1-1 2-1", "1-1"), "--gold-base", "1"]) == 0
    assert "AER = 0.333" in capsys.readouterr().out
    assert main([*command, write("three", "3 1 1"), "--gold-format", "naacl"]) == 2
    assert "there is no sentence 3: expected 1 to 2" in capsys.readouterr().err
    evaluate = ["evaluate", "--model", model, "--source", write("in", "a b"), "--reference", write("ref", "A B")]
    assert main([*evaluate, "--gold", write("far", "0-0 2-1")]) == 2
    assert "far, sentence 1: link 2-1, counted from 0, is out of range" in capsys.readouterr().err


def test_a_file_in_place_of_a_directory_is_refused(model, write, tmp_path, capsys):
    source = write("in", "a")
    assert main(["align", "--model", model, "--source", source, "--output", source]) == 2
    assert f"{source}: is a file; name a directory to write into" in capsys.readouterr().err
    assert main(["align", "--model", source, "--source", source, "--output", str(tmp_path / "o")]) == 2
    assert f"{source}: is a file, not a run directory" in capsys.readouterr().err


def test_flags_for_gold_need_a_gold_file(model, write, tmp_path, capsys):
    command = ["align", "--model", model, "--source", write("in", "a"), "--output", str(tmp_path / "o")]
    assert main([*command, "--gold-base", "1"]) == 2
    assert "--gold-base says how to read --gold" in capsys.readouterr().err
    assert main([*command, "--symmetrize", "union"]) == 2
    assert "give --reverse" in capsys.readouterr().err


def test_the_flags_for_links_reach_the_translator(model, write, tmp_path, capsys):
    command = ["align", "--model", model, "--source", write("in", "a"), "--output", str(tmp_path / "o"), "--limit", "0"]
    fake_translator.Translator.linkings.clear()
    assert main(command) == 0
    assert main([*command, "--links", "argmax", "--links-of", "source", "--attention", "read"]) == 0
    assert main([*command, "--links", "threshold", "--threshold", "0.25", "--target", write("out", "A")]) == 0
    assert fake_translator.Translator.linkings == [
        Linking(),
        Linking("argmax", "source", step="read"),
        Linking("threshold", threshold=0.25),
    ]
    assert main([*command, "--threshold", "0.25"]) == 2
    assert "--threshold is for --links shares and threshold" in capsys.readouterr().err
    assert main([*command, "--links", "threshold", "--threshold", "7"]) == 2
    assert "threshold is 7.0: expected more than 0, up to 1" in capsys.readouterr().err


def test_limit_limits_only_the_drawings(model, write, tmp_path):
    output = tmp_path / "o"
    command = ["align", "--model", model, "--source", write("in", "a", "b", "c"), "--output", str(output)]
    assert main([*command, "--limit", "2"]) == 0
    assert sorted(path.name for path in output.glob("*.png")) == ["0001.png", "0002.png"]
    assert len((output / "alignments.pharaoh").read_text().splitlines()) == 3


def test_files_of_different_lengths_are_refused_before_loading(write, tmp_path, capsys):
    source, target = write("in", "a", "b"), write("out", "x")
    command = ["align", "--model", "nowhere", "--source", source, "--output", str(tmp_path / "o")]
    assert main([*command, "--target", target]) == 2
    assert f"{source} has 2, {target} has 1" in capsys.readouterr().err
    assert main([*command, "--target", source, "--gold", write("gold", "0-0")]) == 2
    assert "gold has 1" in capsys.readouterr().err


# Evaluate


def test_evaluate_prints_and_writes_the_scores(model, write, tmp_path, capsys):
    files = [
        "--source",
        write("in", "das ist ein haus", "", "ja"),
        "--reference",
        write("ref", "DAS IST EIN HAUS", "", "JA"),
    ]
    outputs = ["--output", str(tmp_path / "out"), "--json", str(tmp_path / "scores")]
    gold = ["--gold", write("gold", "0-0 1-1 2-2 3-3", "", "0-0")]
    assert main(["evaluate", "--model", model, *files, *outputs, *gold, "--tokenize", "none", "--beam-size", "2"]) == 0
    said = capsys.readouterr()
    assert said.err.splitlines()[-1].endswith(f", written to {tmp_path}/out and {tmp_path}/scores")
    printed = said.out.splitlines()
    assert printed[0].startswith("BLEU = 100.00 (nrefs:1|")
    assert "tok:none" in printed[0]
    assert printed[1].startswith("chrF2 = 100.00 (")
    assert printed[2].startswith("AER = 0.000")
    scores = json.loads((tmp_path / "scores").read_text())
    assert scores["bleu"]["value"] == pytest.approx(100)
    assert scores["alignment"]["aer"] == 0
    assert (scores["sentences"], scores["search"]["beam_size"]) == (3, 2)
    assert (tmp_path / "out").read_text() == "DAS IST EIN HAUS\n\nJA\n"


def test_evaluate_counts_by_the_tokenizer_of_the_run(model, write, capsys, monkeypatch):
    config = fake_translator.Translator.config
    thai = replace(config, corpus=CorpusConfig(target_language="th"))
    recorded = replace(config, training=TrainingConfig(tokenize="intl"))
    command = ["evaluate", "--model", model, "--source", write("in", "a"), "--reference", write("ref", "A")]
    for of_run, flags, name in ((thai, [], "char"), (recorded, [], "intl"), (thai, ["--tokenize", "13a"], "13a")):
        monkeypatch.setattr(fake_translator.Translator, "config", of_run)
        assert main([*command, *flags]) == 0
        assert f"|tok:{name}|" in capsys.readouterr().out


def test_evaluate_names_references_that_the_vocabulary_rewrites(model, write, capsys, monkeypatch):
    def rewritten(self, sentences):
        return [(text, text.replace("½", "1/2")) for text in sentences if "½" in text]

    monkeypatch.setattr(fake_translator.Vocabulary, "rewritten", rewritten)
    source, reference = write("in", "a", "b"), write("ref", "A ½ c", "B")
    assert main(["evaluate", "--model", model, "--source", source, "--reference", reference]) == 0
    assert (
        "nmt: in this run's vocabulary normalisation changes 1 reference line, such as '½' to '1/2': "
        "the scores count these differences as wrong\n"
    ) in capsys.readouterr().err


def test_evaluate_names_references_without_words_and_keeps_its_input(model, write, capsys):
    reference = write("ref", "A", "", "C")
    command = ["evaluate", "--model", model, "--source", write("in", "a", "b", "c"), "--reference", reference]
    assert main(command) == 0
    assert "references without words: 1;" in capsys.readouterr().err
    assert main([*command, "--output", reference]) == 2
    assert f"{reference}: is named twice and would be overwritten" in capsys.readouterr().err
