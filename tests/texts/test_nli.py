"""Inferences: the three forms against plain loops over real files, and what files are refused."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from ease.errors import EaseError
from tests.texts.conftest import GatherRows, Row, WriteFile


class Stated(NamedTuple):
    """A row of a file, as the csv module reads it."""

    language: str
    label: str
    premise: str
    hypothesis: str
    prompt: str
    pair: str


@pytest.fixture(scope="module")
def xnli(test_data: Path) -> Path:
    return test_data / "eval" / "nli" / "esxnli.tsv"


@pytest.fixture(scope="module")
def stated(xnli: Path) -> list[Stated]:
    with xnli.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        names = ("language", "gold_label", "sentence1", "sentence2", "promptID", "pairID")
        return [Stated(*(row[name].strip() for name in names)) for row in rows]


def triplets_by_loop(rows: list[Stated]) -> Iterator[Row]:
    """The n-th entailment of a premise with its n-th contradiction, from the first again."""
    wrong = defaultdict(list)
    for row in rows:
        if row.label == "contradiction":
            wrong[row.language, row.prompt].append(row.hypothesis)
    seen: Counter[tuple[str, str]] = Counter()
    for row in rows:
        if row.label == "entailment":
            key = (row.language, row.prompt)
            negatives = wrong[key]
            yield row.premise, row.hypothesis, negatives[seen[key] % len(negatives)] if negatives else None
            seen[key] += 1


def test_triplets_of_line_files(gather_rows: GatherRows, test_data: Path) -> None:
    folder = test_data / "eval" / "nli" / "snli"
    texts = [(folder / f"{name}.dev").read_text(encoding="utf-8").split("\n") for name in ("s1", "s2", "labels")]
    rows = (map(str.strip, row) for row in zip(*texts, strict=True))
    stated = [Stated("", label, premise, hypothesis, premise, "") for premise, hypothesis, label in rows]
    expected = list(triplets_by_loop(stated))
    source = {"kind": "nli", "path": folder, "split": "dev"}
    rows_read, (report,) = gather_rows(source)
    assert rows_read == expected
    assert report["without_contradiction"] == sum(row[2] is None for row in expected) > 0
    without, _ = gather_rows({**source, "negatives": "none"})
    assert without == [(*row[:2], None) for row in expected]


def test_cross_lingual_triplets_mix_languages_of_the_same_triplet(
    gather_rows: GatherRows, xnli: Path, stated: list[Stated]
) -> None:
    rows, _ = gather_rows({"kind": "nli", "path": xnli, "cross_lingual": True}, seed=2)
    by_pair: dict[str, dict[str, Stated]] = defaultdict(dict)
    for row in stated:
        by_pair[row.pair][row.language] = row
    entailments = [row for row in stated if row.label == "entailment" and row.language == "es"]
    wrong = {row.prompt: row.pair for row in stated if row.label == "contradiction"}
    assert len(rows) == len(entailments) == 830
    combinations: Counter[tuple[str, ...]] = Counter()
    for (sentence, positive, negative), entailed in zip(rows, entailments, strict=True):
        told, untold = by_pair[entailed.pair], by_pair[wrong[entailed.prompt]]
        combinations[
            next(code for code, row in told.items() if row.premise == sentence),
            next(code for code, row in told.items() if row.hypothesis == positive),
            next(code for code, row in untold.items() if row.hypothesis == negative),
        ] += 1
    assert len(combinations) == 8
    assert all(70 < count < 140 for count in combinations.values()), "830 / 8 is 104"
    assert gather_rows({"kind": "nli", "path": xnli, "cross_lingual": True}, seed=3)[0] != rows


def test_each_language_of_a_premise_has_a_triplet_with_texts_in_drawn_languages(
    gather_rows: GatherRows, xnli: Path, stated: list[Stated]
) -> None:
    source = {"kind": "nli", "path": xnli, "cross_lingual": True, "premises": "every"}
    rows, _ = gather_rows(source, seed=2)
    entailments = [row for row in stated if row.label == "entailment"]
    assert Counter(row[0] for row in rows) == Counter(row.premise for row in entailments)
    hypotheses = {(row.label, row.hypothesis): (row.language, row.prompt) for row in stated if row.label != "neutral"}
    prompts = {row.premise: row.prompt for row in entailments}
    combinations: Counter[tuple[str, str]] = Counter()
    for sentence, positive, negative in rows:
        assert positive
        assert negative
        first, second = hypotheses["entailment", positive], hypotheses["contradiction", negative]
        assert prompts[sentence] == first[1] == second[1]
        combinations[first[0], second[0]] += 1
    assert len(combinations) == 4
    assert all(340 < count < 490 for count in combinations.values()), "1,660 / 4 is 415"


def test_premises_and_hypotheses_of_two_languages_are_those_of_table_9(
    gather_rows: GatherRows, xnli: Path, stated: list[Stated]
) -> None:
    source = {"kind": "nli", "path": xnli, "form": "premise_hypothesis"}
    assert gather_rows(source)[0] == [(row.premise, row.hypothesis, None) for row in stated]
    by_pair: dict[str, list[Stated]] = defaultdict(list)
    for row in stated:
        by_pair[row.pair].append(row)
    expected = Counter(
        (left.premise, right.hypothesis, None) for rows in by_pair.values() for left in rows for right in rows
    )
    assert Counter(gather_rows({**source, "cross_lingual": True})[0]) == expected
    assert sum(expected.values()) == 2 * 4_980


def test_premises_meet_their_hypotheses_in_every_language(gather_rows: GatherRows, write_file: WriteFile) -> None:
    have = {"1": ("en", "de", "fr"), "2": ("en", "de", "fr"), "3": ("en", "fr")}  # the languages of each pair
    rows = [
        f"{code}\tneutral\t{code} p{pair}\t{code} h{pair}\t{pair}\t{pair}\n" for pair in have for code in have[pair]
    ]
    path = write_file("xnli.tsv", XNLI + "".join(rows))
    source = {"kind": "nli", "path": path, "form": "premise_hypothesis", "cross_lingual": True}
    every, _ = gather_rows({**source, "hypotheses": "every"})
    expected = {
        (f"{left} p{pair}", f"{right} h{pair}", None) for pair in have for left in have[pair] for right in have[pair]
    }
    assert Counter(every) == Counter(expected)
    assert len(every) == 9 + 9 + 4
    sample, _ = gather_rows(source)
    assert len(sample) == 2 * 8
    assert set(sample) < expected
    two, _ = gather_rows({**source, "hypotheses": "every", "languages": ["en", "fr"]})
    assert Counter(two) == Counter(gather_rows({**source, "languages": ["en", "fr"]})[0]), "as in Table 9"


def test_each_shuffled_sentence_occurs_once_on_either_side(
    gather_rows: GatherRows, xnli: Path, stated: list[Stated]
) -> None:
    source = {"kind": "nli", "path": xnli, "form": "shuffled"}
    told = {(row.language, text) for row in stated for text in (row.premise, row.hypothesis)}
    languages = defaultdict(set)
    for language, text in told:
        languages[text].add(language)
    pairs = {(row.premise, row.hypothesis) for row in stated}
    for cross_lingual in (False, True):
        rows, _ = gather_rows({**source, "cross_lingual": cross_lingual}, seed=1)
        assert len(told) - 10 < len(rows) <= len(told), "no more is left out than what would meet itself"
        for side in (0, 1):
            assert max(Counter(row[side] for row in rows).values()) <= 2, "a text of both languages twice"
        mixed = sum(not languages[left] & languages[str(right)] for left, right, _ in rows) / len(rows)
        assert (0.45 < mixed < 0.55) if cross_lingual else mixed == 0
        assert sum((left, right) in pairs for left, right, _ in rows) < 10, "not as they were stated"
        assert gather_rows({**source, "cross_lingual": cross_lingual}, seed=2)[0] != rows


XNLI = "language\tgold_label\tsentence1\tsentence2\tpromptID\tpairID\n"


def test_unlabelled_rows_are_counted_and_dropped(gather_rows: GatherRows, write_file: WriteFile) -> None:
    told = ["entailment\tP\tE", "-\tP\tunsure", "-1\tP\thidden", "\tP\tmissing", "contradiction\tP\t "]
    told += ["contradiction\tP\tC", "entailment\tQ\tF"]
    rows = (f"en\t{row}\t{int('Q' in row)}\t{number}\n" for number, row in enumerate(told))
    path = write_file("a.tsv", XNLI + "".join(rows))
    texts, (report,) = gather_rows({"kind": "nli", "path": path})
    assert texts == [("P", "E", "C"), ("Q", "F", None)]
    counts = {"read": 7, "unlabelled": 3, "blank": 1, "without_contradiction": 1}
    assert {name: report[name] for name in counts} == counts


def test_the_csv_of_simcse_has_three_texts_per_row(gather_rows: GatherRows, write_file: WriteFile) -> None:
    path = write_file("nli.csv", 'sent0,sent1,hard_neg\nP,"E, e",C\nP,F,D\nQ,G,\n')
    assert gather_rows({"kind": "nli", "path": path})[0] == [("P", "E, e", "C"), ("P", "F", "D"), ("Q", "G", None)]
    pairs, _ = gather_rows({"kind": "nli", "path": path, "form": "premise_hypothesis"})
    assert [row[:2] for row in pairs] == [("P", "E, e"), ("P", "C"), ("P", "F"), ("P", "D"), ("Q", "G")]


def test_files_of_languages_are_joined_by_line(gather_rows: GatherRows, write_file: WriteFile) -> None:
    labels = ("entailment", "neutral", "contradictory")
    for code in ("en", "de", "fr"):
        lines = (f"{code} p{row}\t{code} {label[0]}{row}\t{label}\n" for row in range(40) for label in labels)
        path = write_file(f"multinli/multinli.train.{code}.tsv", "premise\thypo\tlabel\n" + "".join(lines))
    rows, _ = gather_rows({"kind": "nli", "path": path.parent, "languages": ["en", "de"], "cross_lingual": True})
    split = [[str(text).split() for text in texts] for texts in rows]
    assert [[text for _, text in texts] for texts in split] == [[f"p{n}", f"e{n}", f"c{n}"] for n in range(40)]
    assert {code for texts in split for code, _ in texts} == {"en", "de"}
    assert len({tuple(code for code, _ in texts) for texts in split}) == 8


def test_errors_name_the_file_and_the_line(gather_rows: GatherRows, write_file: WriteFile) -> None:
    row = "en\tentailment\tP\tE\t1\t1\n"
    for name, content, fault in (
        ("a.tsv", f"{XNLI}{row}en\tmaybe\tP\tE\t1\t2\n", "a.tsv, line 3: unknown label 'maybe'"),
        ("a.tsv", "x\ty\n1\t2\n", "a.tsv: no column sentence1, sentence2, gold_label; it has x, y"),
        ("a.csv", "x,y\n1,2\n", "columns sent0, sent1 and hard_neg; it has x, y"),
        ("a.tsv", XNLI + row.replace("entailment", "neutral"), "0 are left .*read 1, unlabelled 0, blank 0"),
    ):
        with pytest.raises(EaseError, match=fault):
            gather_rows({"kind": "nli", "path": write_file(name, content)})
    path = write_file("b.tsv", f"{XNLI}{row}{row}{row.replace('en', 'de', 1)}")
    with pytest.raises(EaseError, match="pair 1 .* occurs 2 times in 'en'"):
        gather_rows({"kind": "nli", "path": path, "cross_lingual": True})
