"""Released pairs are read in any of their forms, in pieces; a wrong record is named."""

from __future__ import annotations

import bz2
import gzip
import json
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ease.entities import released
from ease.entities.negatives import draw_released_negatives
from ease.entities.released import ingest_released, read_released
from ease.errors import EaseError
from tests.made_pairs import make_records, write_array, write_lines

RECORDS = make_records(60)
GOOD = {"text": "Aa bb.", "positive_entity": "Aa", "negative_entity": ["Bb", "Cc"]}
FORMS = {
    "array": json.dumps(RECORDS),
    "indented array": json.dumps(RECORDS, indent=2),
    "lines": "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in RECORDS),
    "lines of Windows": "\r\n".join(map(json.dumps, RECORDS)),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("chunk", "pack"), [(7, bytes), (1000, gzip.compress), (1 << 22, bz2.compress)])
def test_each_form_is_read(form: str, chunk: int, pack: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(released, "_CHUNK", chunk)
    file = tmp_path / "pairs.json"
    file.write_bytes(pack(f"\ufeff{FORMS[form]}".encode()))
    assert [record.model_dump() for record in read_released(file)] == [
        {name: expected[name] for name in GOOD} for expected in RECORDS
    ]


BAD: dict[str, tuple[str | bytes, str]] = {
    "missing field": (json.dumps([GOOD, {"text": "A", "positive_entity": "B"}]), "record 2: `negative_entity`: "),
    "only the entity itself": (json.dumps({**GOOD, "negative_entity": ["Aa"]}), "record 1: .* no title other than"),
    "blank title": (json.dumps({**GOOD, "positive_entity": " _"}), "record 1: `positive_entity`: .*not ' _'"),
    "half a surrogate pair": (json.dumps({**GOOD, "text": "\ud800"}), "record 1: `text`: .*surrogates not allowed"),
    "array cut in a record": (json.dumps([GOOD, GOOD])[:-9], "record 2: cut or broken JSON .Expecting ','"),
    "array cut between records": (json.dumps([GOOD])[:-1], "record 2: the file is cut: its array has no end"),
    "not UTF-8": (json.dumps(GOOD).replace("bb", "é").encode("latin-1"), "record 1: `text`: "),
    "gzip cut": (gzip.compress(json.dumps(RECORDS).encode())[:-20], "is cut or damaged .*: fetch the file again"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_wrong_record_is_named_with_the_remedy(case: str, tmp_path: Path) -> None:
    content, expected = BAD[case]
    file = tmp_path / "pairs.json"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(EaseError, match=expected) as error:
        list(read_released(file))
    assert str(error.value).startswith(str(file))
    assert "\n" not in str(error.value)


def test_a_negative_is_drawn_from_the_pairs_own_list(tmp_path: Path) -> None:
    files = [write_array(tmp_path / "a.json", RECORDS[:25]), write_lines(tmp_path / "b.json", RECORDS[25:])]
    part, counts = ingest_released(files, "und", tmp_path)
    assert counts == {"pairs": len(RECORDS), "blank": 0}
    read = {file.stem: pq.read_table(file) for file in part.glob("*.parquet")}
    titles = {row["qid"]: row["title"] for row in read["sitelinks"].to_pylist()}
    pairs = ibis.memtable(pa.table({"pair_id": range(60), "page_id": range(1, 61)}))
    lists = read["entity_types"]
    draws = []
    for seed, stored in ((0, lists), (0, lists.take([*range(len(lists))][::-1])), (1, lists)):
        mined = draw_released_negatives(pairs, ibis.memtable(stored), seed).to_pyarrow().to_pylist()
        draws.append([titles[row["hard_negative"]] for row in mined])
    # Every title is in the list of its record, and every place of the lists is drawn.
    places = [record["negative_entity"].index(title) for title, record in zip(draws[0], RECORDS, strict=True)]
    assert set(places) == {0, 1, 2, 3, 4}
    assert draws[0] == draws[1] != draws[2]
