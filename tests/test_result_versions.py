"""A version number that is raised makes stale what it versions, and nothing else."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import ibis
import pandas as pd
import pytest

import ease
from ease.encoders import encoding
from ease.encoders.options import EncodingOptions
from ease.entities import released
from ease.evaluation import score_cache
from ease.pipelines.mine_bitext import nodes as mine_bitext
from ease.pipelines.options import TextOptions
from ease.sample import wiki
from ease.sample.news import writer
from ease.sample.options import SampleNewsOptions, SampleOptions
from ease.training import checkpoints
from ease.wikimedia import wikidata, wikipedia
from ease.wikimedia.dumps.files import find_dumps
from tests.encoders.tiny import tiny_encoder
from tests.made_pairs import make_records, write_lines
from tests.training.tiny_training import tiny_job, write_files
from tests.wikimedia import made_tables
from tests.wikimedia.made_dumps import ONE, make_export, make_page
from tests.wikimedia.wikidata.test_truthy import is_a

TEXTS = [f"A sentence about city {number}." for number in range(20)]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file of every kind that is parsed into parts, and the files of a tiny training."""
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "enwiki-20240101-pages-articles.xml").write_text(make_export([make_page(1, "Rome", "A city.")]))
    (folder / "wikidata.json").write_text('[\n{"type":"item","id":"Q1","claims":{},"sitelinks":{}}\n]\n')
    (folder / "truthy.nt").write_text(f"{is_a(1, 2)}\n")
    made_tables.write(folder, made_tables.dump(made_tables.insert(made_tables.item(1, 5))))
    write_lines(folder / "released.jsonl", make_records(4))
    write_files(folder)
    return folder


def bitext_key(encode: encoding.Encoding, folder: Path) -> str:
    columns = ("row", "page_id", "page_title", "revision_id")
    rows = [
        {**dict.fromkeys(columns, number), "language": language, "text": f"Rome {number}"}
        for number, language in enumerate(("de", "en"))
    ]
    sentences = ibis.memtable(pd.DataFrame(rows))
    candidates = ibis.memtable(pd.DataFrame([{"left_language": "de", "right_language": "en", "left": 0, "right": 1}]))
    mining = mine_bitext.BitextMiner(sentences, candidates, encode, mine_bitext.BitextOptions(), TextOptions(), folder)
    return mining.key(("de", "en"), "cc-by-sa-4.0")


def cache_keys(inputs: Path, folder: Path) -> dict[str, object]:
    """Return what the reuse of each kind of result depends on: the names of its parts, its folder or file, or a hash.

    `folder` is a new folder, in which the parts are made.
    """
    dumps = find_dumps(inputs / "enwiki-20240101-pages-articles.xml", ["en"])
    wikipedia.ingest_wikipedia(dumps, ONE, folder / "wikipedia")
    wikidata.ingest_wikidata(inputs / "wikidata.json", ["en"], ONE, folder / "wikidata")
    wikidata.ingest_truthy(inputs / "truthy.nt", ONE, folder / "truthy")
    wikidata.ingest_page_props(wikidata.find_page_props([inputs], {"en": None}), ONE, folder / "page_props")
    released.ingest_released([inputs / "released.jsonl"], "en", folder / "released")
    parts = {
        place.name: sorted(str(file.parent.relative_to(place)) for file in place.rglob("*.parquet"))
        for place in folder.iterdir()
    }
    assert all(parts.values())
    encode = encoding.encode_with(tiny_encoder(TEXTS), EncodingOptions(cache=folder / "embeddings"))
    (cache,) = (folder / "embeddings").glob("*.sqlite")
    return {
        **parts,
        "sample wiki": wiki.write_sample(folder, ["en"], SampleOptions()).folder.name,
        "sample news": writer.write_sample_news(folder, ["en"], SampleNewsOptions()).folder.name,
        "training": checkpoints.fingerprint_of(tiny_job(inputs, folder / "job"), 1),
        "embeddings": cache.name,
        "bitext": bitext_key(encode, folder),
        "scores": score_cache.items_file(folder, "stsb", {}).name,
    }


@pytest.mark.parametrize(
    ("module", "number", "stale"),
    [
        (wikipedia, "WIKIPEDIA_PARTS_VERSION", {"wikipedia"}),
        (wikidata, "WIKIDATA_PARTS_VERSION", {"wikidata"}),
        (wikidata, "TRUTHY_PARTS_VERSION", {"truthy"}),
        (wikidata, "PAGE_PROPS_PARTS_VERSION", {"page_props"}),
        (released, "RELEASED_PARTS_VERSION", {"released"}),
        (wiki, "SAMPLE_WIKI_VERSION", {"sample wiki"}),
        (writer, "SAMPLE_NEWS_VERSION", {"sample news"}),
        (checkpoints, "TRAINING_VERSION", {"training"}),
        # Sentences are mined by their embeddings. Scores are kept in a folder named by the same hash as the embeddings.
        (encoding, "EMBEDDINGS_VERSION", {"embeddings", "bitext"}),
        (mine_bitext, "BITEXT_VERSION", {"bitext"}),
        (score_cache, "SCORES_VERSION", {"scores"}),
        (ease, "__version__", {"scores"}),
    ],
)
def test_a_raised_number_makes_stale_only_what_it_versions(
    module: ModuleType,
    number: str,
    stale: set[str],
    inputs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for sample in (wiki, writer):  # the files take seconds to write, and only the folder's name matters
        monkeypatch.setattr(sample, "_write_files", lambda *_, **__: None)
    before = cache_keys(inputs, tmp_path / "before")
    value = getattr(module, number)
    monkeypatch.setattr(module, number, f"{value}.1" if isinstance(value, str) else value + 1)
    after = cache_keys(inputs, tmp_path / "after")
    assert {name for name in before if before[name] != after[name]} == stale
