"""`kedro run --pipelines=mine_bitext`: mined sentences, runs that continue, a training run on them, and errors."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import ibis
import pandas as pd
import pytest

from ease.encoders.encoding import encode_with
from ease.encoders.options import EncodingOptions
from ease.errors import EaseError
from ease.pipelines.mine_bitext.nodes import BitextMiner, BitextOptions, mine_pairs
from ease.pipelines.options import TextOptions
from ease.pipelines.setting import Setting
from ease.wikimedia.wikipedia import wikipedia_licence
from tests.encoders.tiny import tiny_encoder
from tests.project import Done, Project
from tests.spark import spark_session as spark_session

PAIRS = ["en-ar", "en-de", "en-ja"]
PLACE = "05_model_input/multilingual/bitext/pairs"


@pytest.fixture(scope="module")
def mined(project: Project, tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, Done]:
    """A project in which parallel sentences were mined by its encoder of EASE+."""
    made = project.copy(tmp_path_factory.mktemp("mined") / "copy")
    return made, made.run("mine_bitext", mine_bitext__min_score=1.0)


def read_mined(project: Project) -> dict[str, pd.DataFrame]:
    """Return the newest mined sentences by their pair of languages."""
    return {file.stem: pd.read_parquet(file) for file in sorted(project.latest(PLACE).glob("*.parquet"))}


def test_sentences_are_mined_among_the_candidates_one_to_one(mined: tuple[Project, Done]) -> None:
    project, done = mined
    found = read_mined(project)
    assert list(found) == PAIRS
    sentences, candidates = (
        pd.read_parquet(project.latest(f"03_primary/multilingual/bitext_{name}.parquet"))
        for name in ("sentences", "candidates")
    )
    texts = {(row.language, row.row): row.text for row in sentences.itertuples()}
    compared = {
        (texts[one.left_language, one.left], texts[one.right_language, one.right]) for one in candidates.itertuples()
    }
    about = ["page_id", "page_title", "revision_id", "text"]
    known = set(sentences[["language", *about]].itertuples(index=False, name=None))
    counts = project.json("08_reporting/multilingual/bitext.json")
    for (pair, table), row in zip(found.items(), counts, strict=True):
        rows = set(table[["sentence", "positive"]].itertuples(index=False, name=None))
        assert rows <= compared
        assert len(rows) == len(table) > 20
        assert f"{row['left']}-{row['right']}" == pair
        assert [table[f"{side}_language"].unique().tolist() for side in ("left", "right")] == [
            [code] for code in pair.split("-")
        ]
        assert table["score"].is_monotonic_decreasing
        assert table["score"].min() >= 1
        assert table["cosine"].abs().max() <= 1 + 1e-6
        assert set(table["licence"]) == {"apache-2.0 and unicode-3.0"}
        placed = table[["right_language", *(f"right_{name}" for name in about[:3]), "positive"]]
        assert set(placed.itertuples(index=False, name=None)) <= known
        assert row["mined"] == len(table) == row["matches"] - row["equal_texts"] - row["repeated"]
        share = 100 * row["candidates"] / (row["left_sentences"] * row["right_sentences"])
        assert row["percent_compared"] == pytest.approx(share, abs=1e-3)
        assert share < 10
    assert "Mined parallel sentences by" in done.stderr


def test_a_rerun_continues_after_the_last_complete_pair(mined: tuple[Project, Done], tmp_path: Path) -> None:
    project = mined[0].copy(tmp_path / "copy")
    before = read_mined(project)
    shutil.rmtree(project.folder / "data" / PLACE)
    (lost,) = (project.folder / "data/06_models/work/multilingual.bitext").glob("en-de-*")
    shutil.rmtree(lost)
    done = project.run("mine_bitext", mine_bitext__min_score=1.0)
    for pair in ("en-ar", "en-ja"):
        assert f"Parallel sentences of {pair}: kept from an earlier run" in done.stderr
    assert "Parallel sentences of en-de: {" in done.stderr
    after = read_mined(project)
    assert all(before[pair].equals(after[pair]) for pair in PAIRS)


def test_a_margin_that_no_sentence_has_is_refused(mined: tuple[Project, Done], tmp_path: Path) -> None:
    project, _ = mined
    files = [project.latest(f"03_primary/multilingual/bitext_{name}.parquet") for name in ("sentences", "candidates")]
    encoder = project.latest("06_models/multilingual/ease_plus/encoder")
    dumps, options = project.json("01_raw/multilingual/dumps.json"), BitextOptions(min_score=9, languages="de")
    setting = Setting(name="s", languages="en de", encoder={}, dev_tasks=(), test_tasks=())
    given = (encoder, dumps, options, EncodingOptions(), TextOptions(), str(tmp_path), setting)
    words = "No two sentences count as parallel by `mine_bitext.min_score` 9.0: lower it"
    with pytest.raises(EaseError, match=words):
        mine_pairs(*map(ibis.read_parquet, files), *given)


def test_a_second_stage_is_trained_on_the_mined_sentences(mined: tuple[Project, Done], tmp_path: Path) -> None:
    project = mined[0].copy(tmp_path / "copy")
    project.run("train", "--namespaces=multilingual.msimcse", multilingual__msimcse__options__strategy="mined")
    texts = pd.read_parquet(project.latest("05_model_input/multilingual/msimcse/texts"))
    expected = pd.concat(read_mined(project).values())
    assert len(texts) == len(expected) > 100
    pairs = [set(zip(table["sentence"], table["positive"], strict=True)) for table in (texts, expected)]
    assert pairs[0] == pairs[1]
    assert texts["negative"].isna().all()
    (report,) = project.json("08_reporting/multilingual/msimcse/text_report.json")
    assert report["kind"] == "parallel"
    assert len(report["sha256"][0]) == 64
    assert (project.latest("06_models/multilingual/msimcse/encoder") / "modules.json").is_file()


def test_the_key_of_a_part_depends_on_all_that_it_is_made_from(tmp_path: Path) -> None:
    def key(text: str = "Rome.", right: int = 0, licence: str = "a", **options: Any) -> str:
        rows = [("en", 0, 1, "R", 1, text), ("fr", 0, 1, "R", 1, "Rome."), ("fr", 1, 1, "R", 1, "Rome.")]
        columns = ["language", "row", "page_id", "page_title", "revision_id", "text"]
        sentences = pd.DataFrame(rows, columns=columns)
        columns = ["left_language", "right_language", "left", "right"]
        candidates = pd.DataFrame([("en", "fr", 0, right)], columns=columns)
        given = map(ibis.memtable, (sentences, candidates))
        chosen = BitextOptions(**options)
        return BitextMiner(*given, encode_with(model), chosen, TextOptions(), tmp_path).key(("en", "fr"), licence)

    model = tiny_encoder(["Rome."])
    assert key() == key(encoder="another/name", languages="fr")
    keys = [key(), key("Roma."), key(right=1), key(licence="b"), key(min_score=2), key(neighbours=2)]
    assert len(set(keys)) == len(keys)


def test_the_licence_is_that_of_wikipedias_text_at_the_date_of_the_dump() -> None:
    found = [wikipedia_licence(date) for date in ("20080101", "20230601", "20240101", None)]
    assert found == ["gfdl", "cc-by-sa-3.0", "cc-by-sa-4.0", "cc-by-sa-4.0"]
