"""Several sources in one table, the kinds, and the order of everything."""

from __future__ import annotations

from pathlib import Path

import ibis
import pytest

from ease.errors import EaseError
from ease.texts import source_options
from tests.texts.conftest import GatherRows, WriteFile


@pytest.fixture
def numbers(write_file: WriteFile) -> Path:
    return write_file("numbers.txt", "".join(f"{number}\n" for number in range(1_000)))


@pytest.fixture
def triplets(write_file: WriteFile) -> Path:
    rows = "".join(f"s{number},p{number},n{number}\n" for number in range(300))
    return write_file("triplets.csv", f"sent0,sent1,hard_neg\n{rows}")


def test_a_mixture_is_proportional_and_missing_texts_are_null(
    gather_rows: GatherRows, numbers: Path, triplets: Path
) -> None:
    sources = [{"kind": "lines", "path": numbers, "weight": 3}, {"kind": "nli", "path": triplets, "weight": 1}]
    rows, report = gather_rows(*sources, rows=100, seed=1)
    assert [line["taken"] for line in report] == [75, 25]
    assert len(set(rows)) == 100, "without replacement"
    for sentence, positive, negative in rows:
        assert (positive, negative) in ((None, None), (f"p{sentence[1:]}", f"n{sentence[1:]}"))
    assert [row[1] is None for row in rows] == [True] * 75 + [False] * 25, "in the order of the sources"


def test_the_same_seed_gives_the_same_rows_for_any_number_of_threads(
    gather_rows: GatherRows, numbers: Path, triplets: Path
) -> None:
    sources = [
        {"kind": "lines", "path": numbers, "weight": 1},
        {"kind": "nli", "path": triplets, "form": "shuffled", "weight": 1},
        {"kind": "nli", "path": triplets, "weight": 1},
    ]
    rows = gather_rows(*sources, rows=150, seed=7, threads=1)[0]
    assert gather_rows(*sources, rows=150, seed=7, threads=4)[0] == rows
    assert gather_rows(*sources, rows=150, seed=8)[0] != rows


def test_too_large_a_mixture_is_refused(gather_rows: GatherRows, numbers: Path, triplets: Path) -> None:
    lines, nli = {"kind": "lines", "path": numbers, "weight": 3}, {"kind": "nli", "path": triplets, "weight": 1}
    with pytest.raises(EaseError, match="asks for 1201 .* which have 1000, 300, give 1200 at their weights"):
        gather_rows(lines, nli, rows=1_201)
    with pytest.raises(EaseError, match="Some sources in `data` have a `weight` and others none"):
        gather_rows(lines, {**nli, "weight": None})
    with pytest.raises(EaseError, match="names no source"):
        gather_rows()


def test_pairs_keep_their_sentences_and_their_order(gather_rows: GatherRows) -> None:
    columns = {"pair_id": [2, 0, 3, 1], "sentence": ["c", "a", "c", "b"], "entity": [1, 2, 3, 4]}
    rows, (report,) = gather_rows({"kind": "pairs"}, pairs=ibis.memtable({**columns, "hard_negative": [1] * 4}))
    assert [row[0] for row in rows] == ["a", "b", "c", "c"]
    assert report["read"] == 4
    with pytest.raises(EaseError, match="'pairs' needs the setting's training pairs, and there are none"):
        gather_rows({"kind": "pairs"})


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ({"path": "a.txt"}, "has no `kind`: choose from columns, lines"),
        ({"kind": "line", "path": "a.txt"}, "Unknown kind of texts in `data` 'line': did you mean lines"),
        ({"kind": "lines"}, "`data` of kind 'lines', whose parameters are kind, rows, .*: path: Field required"),
        ({"kind": "nli", "path": "a", "form": "shuffled", "negatives": "none"}, "`negatives` applies to triplets, not"),
    ],
)
def test_invalid_options_are_reported(values: dict[str, object], fault: str) -> None:
    with pytest.raises(EaseError, match=fault):
        source_options(values)
