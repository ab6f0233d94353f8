"""A published folder loads in the libraries of its forms, its card in the hub's; the push reaches a hub."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from huggingface_hub import ModelCard, constants
from kedro.io import DataCatalog, MemoryDataset
from mlflow.tracking import MlflowClient
from safetensors.numpy import load_file
from sentence_transformers import SentenceTransformer

import ease
from ease.encoders.encoder import load_encoder, save_encoder
from ease.errors import EaseError
from ease.pipelines.checks import find_faults
from ease.pipelines.publish import pipeline as publish
from ease.pipelines.publish.nodes import PublishOptions, announce, write_folder
from scripts import list_models
from tests.encoders.tiny import tiny_encoder
from tests.hub_server import READER, WRITER, HubServer, running_hub, use_hub
from tests.project import Project

pytestmark = pytest.mark.slow

TEXTS = ["A sentence.", "日本の首都は東京です。", "Ein deutscher Satz mit mehr Wörtern."]
MODEL = "06_models/multilingual/ease_plus/encoder"


@pytest.fixture(scope="module")
def published(project: Project, tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, Path]:
    """A project's newest EASE+ with a further form, by the command line."""
    copy, folder = project.copy(tmp_path_factory.mktemp("copy") / "project"), tmp_path_factory.mktemp("out")
    done = copy.run("publish", publish__to=folder / "made", publish__forms="onnx")
    remarks = [line for line in done.stderr.splitlines() if line and " ease." not in line]
    assert remarks == [], "of the libraries"
    return copy, folder / "made"


def options(folder: Path, **changes: Any) -> PublishOptions:
    given = {"setting": "multilingual", "method": "ease_plus"}
    return PublishOptions(to=folder, **{**given, **changes})


def written(project: Project, target: Path, **changes: Any) -> dict[str, Any]:
    """Write the folder without exported forms, in this process."""
    vocabulary = project.latest("03_primary/multilingual/entity_vocabulary.parquet")
    scores = project.json("07_model_output/multilingual/ease_plus/scores.json")
    chosen = options(target, **changes)
    return write_folder(chosen, project.latest(MODEL), scores, vocabulary, None, None)


def test_the_encoder_is_the_trained_one_and_its_card_has_what_the_hub_reads(published: tuple[Project, Path]) -> None:
    project, folder = published
    expected = SentenceTransformer(str(project.latest(MODEL)), device="cpu").encode(TEXTS)
    np.testing.assert_array_equal(SentenceTransformer(str(folder), device="cpu").encode(TEXTS), expected)
    card = ModelCard.load(folder / "README.md")
    about = card.data.to_dict()
    assert sorted(about["language"]) == ["ar", "de", "en", "ja"]
    assert (about["library_name"], about["license"]) == ("sentence-transformers", "apache-2.0")
    scores = project.json("07_model_output/multilingual/ease_plus/scores.json")
    (graded,) = [row for row in scores if (row["task"], row["subset"]) == ("sample_graded", "en")]
    (found,) = [result for result in card.data.eval_results if result.dataset_type == "sample_graded"]
    assert found.metric_value == pytest.approx(graded["value"], abs=1e-4)
    assert found.metric_args == {"interval_95": [round(graded["low"], 4), round(graded["high"], 4)]}
    assert f"{graded['low']:.2f} to {graded['high']:.2f}" in card.text
    assert "| Sample wiki (en) | 20240101 | Apache-2.0" in card.text
    for section in ("Test scores", "Entities", "Other forms"):
        assert card.text.count(f"## {section}\n") == 1


def test_the_entity_table_has_its_projection_and_labels(published: tuple[Project, Path]) -> None:
    project, folder = published
    tensors = load_file(folder / "entities" / "entities.safetensors")
    labels = pd.read_parquet(folder / "entities" / "labels.parquet")
    parts = load_file(project.latest(MODEL) / "training" / "parts.safetensors")
    np.testing.assert_array_equal(tensors["embeddings"], parts["method.table.weight"])
    np.testing.assert_array_equal(tensors["projection.weight"], parts["method.projection.weight"])
    vocabulary = pd.read_parquet(project.latest("03_primary/multilingual/entity_vocabulary.parquet"))
    expected = vocabulary.set_index("row").loc[parts["vocabulary_rows"]].reset_index()
    columns = ["entity", "label"]
    assert labels[columns].values.tolist() == expected[columns].values.tolist()
    assert not (folder / "training").exists()


def test_the_model_has_its_alias_in_mlflow(published: tuple[Project, Path]) -> None:
    project, _ = published
    version = MlflowClient(project.store).get_model_version_by_alias("multilingual.ease_plus", "published")
    run = json.loads((project.latest(MODEL) / "training" / "mlflow_run.json").read_text(encoding="utf-8"))
    assert version.run_id == run["run_id"]
    assert str(version.source).startswith("models:/m-"), "a logged model"
    addresses = project.json("08_reporting/published/addresses.json")
    assert addresses == {"commit": None, "registered": "models:/multilingual.ease_plus@published"}


def test_without_forms_none_of_an_older_folder_stay(published: tuple[Project, Path], tmp_path: Path) -> None:
    project, folder = published
    shutil.copytree(folder, tmp_path / "made")
    assert (tmp_path / "made" / "onnx").is_dir()
    assert written(project, tmp_path / "made")["forms"] == []
    assert not list((tmp_path / "made").rglob("*onnx*"))


def test_forms_without_their_libraries_are_refused_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ease.encoders.exports.find_spec", lambda name: name == "onnx" or None)

    def faults(**options: Any) -> list[str]:
        published = PublishOptions(setting="teach", method="ease_plus", **options)
        parameters = {"params:publish": published, "params:engine": "duckdb"}
        catalog = DataCatalog({name: MemoryDataset(value) for name, value in parameters.items()})
        return find_faults(publish.create_pipeline(), catalog, tmp_path, 0)

    (fault,) = faults(forms=["onnx"])
    assert "need onnxscript, onnxruntime: run `pip install onnxscript onnxruntime`, or set `forms` to []" in fault
    assert faults() == faults(forms=["onnx"], what="mewsc16") == []


def test_a_folder_of_other_files_is_not_replaced(project: Project, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(EaseError, match="has files that `publish` did not write"):
        written(project, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method": "simcse"}, "The parameters name the encoder multilingual.simcse, but the catalog reads"),
        ({"repository": "owner/made"}, "HF_HUB_OFFLINE is set: unset it to push owner/made."),
        ({"what": "mewsc16"}, "There is no MewsC-16 to publish: make it by `kedro run --pipelines=mewsc16`."),
    ],
)
def test_a_wrong_parameter_is_named(project: Project, tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    chosen = options(tmp_path / "made").model_copy(update=changes)
    with pytest.raises(EaseError) as error:
        write_folder(chosen, project.latest(MODEL), [], None, None, None)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("setting", "command"),
    [("teach", "--pipelines=teach"), ("multilingual", "--pipelines=train --namespaces=multilingual.ease_plus")],
)
def test_the_command_that_trains_the_setting_s_encoder_is_named(tmp_path: Path, setting: str, command: str) -> None:
    with pytest.raises(EaseError, match=f"train it by `kedro run {command}`"):
        write_folder(options(tmp_path / "made", setting=setting), None, [], None, None, None)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with running_hub() as server:
        yield server


def test_the_folder_is_pushed_where_a_token_is_given(
    project: Project, tmp_path: Path, hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", WRITER)
    push = {"repository": "owner/made", "endpoint": hub.address, "alias": None}
    summary = written(project, tmp_path / "made", **push)
    addresses = announce(options(tmp_path / "made", **push), summary, project.latest(MODEL))
    assert addresses["commit"].startswith(f"{hub.address}/owner/made/commit/")
    files = hub.repositories["models/owner/made"]
    assert files["model.safetensors"] == (tmp_path / "made" / "model.safetensors").read_bytes()
    assert files["entities/labels.parquet"]
    _list_and_load(project, tmp_path, hub, monkeypatch)
    monkeypatch.setenv("HF_TOKEN", READER)
    with pytest.raises(EaseError, match="refused owner/made with HTTP status 403"):
        announce(options(tmp_path / "made", **push), summary, project.latest(MODEL))


def _list_and_load(project: Project, folder: Path, hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pushed model is in the list and on its page, and loads by its name."""
    published, page = folder / "published.json", folder / "models.md"
    published.write_text("[]", encoding="utf-8")
    page.write_text("# Published models\n\n## Models\n\nNone.\n", encoding="utf-8")
    for _ in range(2):
        list_models.main([str(folder / "made")], published, page)
    (row,) = [line for line in page.read_text("utf-8").splitlines() if "made" in line]
    name, base, languages, scores, licence, _ = [cell.strip() for cell in row.strip("|").split("|")]
    assert name == "[`made`](https://huggingface.co/owner/made)"
    assert (base, languages, licence) == ("random weights", "en ja ar de", "apache-2.0")
    assert scores.count("<br>") == 1, "one score a task"
    monkeypatch.setattr("ease.encoders.api.PUBLISHED", published)
    use_hub(hub.address, folder / "cache", monkeypatch)
    expected = SentenceTransformer(str(project.latest(MODEL)), device="cpu").encode(TEXTS)
    np.testing.assert_array_equal(ease.load("made").encode(TEXTS), expected)
    with pytest.raises(EaseError, match="No encoder of the setting 'mades' .*: Choose from made"):
        ease.load("mades", project=folder)


def news(folder: Path, licence: str) -> Path:
    folder.mkdir(parents=True)
    table = pa.table({"sentence": ["A storm."], "category": ["Weather"], "licence": [licence]})
    pq.write_table(table, folder / "en.parquet")
    (folder / "README.md").write_text("---\nlicense: cc-by-2.5\n---\n", encoding="utf-8")
    return folder


def test_mewsc16_is_pushed_as_a_data_set(tmp_path: Path, hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", WRITER)
    chosen = options(tmp_path / "out", what="mewsc16", repository="owner/mewsc16", endpoint=hub.address, private=False)
    made = news(tmp_path / "made", "cc-by-2.5")
    announce(chosen, write_folder(chosen, None, [], None, None, made), None)
    files = hub.repositories["datasets/owner/mewsc16"]
    assert files["en.parquet"] == (made / "en.parquet").read_bytes()
    files |= {"croissant.json": b"{}", "en_small.parquet": b"", "notes.md": b""}
    announce(chosen, write_folder(chosen, None, [], None, None, made), None)
    assert {"croissant.json", "en_small.parquet"} & files.keys() == set()
    assert "notes.md" in files


def test_mewsc16_with_unknown_licences_is_refused(tmp_path: Path) -> None:
    made = news(tmp_path / "made", "unknown")
    shutil.copy(made / "en.parquet", made / "en_small.parquet")
    with pytest.raises(EaseError, match=r"The licence of some sentences is not known \(en: 1\)"):
        write_folder(options(tmp_path / "out", what="mewsc16"), None, [], None, None, made)
    assert not (tmp_path / "out").exists()


def test_a_published_vocabulary_has_the_pieces_of_the_training_sentences(tmp_path: Path) -> None:
    texts = ["The river runs to the sea.", "Большой город стоит на реке.", "A large city."]
    encoder = tmp_path / "multilingual" / "simcse" / "encoder" / "2026-01-01T00.00.00.000Z" / "encoder"
    full = tiny_encoder(texts * 5, vocabulary_size=400)
    save_encoder(full, encoder)
    chosen = options(tmp_path / "out", method="simcse", trim_vocabulary=True)
    with pytest.raises(EaseError, match=r"`publish.trim_vocabulary` reads the training pairs of multilingual"):
        write_folder(chosen, encoder, [], None, None, None)
    pairs = ibis.memtable({"sentence": [texts[0], texts[2], texts[0]]})
    write_folder(chosen, encoder, [], None, pairs, None)
    card = (tmp_path / "out" / "README.md").read_text("utf-8")
    assert "## Vocabulary" in card
    assert "those that 2 texts use" in card
    small = load_encoder(str(tmp_path / "out"))
    assert len(small.tokenizer) < len(full.tokenizer)
    np.testing.assert_allclose(small.encode(texts[::2]), full.encode(texts[::2]), atol=1e-6)
