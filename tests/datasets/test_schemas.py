"""A fault planted in a table is named: in a sample when the table is saved, anywhere by the complete check."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ibis
import pandas as pd
import pytest
from click.testing import CliRunner
from kedro.io import DataCatalog, DatasetError
from kedro.validation.exceptions import DataValidationError

from ease.datasets.__main__ import main
from ease.datasets.schemas import SCHEMAS, check_tables, find_table_faults
from tests.contexts import undisturbed

if TYPE_CHECKING:
    from tests.project import Project

Rows = list[dict[str, Any]]
Change = Callable[[dict[str, Any]], Any]
PAIR = {"pair_id": 0, "language": "en", "page_id": 7, "sentence_index": 0, "sentence": "A town.", "entity": 5}
LINK = {"start": 0, "end": 4, "target": "Town"}
ROWS: dict[str, dict[str, Any]] = {
    "sentences": {
        "language": "zh-min-nan",
        "page_id": 7,
        "page_title": "Town",
        "revision_id": 1,
        "sentence_index": 0,
        "text": "Town",
        "links": [LINK],
        "holes": 0,
    },
    "redirects": {"language": "en", "source_title": "Towns", "target_title": "Town"},
    "pages": {"language": "en", "page_id": 7, "title": "Town"},
    "sitelinks": {"qid": 5, "language": "en", "title": "Town"},
    "entity_types": {"qid": 5, "type_qid": 6},
    "links": {"language": "en", "page_id": 7, "sentence_index": 0, "title": "Town", "entity": 5},
    "entity_vocabulary": {"row": 0, "entity": 5, "label": "Town", "link_count": 3},
    "pairs": PAIR,
    "training_pairs": {**PAIR, "hard_negative": 9, "further_entities": [8], "subject": None},
}
FAULTS: list[tuple[str, Change, str]] = [
    ("sentences", lambda row: row["links"].append({**LINK, "end": 5}), "links lie in the text"),
    ("sentences", lambda row: row.update(text=None), "`text`.*is not null"),
    ("pages", lambda row: row.update(language="EN"), "`language`.*is a language code"),
    ("sitelinks", lambda row: row.update(qid=0), "`qid`.*is not 0"),
    ("entity_vocabulary", lambda row: row.update(link_count=-2), "`link_count`.*such as -2"),
    ("pairs", lambda row: row.update(sentence=""), "`sentence`.*is not empty"),
    ("training_pairs", lambda row: row.update(hard_negative=row["entity"]), "the hard negative is another entity"),
    ("training_pairs", lambda row: row["further_entities"].append(row["entity"]), "further entities are others"),
]


def table(name: str, rows: Rows) -> ibis.Table:
    """Return rows with the types that the engine gives them."""
    kinds = {"sentence_index": "int32", "holes": "int32", "subject": "int64", "further_entities": "array<int64>"}
    kinds["links"] = "array<struct<start: int32, end: int32, target: string>>"
    schema = {
        column: kinds.get(column, "int64" if isinstance(value, int) else "string")
        for column, value in ROWS[name].items()
    }
    return ibis.memtable(pd.DataFrame(rows), schema=schema)


def several(name: str) -> Rows:
    """Return valid rows with different keys."""
    rows = []
    for number in range(4):
        row = {key: list(value) if isinstance(value, list) else value for key, value in ROWS[name].items()}
        row |= {key: number for key in ("page_id", "pair_id", "row") if key in row}
        rows.append(row | ({"entity": 5 + number} if "row" in row else {}))
    return rows


@pytest.fixture
def catalog(tmp_path: Path) -> DataCatalog:
    """A catalog with all tables, checked on save as in the project's own."""
    check = {"class": "ease.datasets.validation.SampledSchema", "on": "save"}
    entries = {
        f"made.{name}": {
            "type": "ease.datasets.tables.TableDataset",
            "filepath": str(tmp_path / f"{name}.parquet"),
            "connection": {"backend": "duckdb", "database": ":memory:"},
            "versioned": True,
            "validator": {**check, "options": {"table": name, "rows": 2}},
        }
        for name in SCHEMAS
    }
    catalog: DataCatalog = DataCatalog.from_config(entries)
    catalog["params:made.setting"] = {}
    return catalog


def test_valid_and_empty_tables_are_saved(catalog: DataCatalog) -> None:
    for name in SCHEMAS:
        rows = 0 if name == "pages" else 4
        catalog.save(f"made.{name}", table(name, several(name)).limit(rows))
        assert catalog.load(f"made.{name}").count().execute() == rows


@pytest.mark.parametrize(("name", "change", "message"), FAULTS)
def test_a_table_with_a_fault_is_not_saved(catalog: DataCatalog, name: str, change: Change, message: str) -> None:
    rows = several(name)
    change(rows[0])
    with pytest.raises((DatasetError, DataValidationError), match=rf"`{name}` is wrong and is not saved: .*{message}"):
        catalog.save(f"made.{name}", table(name, rows))
    assert not catalog.exists(f"made.{name}")


@pytest.mark.parametrize(("name", "change", "message"), FAULTS[::5])
def test_the_complete_check_finds_a_fault_beyond_the_sample(
    catalog: DataCatalog, name: str, change: Change, message: str
) -> None:
    rows = several(name)
    change(rows[3])  # the sample has two rows of the only row group
    catalog.save(f"made.{name}", table(name, rows))
    ((found, count, faults),) = check_tables(catalog)
    assert (found, count) == (f"made.{name}", 4)
    assert any(pd.Series(faults).str.contains(message))


def test_missing_and_unknown_columns_are_named() -> None:
    table = ibis.memtable({"language": ["en"], "page_id": ["1"], "name": ["Town"]})
    assert find_table_faults("pages", table) == [
        "column `title` is missing",
        "column `name` is unknown",
        "column `page_id` has the type string instead of int64",
    ]


def test_repeated_keys_and_rows_missing_elsewhere_are_counted(catalog: DataCatalog) -> None:
    pairs = several("pairs")
    pairs[1] |= {"entity": 77}
    catalog.save("made.pairs", table("pairs", [*pairs, pairs[2]]))
    catalog.save("made.entity_vocabulary", table("entity_vocabulary", several("entity_vocabulary")))
    checked = {name: faults for name, _, faults in check_tables(catalog)}
    assert checked["made.entity_vocabulary"] == []
    assert checked["made.pairs"] == [
        "1 keys (language, page_id, sentence_index, entity) appear more than once",
        "column `entity`: 1 values are not in `entity_vocabulary`",
    ]


def test_a_broken_table_is_named_and_the_others_are_checked(catalog: DataCatalog, tmp_path: Path) -> None:
    for name in ("pairs", "entity_vocabulary"):
        catalog.save(f"made.{name}", table(name, several(name)))
    (broken,) = tmp_path.glob("pairs.parquet/*/pairs.parquet")
    broken.write_bytes(broken.read_bytes()[:-20])
    checked = {name: faults for name, _, faults in check_tables(catalog)}
    assert checked["made.entity_vocabulary"] == []
    (fault,) = checked["made.pairs"]
    assert fault.startswith("cannot be read: ")
    assert "pairs.parquet" in fault
    assert "\n" not in fault


def test_a_folder_without_tables_is_one_line(bare: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder, message in {
        bare.folder: f"{bare.folder} has no tables to check: make them by `kedro run --pipelines=train_multilingual`.",
        tmp_path: f"{tmp_path} has no conf/base/globals.yml: run this command in the project's folder.",
    }.items():
        with undisturbed():
            monkeypatch.chdir(folder)
            done = CliRunner().invoke(main, [])
        assert (done.exit_code, done.stdout) == (1, "")
        assert done.stderr.endswith(f"Error: {message}\n")
