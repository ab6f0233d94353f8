"""From dump files to whole parts of the tables."""

from __future__ import annotations

import bz2
import errno
import logging
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from ease.errors import EaseError
from ease.wikimedia.articles import REDIRECTS, SENTENCES, split_article
from ease.wikimedia.dumps import DumpFile, find_dumps
from ease.wikimedia.ingestion import IngestOptions, WikipediaParts, ingest_wikipedia
from ease.wikimedia.mapping import spark_map
from ease.wikimedia.sentences import SentenceSplitter
from ease.wikimedia.wikitext import Article, Link
from tests.wikimedia.made_dumps import article, as_dump, as_streams, cut, make_export, make_page

ONE = IngestOptions(workers=1)


def rows(paths: list[Path]) -> list[dict[str, Any]]:
    return [row for path in paths for row in pq.read_table(path).to_pylist()]


def made(folder: Path, *pages: str, language: str = "en", name: str = "made") -> DumpFile:
    """A plain dump of pages."""
    path = folder / f"{language}wiki-{name}-pages-articles.xml"
    return as_dump(path, make_export(pages, language).encode(), language)


def contents(parts: WikipediaParts) -> list[bytes]:
    return [path.read_bytes() for path in (*parts.sentences, *parts.redirects)]


@pytest.fixture
def streams_dump(tmp_path: Path) -> DumpFile:
    """A bz2 file of many streams that end anywhere, and many shards."""
    export = make_export([article(number) for number in range(1, 150)]).encode()
    return as_dump(tmp_path / "enwiki-1-pages-articles.xml.bz2", as_streams(cut(export, 2000)))


def test_the_rows_of_an_article(tmp_path: Path) -> None:
    text = "It is in [[Germany|the country]]. See 😀 [[berlin]]s and [[Paris#River|Paris]].\n\nNo link."
    parts = ingest_wikipedia([made(tmp_path, make_page(5, "the_title", text))], ONE, tmp_path / "parts")
    assert [pq.read_schema(path) for path in (*parts.sentences, *parts.redirects)] == [SENTENCES, REDIRECTS]
    found = rows(parts.sentences)
    assert [(row["sentence_index"], row["text"]) for row in found] == [
        (0, "It is in the country."),
        (1, "See 😀 berlins and Paris."),
        (2, "No link."),
    ]
    links = [
        [(row["text"][link["start"] : link["end"]], link["target"]) for link in row["links"]] for row in found
    ]
    assert links == [[("the country", "Germany")], [("berlins", "Berlin"), ("Paris", "Paris")], []]
    assert {(row["language"], row["page_id"], row["page_title"], row["revision_id"]) for row in found} == {
        ("en", 5, "The title", 1005)
    }


def test_every_reason_to_skip_is_counted(tmp_path: Path) -> None:
    pages = [
        article(1),
        make_page(2, "Old", "#REDIRECT [[new one]]", redirect="New one"),
        make_page(3, "Older", "#redirect [[Old#part]]"),
        make_page(4, "Away", "#REDIRECT [[File:A.jpg]]", redirect="File:A.jpg"),
        make_page(5, "Berkas:A.jpg", "A file.", namespace=6),
        make_page(6, "Empty", " \n"),
        make_page(7, "Data", "{}", model="json"),
        make_page(8, "Template only", "{{box}}"),
        make_page(9, "Large", "x" * 5000),
        make_page(10, "Bad\x02title", "x"),
        make_page(11, "Broken", "x").replace("</text>", ""),
    ]
    options = IngestOptions(workers=1, max_page_bytes=4000)
    parts = ingest_wikipedia([made(tmp_path, *pages)], options, tmp_path / "parts")
    counts = parts.counts["en"]
    assert counts["skipped"] == {
        **{"bad_title": 1, "empty": 1, "malformed": 1, "no_sentences": 1, "not_wikitext": 1},
        **{"other_namespace": 1, "redirect": 3, "too_large": 1},
    }
    assert (counts["pages"], counts["articles"], counts["redirects"]) == (11, 1, 2)
    assert counts["pages"] == counts["articles"] + sum(counts["skipped"].values())
    assert (counts["sentences"], counts["links"]) == (len(rows(parts.sentences)), 2)
    assert [(row["source_title"], row["target_title"]) for row in rows(parts.redirects)] == [
        *(("Old", "New one"), ("Older", "Old"))
    ]
    assert any("'Large' is skipped: it has more than 4,000 bytes" in fault for fault in counts["faults"])


def test_dump_dates_are_kept_for_attribution(tmp_path: Path) -> None:
    made(tmp_path, article(1), name="20240320")
    (counts,) = ingest_wikipedia(find_dumps(tmp_path, ["en"]), ONE, tmp_path / "parts").counts.values()
    name = "enwiki-20240320-pages-articles.xml"
    assert counts["dumps"] == [{"file": name, "date": "20240320", "truncated": False, "used": True}]


def test_the_real_slices(test_data: Path, tmp_path: Path) -> None:
    dumps = find_dumps(test_data / "dumps", ["it", "pt", "ko", "tr"])
    parts = ingest_wikipedia(dumps, ONE, tmp_path)
    assert {language: counts["articles"] for language, counts in parts.counts.items()} == {
        **{"it": 607, "pt": 1, "ko": 1, "tr": 1}
    }
    # One Italian article is a template alone.
    assert parts.counts["it"]["skipped"] == {"no_sentences": 1, "other_namespace": 75, "redirect": 64}
    assert list(dict.fromkeys(row["language"] for row in rows(parts.sentences))) == ["it", "pt", "ko", "tr"]
    for row in rows(parts.sentences):
        assert row["text"] == row["text"].strip() != ""
        assert "\n" not in row["text"]
        for link in row["links"]:
            assert 0 <= link["start"] < link["end"] <= len(row["text"])
    first = next(row for row in rows(parts.sentences) if row["page_title"] == "Armonium")
    assert first["text"].startswith("L'armonium o armonio (in francese, harmonium) è uno strumento musicale")
    surfaces = [(first["text"][link["start"] : link["end"]], link["target"]) for link in first["links"]]
    assert surfaces[0] == ("strumento musicale", "Strumenti musicali")


def test_an_article_of_two_files_is_taken_from_the_first(test_data: Path, tmp_path: Path) -> None:
    """Both English slices hold Arthur Schopenhauer and Atlantic Ocean."""
    dumps = find_dumps(test_data / "dumps", ["en"])
    parts = ingest_wikipedia(dumps, ONE, tmp_path)
    found = rows(parts.sentences)
    keys = [(row["page_id"], row["sentence_index"]) for row in found]
    assert len(keys) == len(set(keys))
    assert len({row["revision_id"] for row in found if row["page_title"] == "Atlantic Ocean"}) == 1
    counts = parts.counts["en"]
    assert counts["skipped"]["repeated"] == 2
    assert counts["articles"] == len({row["page_id"] for row in found}) == 24 + 106 - 2
    assert counts["sentences"] == len(found)
    assert counts["links"] == sum(len(row["links"]) for row in found)


def test_the_same_file_under_two_names_is_taken_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    dumps = [made(tmp_path, article(1), name=name) for name in ("one", "two")]
    parts = ingest_wikipedia(dumps, ONE, tmp_path / "parts")
    assert len(parts.sentences) == 1
    assert "enwiki-two-pages-articles.xml is the same as" in caplog.text


def test_shards_and_workers_do_not_change_the_rows(tmp_path: Path, streams_dump: DumpFile) -> None:
    as_one = ingest_wikipedia([streams_dump], ONE, tmp_path / "one")
    split = {"bytes_per_shard": 1500}
    sharded = ingest_wikipedia([streams_dump], IngestOptions(workers=1, **split), tmp_path / "sharded")
    parallel = ingest_wikipedia([streams_dump], IngestOptions(workers=2, **split), tmp_path / "parallel")
    assert len(sharded.sentences) > 3
    assert rows(sharded.sentences) == rows(as_one.sentences)
    assert contents(parallel) == contents(sharded)
    assert [path.relative_to(tmp_path / "parallel") for path in parallel.sentences] == [
        path.relative_to(tmp_path / "sharded") for path in sharded.sentences
    ]
    assert as_one.counts == sharded.counts == parallel.counts


@pytest.mark.spark
def test_spark_gives_the_same_rows(
    tmp_path: Path, streams_dump: DumpFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql = pytest.importorskip("pyspark.sql")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    options = IngestOptions(workers=1, bytes_per_shard=5000)
    broken = as_dump(
        tmp_path / "dewiki-1-pages-articles.xml.bz2", streams_dump.path.read_bytes() + b"garbage", "de"
    )
    session = sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        on_spark = ingest_wikipedia(
            [streams_dump], options, tmp_path / "spark", spark_map(session.sparkContext)
        )
        with pytest.raises(
            EaseError, match=r"^\S+dewiki-1-pages-articles.xml.bz2 has other data after"
        ) as caught:
            ingest_wikipedia([broken], options, tmp_path / "spark", spark_map(session.sparkContext))
        assert "\n" not in str(caught.value)
    finally:
        session.stop()
    assert contents(on_spark) == contents(ingest_wikipedia([streams_dump], options, tmp_path / "here"))


def test_an_unchanged_shard_is_parsed_once(tmp_path: Path) -> None:
    dump = made(tmp_path, article(1))
    first = ingest_wikipedia([dump], ONE, tmp_path / "parts")
    written = first.sentences[0].stat().st_mtime_ns
    moved = DumpFile(
        dump.path.rename(tmp_path / "enwiki-moved-pages-articles.xml"), "en", "20240101", "plain"
    )
    again = ingest_wikipedia([moved], ONE, tmp_path / "parts")
    assert again.sentences == first.sentences
    assert again.sentences[0].stat().st_mtime_ns == written
    for change in ({"splitter": "icu"}, {"max_page_bytes": 10_000}):
        other = ingest_wikipedia([moved], IngestOptions(workers=1, **change), tmp_path / "parts")
        assert other.sentences != first.sentences
    assert (
        ingest_wikipedia([made(tmp_path, article(2))], ONE, tmp_path / "parts").sentences != first.sentences
    )


@pytest.mark.parametrize("workers", [1, 2])
def test_a_truncated_file_is_kept_or_dropped(
    tmp_path: Path, streams_dump: DumpFile, workers: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    content = streams_dump.path.read_bytes()
    cut_dump = as_dump(tmp_path / "enwiki-cut-pages-articles.xml.bz2", content[: len(content) * 2 // 3])
    sound = made(tmp_path, article(1000))
    options = IngestOptions(workers=workers, bytes_per_shard=1500)
    kept = ingest_wikipedia([cut_dump, sound], options, tmp_path / "parts")
    assert (
        f"{cut_dump.path} is truncated: it ends before its end; what was read before is kept" in caplog.text
    )
    pages = {row["page_id"] for row in rows(kept.sentences)}
    assert pages == {*range(1, max(pages - {1000}) + 1), 1000}
    drop = options.model_copy(update={"truncated": "drop"})
    dropped = ingest_wikipedia([cut_dump, sound], drop, tmp_path / "parts")
    assert {row["page_id"] for row in rows(dropped.sentences)} == {1000}
    assert [(file["truncated"], file["used"]) for file in dropped.counts["en"]["dumps"]] == [
        (True, False),
        (False, True),
    ]
    with pytest.raises(EaseError, match="Nothing is left of language en: every dump file of it is truncated"):
        ingest_wikipedia([cut_dump], drop, tmp_path / "parts")


def test_a_broken_file_is_named_and_the_others_are_kept(tmp_path: Path) -> None:
    good = made(tmp_path, article(1), language="de")
    content = as_streams([make_export([article(1)]).encode()])
    bad = as_dump(tmp_path / "enwiki-1-pages-articles.xml.bz2", content + b"garbage")
    for workers in (1, 2):
        options = IngestOptions(workers=workers)
        with pytest.raises(
            EaseError, match="enwiki-1-pages-articles.xml.bz2 has other data after its last bz2 stream"
        ):
            ingest_wikipedia([good, bad], options, tmp_path / "parts")
    assert [path.name for path in (tmp_path / "parts" / "en").iterdir()] == []
    assert len(list((tmp_path / "parts" / "de").iterdir())) == 1


KILLED = """
import sys
from pathlib import Path
from ease.wikimedia.dumps import find_dumps
from ease.wikimedia.ingestion import IngestOptions, ingest_wikipedia
ingest_wikipedia(find_dumps(sys.argv[1], ["en"]), IngestOptions(workers=1), Path(sys.argv[2]))
"""


def test_after_a_kill_in_the_middle_of_writing_the_next_run_goes_on(test_data: Path, tmp_path: Path) -> None:
    source = next((test_data / "dumps").rglob("enwiki-shortened-*.bz2"))
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(source), str(tmp_path)])
    deadline = time.monotonic() + 60
    while not list(tmp_path.rglob("*.parquet")) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    (half_written,) = (tmp_path / "en").iterdir()
    assert half_written.name.startswith(".")
    parts = ingest_wikipedia(find_dumps(source, ["en"]), ONE, tmp_path)
    assert parts.counts["en"]["articles"] == 106
    assert [path.parent for path in parts.sentences] == list((tmp_path / "en").iterdir())


def test_parts_that_another_run_is_writing_are_left_alone(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from ease.wikimedia.parts import whole_folder\n"
        "with whole_folder(Path(sys.argv[1])): print('locked', flush=True); sys.stdin.read()"
    )
    arguments = [sys.executable, "-c", code, str(tmp_path / "parts/en/key")]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"locked\n"
        ingest_wikipedia([made(tmp_path, article(1))], ONE, tmp_path / "parts")
        assert len(list((tmp_path / "parts/en").glob(".key.*"))) == 1
        other.communicate(b"")
    assert (tmp_path / "parts/en/key").is_dir()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 kB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("mounting a small file system needs more rights")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_named_and_nothing_half_written_stays(test_data: Path, small_disk: Path) -> None:
    dumps = [
        *find_dumps(test_data / "dumps", ["tr"]),
        *find_dumps(test_data / "dumps" / "wikipedia" / "enwiki-mini*", ["en"]),
    ]
    with pytest.raises(
        EaseError, match=rf"No space left for {small_disk}/en \(No space left on device\): free some"
    ):
        ingest_wikipedia(dumps, ONE, small_disk)
    assert list((small_disk / "en").iterdir()) == []
    assert ingest_wikipedia(dumps[:1], ONE, small_disk).counts["tr"]["articles"] == 1


def test_a_limit_on_file_sizes_is_a_full_disk(test_data: Path, tmp_path: Path) -> None:
    dumps = find_dumps(f"{test_data}/dumps/wikipedia/enwiki-mini*", ["en"])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        with pytest.raises(
            EaseError, match=rf"No space left for {tmp_path}/en \({os.strerror(errno.EFBIG)}\)"
        ):
            ingest_wikipedia(dumps, ONE, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert ingest_wikipedia(dumps, ONE, tmp_path).counts["en"]["articles"] == 24


def test_an_unwritable_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    dump = made(tmp_path, article(1))
    for folder in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/parts")):
        with pytest.raises(EaseError, match=rf"Cannot write to {folder}/en \(.*\): choose a folder"):
            ingest_wikipedia([dump], ONE, folder)


def test_a_fault_of_the_code_names_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("ease.wikimedia.articles.parse_wikitext", fail)
    with pytest.raises(RuntimeError, match="a bug") as caught:
        ingest_wikipedia([made(tmp_path, article(7))], ONE, tmp_path / "parts")
    assert "while parsing page 'Article 7' (7) of" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"splitter": "punkt"}, "splitter.*'polyglot' or 'icu'"),
        ({"truncated": "maybe"}, "truncated.*'keep' or 'drop'"),
        ({"workers": 0}, "workers.*greater than or equal to 1"),
        ({"max_page_bytes": -1}, "max_page_bytes"),
        ({"shards": 3}, "shards.*not permitted"),
    ],
)
def test_wrong_options_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=f"(?s){message}"):
        IngestOptions(**wrong)


def split(text: str, *links: Link) -> tuple[list[tuple[str, list[str]]], dict[str, int]]:
    sentences, counts = split_article(Article(text, list(links)), SentenceSplitter("en"))
    return [(text[one.start : one.end], [link.target for link in one.links]) for one in sentences], dict(
        counts
    )


def test_a_boundary_inside_a_link_joins_the_sentences() -> None:
    text = "It is by Dr. No. It ended."
    assert split(text)[0] == [("It is by Dr.", []), ("No.", []), ("It ended.", [])]
    found, counts = split(text, Link(9, 15, "Dr. No"), Link(len(text) - 6, len(text), "End"))
    assert found == [("It is by Dr. No.", ["Dr. No"]), ("It ended.", ["End"])]
    assert counts == {"boundaries_in_links": 1}


def test_a_link_over_two_lines_is_left_out() -> None:
    found, counts = split("First line\nsecond line", Link(6, 14, "Line"), Link(0, 5, "First"))
    assert found == [("First line", ["First"]), ("second line", [])]
    assert counts["links_across_lines"] == 1


def test_the_white_space_around_a_surface_is_cut() -> None:
    text = "One.  Two. "
    sentences, _ = split_article(
        Article(text, [Link(4, 11, "Two"), Link(0, 6, "One")]), SentenceSplitter("en")
    )
    assert [(one.start, one.end, one.links) for one in sentences] == [
        *((0, 4, [Link(0, 4, "One")]), (6, 10, [Link(0, 4, "Two")]))
    ]


def test_a_link_outside_any_sentence_is_left_out() -> None:
    assert split("One. \n\n Two.", Link(5, 6, "Space")) == (
        [("One.", []), ("Two.", [])],
        {"boundaries_in_links": 0, "links_across_lines": 1},
    )


def test_bz2_of_the_sample_kind_is_read(tmp_path: Path) -> None:
    content = bz2.compress(make_export([article(3)], language="ja", case="case-sensitive").encode())
    dump = as_dump(tmp_path / "jawiki-1-pages-articles-multistream.xml.bz2", content, "ja")
    assert ingest_wikipedia([dump], ONE, tmp_path / "parts").counts["ja"]["links"] == 2
