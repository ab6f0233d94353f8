"""Training texts of recipes by the command line, the start of methods, and refused recipes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from huggingface_hub import ModelCard

from ease.errors import EaseError
from ease.pipelines.acquire.options import AcquireOptions
from ease.pipelines.recipe import Recipe
from ease.pipelines.setting import Setting
from ease.pipelines.training import TextOptions, chosen_start, gather_data
from ease.sample import SampleOptions
from tests.project import Project

SMALL_SAMPLE = SampleOptions(
    territories=60, sentences_per_language=50, parallel_facts=20, graded_pairs=12, graded_territories=6
)


def configure(project: Project, method: str, **values: Any) -> None:
    """Change a method's recipe in the environment `local`."""
    text = yaml.safe_dump({"multilingual": {method: values}})
    (project.folder / "conf" / "local" / "parameters.yml").write_text(text, encoding="utf-8")


@pytest.fixture
def acquire(tmp_path: Path) -> AcquireOptions:
    return AcquireOptions(
        wikipedia="sample:",
        wikidata="sample:",
        sample_folder=tmp_path / "sample",
        sample=SMALL_SAMPLE,
        download_folder=tmp_path,
    )


def recipe(*data: dict[str, Any], **values: Any) -> Recipe:
    return Recipe(method="simcse", options={}, data=data, training={}, **values)


def trained_rows(project: Project) -> pd.DataFrame:
    """The newest texts of SimCSE."""
    return pd.read_parquet(project.latest("05_model_input/multilingual/simcse/texts"))


def test_simcse_is_trained_on_the_sentences_of_the_pairs(project: Project) -> None:
    texts = trained_rows(project)
    pairs = pd.read_parquet(project.latest("05_model_input/multilingual/training_pairs.parquet"))
    pairs = pairs.sort_values("pair_id")
    assert texts["sentence"].tolist() == pairs["sentence"].tolist()
    assert texts["pair_id"].tolist() == pairs["pair_id"].tolist()
    (report,) = project.json("08_reporting/multilingual/simcse/text_report.json")
    assert (report["kind"], report["taken"]) == ("pairs", len(pairs))


def test_simcse_is_trained_on_a_text_file(copy: Project) -> None:
    lines = [f"A sentence about the number {number}." for number in range(100)]
    (copy.folder / "sentences.txt").write_text("\n".join(["\ufeff", *lines, "", lines[0]]), encoding="utf-8")
    configure(copy, "simcse", data=[{"kind": "lines", "path": "sentences.txt", "rows": 64}])
    copy.run("train", "--namespaces=multilingual.simcse")
    texts = trained_rows(copy)
    assert len(texts) == len(set(texts["sentence"])) == 64
    assert set(texts["sentence"]) <= set(lines)
    assert texts[["positive", "negative"]].isna().all(axis=None)
    (report,) = copy.json("08_reporting/multilingual/simcse/text_report.json")
    assert {name: report[name] for name in ("read", "blank", "repeated", "taken")} == {
        "read": 103,
        "blank": 2,
        "repeated": 1,
        "taken": 64,
    }
    card = ModelCard.load(copy.latest("06_models/multilingual/simcse/encoder") / "README.md")
    assert "| Lines of text: sentences.txt |" in card.text
    assert card.data.license == "other"
    made = json.loads(
        (copy.latest("05_model_input/multilingual/simcse/texts").parent / "provenance.json").read_text()
    )
    assert made["parameters"]["params:multilingual.simcse"]["data"][0]["path"] == "sentences.txt"


def test_the_setting_chooses_the_start_of_all_methods_except_mlm(tmp_path: Path) -> None:
    values = {"name": "s", "languages": "en", "encoder": {}, "dev_tasks": "stsb", "test_tasks": "stsb"}
    untrained, mlm = tmp_path / "untrained", tmp_path / "mlm"
    settings = {start: Setting.model_validate({**values, "start": start}) for start in ("untrained", "mlm")}
    assert chosen_start(settings["untrained"], "simcse", untrained, mlm) == untrained
    assert chosen_start(settings["mlm"], "simcse", untrained, mlm) == mlm
    assert chosen_start(settings["mlm"], "simcse", None, mlm) == mlm
    assert chosen_start(settings["mlm"], "mlm", untrained, None) == untrained
    with pytest.raises(EaseError, match="no encoder to train: make it by `kedro run --pipelines=train_s"):
        chosen_start(settings["mlm"], "mlm", None, None)


def test_methods_without_entities_need_data_and_others_refuse_it() -> None:
    with pytest.raises(ValueError, match="'simcse' has no `data` to train on"):
        Recipe(method="simcse", options={}, training={})
    with pytest.raises(
        ValueError, match="'ease' is trained on the setting's pairs .*set `data` and `rows` to null"
    ):
        Recipe(method="ease", options={}, training={}, data=[{"kind": "pairs"}])
    with pytest.raises(ValueError, match="Unknown kind of texts .*'nlu'"):
        recipe({"kind": "nlu"})


@pytest.mark.parametrize(
    ("training", "remedy"),
    [
        ({"batches": {"languages": "single"}}, "`training.batches.languages` to mixed"),
        (
            {"batches": {"sentences_per_entity": 2, "language_exponent": 0.5}},
            "`training.batches.sentences_per_entity` to 1 and `training.batches.language_exponent` to 1.0",
        ),
        ({"language_ranks": "0 2"}, r"`training.language_ranks` to \[\]"),
    ],
)
def test_batches_of_languages_or_entities_are_refused_on_texts(training: dict[str, Any], remedy: str) -> None:
    with pytest.raises(ValueError, match=f"which name neither their language nor an entity: set {remedy}"):
        Recipe(method="simcse", options={}, data=[{"kind": "pairs"}], training=training)
    Recipe(method="ease", options={}, training=training)


def test_the_sample_has_texts_for_every_method(acquire: AcquireOptions, tmp_path: Path) -> None:
    given = recipe(
        {"kind": "nli", "path": "sample:nli", "languages": ["en", "de"], "cross_lingual": True, "weight": 2},
        {"kind": "parallel", "path": "sample:parallel_train", "languages": ["ja"], "weight": 1},
        rows=90,
    )
    file, report = gather_data(given, given.seed, None, acquire, TextOptions(), tmp_path / "work")
    texts = pd.read_parquet(file)
    assert [line["taken"] for line in report] == [60, 30]
    assert all(len(line["sha256"][0]) == 64 for line in report)
    assert texts["positive"].notna().all()
    assert texts["negative"].notna().tolist() == [True] * 60 + [False] * 30
    assert texts["positive"][60:].str.contains("[ぁ-ん]").all()
    assert sorted(path.name for path in (tmp_path / "work").iterdir()) == ["texts.parquet"], (
        "nothing is left over"
    )
    again, _ = gather_data(
        given, given.seed, None, acquire, TextOptions(memory_limit="200MB"), tmp_path / "again"
    )
    assert again.read_bytes() == file.read_bytes()


def test_an_unknown_part_of_the_sample_is_refused(acquire: AcquireOptions, tmp_path: Path) -> None:
    given = recipe({"kind": "lines", "path": "sample:graded"})
    known = "has the training texts sample:nli, sample:parallel_train"
    with pytest.raises(EaseError, match=f"sample:graded.*{known}"):
        gather_data(given, given.seed, None, acquire, TextOptions(), tmp_path / "w")
