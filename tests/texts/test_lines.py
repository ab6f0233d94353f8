"""Text files: what is a string, what is left out, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from ease.errors import EaseError
from tests.texts.conftest import GatherRows, WriteFile


def test_byte_order_marks_line_ends_and_blank_lines_are_removed(
    gather_rows: GatherRows, write_file: WriteFile
) -> None:
    # U+2028 and U+0085 end lines for Python's str.splitlines, and for nobody else here.
    path = write_file(
        "a.txt", "\ufefffirst\r\n\r\n  second \nthird\u2028still third\u0085\n\nfirst\n \t\nlast"
    )
    rows, (report,) = gather_rows({"kind": "lines", "path": path})
    assert [row[0] for row in rows] == ["first", "second", "third\u2028still third", "last"]
    assert {name: report[name] for name in ("read", "blank", "repeated", "available", "taken")} == {
        "read": 8,
        "blank": 3,
        "repeated": 1,
        "available": 4,
        "taken": 4,
    }
    assert {row[1:] for row in rows} == {(None, None)}


def test_a_range_of_lines_is_read(gather_rows: GatherRows, write_file: WriteFile) -> None:
    path = write_file("a.txt", "# comment\nthe\nof\n\nand\nin\nto\n")
    second = {"kind": "lines", "path": path, "skip": 3, "take": 3}
    rows, (report,) = gather_rows(second)
    assert [row[0] for row in rows] == ["and", "in"]
    assert (report["read"], report["blank"]) == (3, 1)
    assert [row[0] for row in gather_rows({**second, "take": None})[0]] == ["and", "in", "to"]
    with pytest.raises(EaseError, match=r"a\.txt has no line after the first 7: lower `skip`"):
        gather_rows({**second, "skip": 7})


def test_a_draw_is_seeded_and_of_all_parts(gather_rows: GatherRows, write_file: WriteFile) -> None:
    path = write_file("a.txt", "".join(f"{number}\n" for number in range(30_000)))
    source = {"kind": "lines", "path": path, "rows": 500}
    drawn, others = (gather_rows(source, seed=seed)[0] for seed in (3, 4))
    assert len(drawn) == len(others) == 500
    assert 0 < len(set(drawn) & set(others)) < 50, "two draws of 500 of 30,000 share about 8"
    numbers = [int(row[0]) for row in drawn]
    assert numbers == sorted(numbers), "in the order of the file"
    assert 13_000 < sum(numbers) / 500 < 17_000, "from all parts of it"


def test_published_lists(gather_rows: GatherRows, test_data: Path) -> None:
    sentences = test_data / "train" / "stsbenchmark_train_10k_sents_random_sampled.txt"
    rows, (report,) = gather_rows({"kind": "lines", "path": sentences})
    stripped = [line.strip() for line in sentences.read_text(encoding="utf-8").split("\n")]
    assert [row[0] for row in rows] == list(dict.fromkeys(filter(None, stripped)))
    assert report["read"] == 10_000


def test_errors_name_the_file(gather_rows: GatherRows, write_file: WriteFile, tmp_path: Path) -> None:
    with pytest.raises(EaseError, match="none.txt cannot be read .No such file"):
        gather_rows({"kind": "lines", "path": tmp_path / "none.txt"})
    with pytest.raises(EaseError, match="none is left .read 0"):
        gather_rows({"kind": "lines", "path": write_file("empty.txt", "")})
    with pytest.raises(EaseError, match="cannot be read .Is a directory"):
        gather_rows({"kind": "lines", "path": tmp_path})
