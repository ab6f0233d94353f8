"""The pipeline `mewsc16`, by the real command line."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml

from ease.pipelines.mewsc16.nodes import locate_wikinews, make_mewsc16
from ease.pipelines.work import release_work
from ease.wikimedia.wikinews.editions import NewsOptions
from tests.contexts import load_catalog
from tests.evaluation.made_tasks import make_task
from tests.file_server import running_server
from tests.project import ROOT, Done, Project, make_project
from tests.wikimedia.made_mirrors import add_item
from tests.wikimedia.made_news import article, write_news

LANGUAGES = ("ar", "de", "en", "ja")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, Done]:
    """A project in which `mewsc16` has run on the sample Wikinews."""
    project = make_project(tmp_path_factory.mktemp("mewsc16"))
    return project, project.run("mewsc16", mewsc16__languages=" ".join(LANGUAGES), mewsc16__workers=1)


def truth(project: Project, language: str) -> dict[int, tuple[str, str]]:
    """Return the expected sentences of the sample by page ids, without small classes."""
    (path,) = (project.folder / "data" / "01_raw" / "sample").glob("*/news_truth.parquet")
    rows = [row for row in pq.read_table(path).to_pylist() if row["language"] == language and not row["dropped"]]
    sizes = Counter(row["topic"] for row in rows)
    assert min(sizes.values()) < 10
    return {row["page_id"]: (row["topic"], row["first_sentence"]) for row in rows if sizes[row["topic"]] >= 10}


def test_the_data_set_has_the_expected_sentences(made: tuple[Project, Done]) -> None:
    folder = made[0].latest("05_model_input/mewsc16")
    for language in LANGUAGES:
        rows = pq.read_table(folder / f"{language}.parquet").to_pylist()
        found = {row["page_id"]: (row["category"], row["sentence"]) for row in rows}
        assert found == truth(made[0], language)
        assert {row["dump_date"] for row in rows} == {"20240101"}
        lines = (folder / f"{language}_sentences.txt").read_text(encoding="utf-8").splitlines()
        assert lines == [row["sentence"] for row in rows]


def test_the_statistics_are_compared_with_the_papers(made: tuple[Project, Done]) -> None:
    project, done = made
    table = pd.read_parquet(project.latest("08_reporting/mewsc16/statistics.parquet")).set_index("language")
    assert list(table.index) == [*LANGUAGES, "total"]
    kept = truth(project, "de")
    topics = len({topic for topic, _ in kept.values()})
    assert list(table.loc["de"]) == [len(kept), 6398, len(kept) - 6398, topics, 8, topics - 8]
    assert "beside the paper's Table 13" in done.stderr


@pytest.mark.slow
def test_dumps_of_the_archive_where_the_mirror_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bare: Project
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    dump = write_news(tmp_path / "dumps", *(article(number) for number in range(1, 12))).read_bytes()
    with running_server() as server:
        server.files["/other/mediawiki_content_current/enwikinews/README"] = b"closed"
        name = "enwikinews-20240501-pages-articles-multistream.xml.bz2"
        add_item(server, "enwikinews", "20240501", {name: dump})
        sources = {"mewsc16__wikinews": server.address, "mewsc16__archive": f"{server.address}/download"}
        catalog = load_catalog(bare, mewsc16__languages="en", **sources)
        acquire = catalog.load("params:acquire").model_copy(update={"download_folder": tmp_path / "made"})
        (row,) = locate_wikinews(catalog.load("params:mewsc16"), acquire)["wikinews"]
    assert row["dump_date"] == "20240501"
    assert Path(row["path"]).read_bytes() == dump


@pytest.mark.slow
def test_published_files_are_cleaned_without_dumps(test_data: Path, tmp_path: Path, bare: Project) -> None:
    """The result is scored by its split."""
    for path in (test_data / "eval" / "mewsc16").glob("sv_*.txt"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    catalog = load_catalog(bare, mewsc16__clean=str(tmp_path))
    options = catalog.load("params:mewsc16").model_copy(update={"work": tmp_path / "work"})
    folder, counts = make_mewsc16(locate_wikinews(options, catalog.load("params:acquire")), options)
    removed = {reason: number for reason, number in counts["sv"]["removed"].items() if number}
    assert removed == {"markup": 331, "abbreviation": 6, "small_class": 13}
    assert counts["sv"]["licences"] == {"unknown": 234}
    assert counts["sv"]["splits"]["small"] == pq.read_table(folder / "sv_small.parquet").num_rows
    ((file,),) = make_task("mewsc16", folder, split="small", subsets=("sv",)).files().values()
    assert file == folder / "sv_small.parquet"
    release_work()


def test_topics_and_classes_are_those_of_the_released_data_set(test_data: Path) -> None:
    """The released labels are the configured categories, none of them with fewer pages than the limit."""
    folder = test_data / "eval" / "mewsc16"
    published = json.loads((folder / "en_cat_to_lang_cat.json").read_text(encoding="utf-8"))
    conf = (ROOT / "conf" / "base" / "parameters" / "mewsc16.yml").read_text(encoding="utf-8")
    options = yaml.safe_load(conf)["mewsc16"]
    named = {topic: {**names, "en": topic} for topic, names in published.items()}
    assert options["topics"] == {
        topic: {language: names[language] for language in options["languages"] if language in names}
        for topic, names in named.items()
    }
    paths = sorted(folder.glob("*_categories.txt"))
    assert paths
    for path in paths:
        language = path.name.partition("_")[0]
        labels = Counter(path.read_text(encoding="utf-8").strip().split("\n"))
        assert labels.keys() <= {names.get(language) for names in options["topics"].values()}
        assert len(labels) == options["published"][language]["label_types"]
        assert min(labels.values()) >= NewsOptions.model_fields["min_class_size"].default
