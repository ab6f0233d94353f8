"""A search by a real encoder, from Python and the command line: sentences, nearest entities, labels, reasons."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result
from safetensors.numpy import load_file, save_file
from sentence_transformers import SentenceTransformer

import ease
from ease.errors import EaseError
from ease.io.locks import folder_lock
from ease.pruning import find_leftovers
from ease.search.__main__ import main
from ease.search.engine import Search, shared_words, words_of
from tests.search.made_project import (
    DIMENSION,
    ENTITIES,
    GERMAN_TITLES,
    LABELS,
    ROWS,
    VERSION,
    Row,
    add_model,
    make_project,
    write_encoder,
    write_project,
    write_sentences,
)

LATER = "2026-02-02T00.00.00.000Z"


@pytest.fixture
def project(encoder: Path, tmp_path: Path) -> Path:
    """A project for changes."""
    return make_project(tmp_path / "project", encoder)


@pytest.fixture(scope="module")
def search(sample_project: Path) -> Search:
    """The search by the model with an entity table."""
    return ease.open_search(project=sample_project)


def test_examples_are_facts_of_many_languages_without_a_common_entity(encoder: Path, tmp_path: Path) -> None:
    told = {"a": ([1, 2], ["de", "en", "ja"]), "b": ([3, 4], ["de", "ja"]), "c": ([1, 4], ["de", "ja"])}
    rows = [
        Row(code, 1, "Page", ord(fact), f"Fact {fact} in {code}.", pair)
        for fact, (pair, codes) in told.items()
        for code in codes
    ]
    more = Row("de", 2, "Page", 0, "Three entities.", [1, 2, 3])
    folder = write_project(tmp_path / "project", [*rows, more])
    add_model(folder, "untrained", encoder)
    search = ease.open_search(model="untrained", project=folder)
    assert search.examples == [("en", "Fact a in en."), ("de", "Fact b in de.")]


def test_an_index_that_another_process_builds_is_searched_as_far_as_it_is_built(
    project: Path, caplog: pytest.LogCaptureFixture
) -> None:
    index = ease.open_search(project=project).index
    with folder_lock(index.folder):
        again = ease.open_search(project=project)
        assert again.search("Yen ist die Währung von Japan.", k=1)[0].text == "Yen ist die Währung von Japan."
        assert f"{index.folder} is being built by another process" in caplog.text
        for block in index.folder.glob("vectors-*"):
            block.unlink()
        with pytest.raises(EaseError):
            ease.open_search(project=project)


def test_each_different_sentence_is_found_once_with_all_its_pages_and_links(search: Search) -> None:
    results = search.search("Yen ist die Währung von Japan.", k=10)
    assert len(results) == 5, "two pages have the same sentence, one sentence has no word"
    first = results[0]
    assert first.text == "Yen ist die Währung von Japan."
    assert first.cosine == pytest.approx(1, abs=1e-5)
    assert set(first.pages) == {"Yen", "Japan"}
    assert {(link.entity, link.label) for link in first.entities} == {(17, "Japan"), (8146, "Japanese yen")}
    assert [result.cosine for result in results] == sorted((result.cosine for result in results), reverse=True)


def test_cosines_are_those_of_the_encoder(search: Search, encoder: Path) -> None:
    query = "Die Währung."
    model = SentenceTransformer(str(encoder))
    texts = sorted({row.text for row in ROWS if row.text != "…"})
    vectors = model.encode([query, *texts], normalize_embeddings=True)
    expected = dict(zip(texts, vectors[1:] @ vectors[0], strict=True))
    cosines = {result.text: result.cosine for result in search.search(query)}
    assert cosines == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("nonlinear", [False, True])
def test_nearest_entities_are_the_nearest_projected_rows(project: Path, encoder: Path, nonlinear: bool) -> None:
    kind = "tanh" if nonlinear else "linear"
    target = add_model(project, "ease", encoder, entities=ENTITIES, projection=kind)
    file = target / "training/parts.safetensors"
    parts = load_file(file)
    if nonlinear:
        parts["method.projection.bias"] = np.full(DIMENSION, 0.5, dtype=np.float32)
        save_file(parts, file)
    rows = ENTITIES @ parts["method.projection.weight"].T.astype(np.float64)
    if nonlinear:
        rows = np.tanh(rows + 0.5)
    query = SentenceTransformer(str(encoder)).encode(["Japan"])[0]
    cosines = rows @ query / np.linalg.norm(rows, axis=1) / np.linalg.norm(query)
    near = ease.open_search(model="ease", project=project).nearest_entities("Japan", k=2)
    order = np.argsort(-cosines)[:2]
    assert [link.entity for link in near] == [list(LABELS)[row] for row in order]
    assert [link.cosine for link in near] == pytest.approx(cosines[order].tolist(), abs=1e-5)


def test_labels_are_in_the_readers_language_or_the_vocabularys(search: Search) -> None:
    for reader, labels in {"de": GERMAN_TITLES, "fr": LABELS}.items():
        near = search.nearest_entities("Yen", 3, reader)
        assert {link.entity: link.label for link in near} == labels
        assert {link.translated for link in near} == {reader == "de"}
    (unknown,) = search.search("Germany is a country in Europe.", k=1)
    assert unknown.entities[0].label == "title of 999", "the vocabulary lacks it"


def test_reasons_are_near_entities_and_words(search: Search) -> None:
    (result,) = search.search("Die WÄHRUNG heißt Yen", k=1, languages=["de"])
    assert result.why.words == ["Die", "WÄHRUNG", "Yen"]
    assert {link.entity for link in result.why.entities} == {17, 8146}


def test_without_a_table_an_entity_is_the_mean_of_its_sentences(
    project: Path, encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    twice = Row("fr", 5, "Yen", 0, "Le yen est la monnaie du Japon.", [17, 17, 8146])
    rows = [*ROWS, twice, *(Row("en", 9, "Page", number, f"Fact {number}.", [7]) for number in range(2_000))]
    write_sentences(project, rows, LATER)
    target = add_model(project, "simcse", encoder)
    (target / "training").mkdir()
    save_file({"mlp.weight": np.ones((2, 2), np.float32)}, target / "training/parts.safetensors")
    with monkeypatch.context() as patch:
        patch.setattr("ease.search.entities.unit_or_zero_rows", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            ease.open_search(model="simcse", project=project)
    search = ease.open_search(model="simcse", project=project)
    assert len(search.index.blocks) > 1
    linked = {entity: [row.text for row in rows if entity in row.entities] for entity in (7, 17, 999, 8146)}
    model = SentenceTransformer(str(encoder))
    query = model.encode(["Japan"], normalize_embeddings=True)[0]
    expected = {}
    for entity, texts in linked.items():
        mean = model.encode(texts, normalize_embeddings=True).mean(axis=0)
        expected[entity] = float(mean @ query / np.linalg.norm(mean))
    near = search.nearest_entities("Japan", reader="de")
    assert {link.entity: link.cosine for link in near} == pytest.approx(expected, abs=1e-5)
    assert near == sorted(near, key=lambda link: -(link.cosine or 0))
    labels = {7: "title of 7", 17: "Japan", 999: "title of 999", 8146: "Japanischer Yen"}
    assert {link.entity: link.label for link in near} == labels
    assert search.search("日本の通貨は円です。", k=1, languages=["ja"])[0].cosine > 0.999


def test_bad_questions_are_refused(search: Search) -> None:
    with pytest.raises(EaseError, match="no letter or digit: type a sentence"):
        search.search("?!")
    with pytest.raises(EaseError, match="10,001 characters"):
        search.nearest_entities("a" * 10_001)
    for ask in (search.search, search.nearest_entities):
        with pytest.raises(EaseError, match="ask for at least 1"):
            ask("Japan", k=0)


def test_a_new_model_or_new_sentences_get_a_new_index_and_the_old_one_is_removed(project: Path, tmp_path: Path) -> None:
    first = ease.open_search(project=project).index.folder
    add_model(project, "ease_plus", write_encoder(tmp_path / "second", seed=1), LATER, ENTITIES)
    second = ease.open_search(project=project).index.folder
    write_sentences(project, ROWS[:4], LATER)
    third = ease.open_search(project=project)
    assert len({first, second, third.index.folder}) == 3
    assert [path for path in (first, second, third.index.folder) if path.exists()] == [third.index.folder]
    assert list(third.index.languages) == ["de", "en"]


def test_an_index_names_its_encoder_for_the_removal_of_leftovers(project: Path) -> None:
    folder = ease.open_search(project=project).index.folder
    target = project / "data/06_models/multilingual/ease_plus/encoder" / VERSION
    data = project / "data"
    assert folder not in [path for path, _ in find_leftovers(data, data)]
    shutil.rmtree(target)
    assert folder in [path for path, _ in find_leftovers(data, data)]


def test_the_vocabulary_is_that_of_the_training(project: Path) -> None:
    model = project / "data/06_models/multilingual/ease_plus/encoder" / VERSION
    provenance = {"inputs": {"multilingual.entity_vocabulary": VERSION}}
    (model / "provenance.json").write_text(json.dumps(provenance), encoding="utf-8")
    table = project / "data/03_primary/multilingual/entity_vocabulary.parquet"
    later = table / LATER / table.name
    later.parent.mkdir()
    pd.DataFrame({"row": [0], "entity": [1], "label": ["other"], "link_count": [1]}).to_parquet(later)
    assert {link.entity for link in ease.open_search(project=project).nearest_entities("Yen")} == set(LABELS)
    (model / "provenance.json").unlink()
    with pytest.raises(EaseError, match="another entity vocabulary"):
        ease.open_search(project=project)


def test_what_is_missing_is_named(project: Path, tmp_path: Path) -> None:
    empty = write_project(tmp_path / "empty")
    train = "kedro run --pipelines=train_multilingual"
    for arguments, message in (
        ({"model": "ease_plis", "project": project}, "did you mean ease_plus"),
        ({"setting": "multilingul", "project": project}, f"has no sentences.*{train}"),
        ({"project": tmp_path}, "has no conf/base/globals.yml"),
        ({"project": empty}, f"No model .* is trained: run `{train}`"),
    ):
        with pytest.raises(EaseError, match=message):
            ease.open_search(**arguments)


def test_shared_words_ignore_case_and_are_listed_once_in_the_order_of_the_first_text() -> None:
    assert shared_words("The Yen and the STRASSE", "straße, yen THE") == ["The", "Yen", "STRASSE"]
    assert shared_words("円の", "日本の通貨は円です。") == ["円", "の"]
    assert words_of("𝔸 😀 b") == ["𝔸", "b"], "ICU counts UTF-16 units"


def run(project: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments, "--project", str(project)])


def test_find_prints_sentences_with_pages_entities_and_reasons(sample_project: Path) -> None:
    result = run(sample_project, "find", "Die Währung: Yen", "--language=de", "-k", "1", "--reader=de")
    assert result.exit_code == 0, result.output
    lines = [line.strip() for line in result.output.splitlines()]
    assert lines[0].endswith("de  Yen ist die Währung von Japan.")
    assert lines[1] in ("page: Yen and 1 more", "page: Japan and 1 more")
    assert set(lines[2].removeprefix("entities: ").split(", ")) == {"Japan", "Japanischer Yen"}
    assert lines[4] == "shared words: Die, Währung, Yen"


def test_entities_and_build(sample_project: Path) -> None:
    near = run(sample_project, "entities", "Yen", "-k", "2")
    assert near.exit_code == 0, near.output
    assert len(near.output.splitlines()) == 2
    assert "yen (8146)" in run(sample_project, "entities", "Yen", "--model=untrained").output
    built = run(sample_project, "build", "--model=untrained")
    assert "6 sentences in " in built.output
    assert "data/07_model_output/search/multilingual/untrained/" in built.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["find", "Yen", "--reader=zz"], "Unknown language 'zz' in `--reader`"),
        (["serve", "--host=192.0.2.1"], "Cannot listen at 192.0.2.1:8000"),
    ],
)
def test_errors_are_one_line_that_names_what_to_do(sample_project: Path, arguments: list[str], message: str) -> None:
    result = run(sample_project, *arguments)
    assert result.exit_code == 1
    (line,) = result.output.splitlines()
    assert line.startswith("Error: ")
    assert message in line


def test_an_index_without_links_has_no_entities(sample_project: Path, tmp_path: Path) -> None:
    shutil.copytree(sample_project, tmp_path / "own")
    shutil.rmtree(tmp_path / "own/data/02_intermediate/multilingual/links.parquet")
    for _ in range(2):
        result = run(tmp_path / "own", "entities", "Yen", "--model=untrained")
        assert result.exit_code == 1
        assert "links to an entity: choose another --setting" in result.output
        assert run(tmp_path / "own", "find", "Yen", "--model=untrained").exit_code == 0
