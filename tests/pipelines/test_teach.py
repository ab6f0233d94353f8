"""`kedro run --pipelines=teach` teaches an encoder a language, and refuses what cannot work before it costs much."""

from __future__ import annotations

import logging
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sentence_transformers import SentenceTransformer

from ease.encoders.encoder import load_encoder, save_encoder
from ease.errors import EaseError
from ease.evaluation.sets import locate_sets
from ease.evaluation.tasks import build_tasks, package_tasks
from ease.io.parquet import read_parquet
from ease.options import Rows
from ease.pipelines.ingest.nodes import make_links, parse_wikipedia, read_wikidata
from ease.pipelines.located_dumps import has_items
from ease.pipelines.options import AcquireOptions
from ease.pipelines.teach.checks import check_taught_sources
from ease.pipelines.teach.country_names import write_country_names
from ease.pipelines.teach.knowledge import known_tasks, retention_tasks, score_retention, share_kept
from ease.pipelines.teach.nodes import build_start, choose_taught_encoder, locate_taught_dumps, locate_taught_sets
from ease.pipelines.teach.page import describe_training
from ease.pipelines.teach.prompts import choose_prompt
from ease.reporting.teaching import explain_start
from ease.wikimedia.wikidata import SITELINKS
from ease.wikimedia.wikipedia import SENTENCES
from tests.contexts import load_catalog
from tests.encoders.tiny import tiny_encoder
from tests.project import Project, make_project
from tests.wikimedia.made_dumps import made as write_dump
from tests.wikimedia.made_dumps import make_export, make_page


@pytest.fixture(scope="module")
def taught(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with a sample, in which Esperanto was taught to the sample's own start."""
    made = make_project(tmp_path_factory.mktemp("taught"))
    shutil.copytree(project.folder / "data" / "01_raw" / "sample", made.folder / "data" / "01_raw" / "sample")
    made.log.write_text(made.run("teach", teach__accept="true").stderr, encoding="utf-8")
    return made


@pytest.mark.slow
def test_a_page_shows_what_the_taught_encoder_gained_and_lost(taught: Project) -> None:
    dumps = taught.json("01_raw/teach/dumps.json")
    assert [table["language"] for table in dumps["page_props"]] == ["eo", "en"]
    log = taught.log.read_text("utf-8")
    assert "Teaching eo beside its companions en" in log
    assert "`min_link_count` is 0: the smallest language has" in log
    assert "No teacher: the starting encoder has random weights" in log
    page = (taught.folder / "data/08_reporting/teach/latest_teaching.md").read_text("utf-8")
    assert page.startswith("# Esperanto (eo): what the encoder gained and lost")
    assert "- Companions: en" in page
    scores = pq.read_table(taught.latest("08_reporting/teach/teaching_scores.parquet")).to_pandas()
    kinds = scores[scores.task == "sample_parallel"].set_index("subset")["kind"]
    assert kinds["eo-en"] == "new"
    assert set(kinds.drop("eo-en")) == {"old"}
    assert (scores.gain == scores.after - scores.before).all()
    model = taught.folder / "data/06_models/teach/ease_plus/latest"
    assert SentenceTransformer(str(model), device="cpu").encode(["Tokio estas urbo."]).shape == (1, 32)
    card = (model / "README.md").read_text("utf-8")
    assert "- eo" in card
    assert "sample_parallel" in card
    assert "Training started from random weights, trained by masked-language modelling first." in card
    assert "Not held out, since it chose the checkpoint: `audit/" in card


@pytest.mark.slow
def test_a_given_start_is_the_teacher(taught: Project, tmp_path: Path) -> None:
    project = taught.copy(tmp_path / "copy")
    shutil.copytree(taught.folder / "data/06_models/teach/ease_plus/latest", project.folder / "start")
    latest = project.folder / "data/06_models/teach/ease_plus/latest"
    before = latest.resolve()
    done = project.run("teach", teach__encoder="start", teach__ease_plus__training__learning_rate=1e-12)
    history = project.json("06_models/teach/ease_plus/history.json")
    assert "teacher_loss" in {row["name"] for row in history}
    page = (project.folder / "data/08_reporting/teach/latest_teaching.md").read_text("utf-8")
    assert "- Start: start" in page
    kept = (
        "**No evaluation was above the starting encoder, so the model is that encoder, unchanged (`latest` links to it"
    )
    assert kept in page
    assert latest.resolve() == before, "the link still leads to the model that was accepted"
    assert len(project.versions("06_models/teach/ease_plus/encoder")) == 2
    assert "The starting encoder is the teacher of the sentences of en" in done.stderr


def test_an_encoder_that_does_not_know_the_words_is_refused(bare: Project, tmp_path: Path) -> None:
    """The tokenizer knows the Latin letters of English alone."""
    texts = ["The capital of Japan is Tokyo.", "Berlin is a city with five big zoos.", "A quick jump"] * 20
    english = tmp_path / "english"
    save_encoder(tiny_encoder(texts), english)
    catalog = load_catalog(bare, teach__language="ru", teach__encoder=str(english))
    names = ("setting", "mlm", "language", "max_unknown_words")
    setting, recipe, *given = (catalog.load(f"params:teach.{name}") for name in names)
    sentences = {"language": ["ru", "en"], "page_id": [1, 2], "sentence_index": [0, 0]}
    table = ibis.memtable({**sentences, "text": ["Берлин — большой город.", texts[1]]})
    remedy = "`teach.max_unknown_words` 5%: choose one that knows the script"
    start = {"encoder": str(english), "scores": []}
    with pytest.raises(EaseError, match=rf"gives unknown tokens for .*% of the words of ru \(such as .*{remedy}"):
        build_start(table, table, {}, {}, start, {}, recipe, setting, *[None] * 3, str(tmp_path), *given)


@pytest.mark.parametrize(
    ("left", "right", "default"),
    [
        # The prompt moves the end of the sentences, which misleads, beyond the maximum number of tokens.
        ("{0} {1} {1}", "{0} {2} {2}", "query"),
        ("the city was {0}", "the town was {0}", None),
    ],
)
def test_the_better_prompt_is_measured(
    left: str, right: str, default: str | None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    names = ["rome", "oslo", "bern", "kyiv", "riga"]
    triples = list(zip(names, names[1:] + names[:1], names[2:] + names[:2], strict=True))
    texts = [[side.format(*triple) for triple in triples] for side in (left, right)]
    encoder = tiny_encoder([*texts[0], *texts[1], "say say"] * 5, vocabulary_size=400)
    encoder.prompts = {"query": "say say say say say ", "document": ""}
    encoder.max_seq_length = 8
    save_encoder(encoder, tmp_path / "encoder")
    for name, lines in zip(("left", "right"), texts, strict=True):
        (tmp_path / f"{name}.txt").write_text("\n".join(lines), encoding="utf-8")
    tasks = package_tasks({"parallel_files": {"sets": {"mine": {"file": ["left.txt", "right.txt"]}}}})
    tasks = {"parallel_files": {**tasks["parallel_files"], "path": str(tmp_path), "subsets": ["mine"]}}
    located = {name: place.model_dump(mode="json") for name, place in locate_sets(build_tasks(tasks)).items()}
    with caplog.at_level(logging.INFO):
        choose_prompt(tmp_path / "encoder", ["parallel_files:mine"], located, tasks)
    assert load_encoder(str(tmp_path / "encoder")).default_prompt_name == default
    assert "Prompt before sentences, by parallel_files:mine: none " in caplog.text


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"language": "xq"}, "Unknown language 'xq' in `teach.language`"),
        ({"language": "br"}, "The sample wiki has no br (`teach.language`), only ar ca"),
        ({"companions": "eo en"}, "`teach.companions` has eo, the language itself: remove it"),
    ],
)
def test_wrong_languages_are_refused(parameters: dict[str, str], message: str) -> None:
    given = {"language": "eo", "companions": "en", **parameters}
    acquire = AcquireOptions.model_construct(wikipedia="sample:")
    with pytest.raises(EaseError, match=re.escape(message)):
        check_taught_sources(given["language"], given["companions"], acquire, ["eo", "en"])


def test_dumps_without_page_props_are_taught_by_a_table_of_titles(bare: Project, tmp_path: Path) -> None:
    pages = {
        "eo": [make_page(1, "Varsovio", "Urbo de [[Pollando]]."), make_page(2, "Pollando", "Lando.")],
        "en": [make_page(1, "Warsaw", "A city in [[poland]]."), make_page(2, "Poland", "A country.")],
    }
    for language, own in pages.items():
        place = tmp_path / f"{language}wiki-20240101-pages-articles.xml"
        place.write_text(make_export(own, language), encoding="utf-8")
    titles = tmp_path / "titles.tsv"
    titles.write_text("eo\ten\npollando\tPoland\n", encoding="utf-8")
    given = {"acquire__wikipedia": str(tmp_path), "acquire__titles": str(titles), "teach__companions": "en"}
    catalog = load_catalog(bare, **given)
    acquire = AcquireOptions.model_validate(catalog.load("params:acquire"))
    setting = catalog.load("params:teach.setting")
    check_taught_sources("eo", "en", acquire, ["eo", "en"])
    dumps = locate_taught_dumps(acquire, setting, "eo", "en")
    assert (dumps["page_props"], dumps["wikidata"], has_items(dumps)) == ([], None, True)
    options = catalog.load("params:ingest").model_copy(update={"folder": tmp_path / "parts", "workers": 1})
    sentences, redirects, page_parts, _ = parse_wikipedia(dumps, options, setting, "duckdb")
    connection = ibis.duckdb.connect()
    tables = [read_parquet(connection, parts) for parts in (sentences, redirects, page_parts)]
    sitelinks, _, counts = read_wikidata(dumps, tables[2], options, setting, "duckdb")
    links = make_links(tables[0], tables[1], read_parquet(connection, sitelinks), dumps, setting).to_pandas()
    assert sorted(links["language"]) == ["en", "eo"]
    assert links["entity"].nunique() == 1, "both languages link to one item"
    assert counts["sitelinks"] == {"eo": 1, "en": 1}
    titles.write_text("de\ten\nPolen\tPoland\n", encoding="utf-8")
    with pytest.raises(EaseError, match="its header names en of the languages eo, en"):
        check_taught_sources("eo", "en", acquire, ["eo", "en"])


def test_dumps_without_page_props_are_refused(tmp_path: Path) -> None:
    for language in ("eo", "en"):
        write_dump(tmp_path, language=language)
    acquire = AcquireOptions.model_construct(wikipedia=str(tmp_path))
    with pytest.raises(EaseError, match="There is no page_props table of eo, en in .*: `teach` reads from it"):
        check_taught_sources("eo", "en", acquire, ["eo", "en"])
    with pytest.raises(EaseError, match="`teach.companions` chooses the languages beside eo, here fr"):
        check_taught_sources("eo", "fr", acquire, ["eo", "fr"])
    with pytest.raises(EaseError, match="no dump of fr.*the languages beside eo, by default fr"):
        check_taught_sources("eo", None, acquire, ["eo", "fr"])


def test_the_start_is_the_candidate_that_finds_most_translations(tmp_path: Path) -> None:
    """One candidate has word vectors of both languages, one random weights, and the third is not there."""
    words = ["akvo", "domo", "urbo", "monto", "insulo", "rivero", "tablo", "libro"]
    titles = [
        (number, code, word + end) for number, word in enumerate(words) for code, end in (("eo", ""), ("en", "s"))
    ]
    database = ibis.duckdb.connect()
    sitelinks = pa.Table.from_pylist([dict(zip(SITELINKS.names, row, strict=True)) for row in titles], SITELINKS)
    vectors = np.eye(len(words))
    lines = [
        f"{word}{end} {' '.join(map(str, vector))}"
        for word, vector in zip(words, vectors, strict=True)
        for end in ("", "s")
    ]
    (tmp_path / "words.vec").write_text("\n".join(lines), encoding="utf-8")
    save_encoder(tiny_encoder([" ".join(words)] * 3), tmp_path / "random")
    candidates = [str(tmp_path / name) for name in ("random", "words.vec", "missing")]
    setting: Any = SimpleNamespace(languages=("eo", "en"))
    start = choose_taught_encoder(
        database.create_table("sentences", SENTENCES.empty_table()),
        database.create_table("sitelinks", sitelinks),
        setting,
        "eo",
        "auto",
        candidates,
    )
    assert start["encoder"] == str(tmp_path / "words.vec")
    assert ["fault" in row for row in start["scores"]] == [False, False, True]


def test_what_an_encoder_must_keep_is_located_even_if_the_page_does_not_score_it(bare: Project, tmp_path: Path) -> None:
    catalog = load_catalog(bare, teach__setting__test_tasks=["audit"])
    names = ("acquire", "acquire_evaluation", "tasks", "evaluate", "teach.setting", "teach.kept_tasks")
    parameters = [catalog.load(f"params:{name}") for name in names]
    (tmp_path / "names").mkdir()
    write_country_names(tmp_path / "names", ["de"])
    located = locate_taught_sets(*parameters, tmp_path, tmp_path / "names")
    assert {"stsb", "country_names", "audit"} <= located.keys()
    assert {"tatoeba", "flores", "sts17"} <= located.keys(), "sentences, by default"
    tasks = retention_tasks(parameters[-1], catalog.load("params:tasks"), located, 300)
    assert tasks.keys() == {"country_names"}, "no other set is here"


def test_what_an_encoder_must_keep_is_what_it_knows_of_other_languages(tmp_path: Path) -> None:
    """Each sentence has a direction of its own, which its translation shares in the known languages."""
    sides = {"deu": [f"satz {number}" for number in range(9)], "fin": [f"lause {number}" for number in range(9)]}
    sides["csb"] = sides["deu"]
    for code, sentences in sides.items():
        for name, lines in ((code, sentences), ("eng", [f"sentence {number}" for number in range(9)])):
            (tmp_path / f"tatoeba.{code}-eng.{name}").write_text("\n".join(lines), encoding="utf-8")
    tasks = package_tasks({})
    tasks = {"tatoeba": {**tasks["tatoeba"], "path": str(tmp_path)}}
    located = {name: place.model_dump(mode="json") for name, place in locate_sets(build_tasks(tasks)).items()}
    references = ["tatoeba:deu-eng", "tatoeba:fin-eng", "tatoeba:csb-eng", "tatoeba:fra-eng"]
    selected = retention_tasks(references, tasks, located, 4)

    def encode(texts: Sequence[str]) -> np.ndarray:
        assert len(texts) == 8, "the first 4 pairs"
        directions = np.eye(10)[[int(text[-1]) for text in texts]]
        return np.array(
            [directions[row - text.startswith("lause")] for row, text in enumerate(texts)]  # the one before
        )

    scores = score_retention(encode, selected)
    assert scores == {"tatoeba": {"deu-eng": 100.0, "fin-eng": 0.0, "csb-eng": 100.0}}
    known = known_tasks(selected, scores, "csb")
    assert known["tatoeba"]["subsets"] == ["deu-eng"]
    assert share_kept(scores, {"tatoeba": {"deu-eng": 97.0}}) == 97.0


@pytest.mark.parametrize(
    ("train", "reason"), [(False, "teach.train=false"), (None, "knows most languages already")], ids=str
)
def test_the_page_says_who_decided_against_training(train: bool | None, reason: str) -> None:
    assert reason in explain_start(pairs=9, accept=False, trained=False, train=train)
    described = describe_training(Rows(), ["audit"], train)
    assert ("teach.train=false" in described) == (train is False)
