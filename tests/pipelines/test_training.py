"""What a training run reads: texts, pairs, its starting encoder, its work folder; and refused recipes."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import yaml
from huggingface_hub import ModelCard

from ease.errors import EaseError
from ease.pipelines.options import AcquireOptions, TextOptions
from ease.pipelines.recipe import Recipe
from ease.pipelines.setting import Setting
from ease.pipelines.tracked_training import choose_start, gather_data
from ease.pipelines.work import lock_for_run, release_work, remove_after_run
from tests.project import Project


def test_simcse_is_trained_on_a_text_file(copy: Project) -> None:
    lines = [f"A sentence about the number {number}." for number in range(100)]
    (copy.folder / "sentences.txt").write_text("\n".join(["\ufeff", *lines, "", lines[0]]), encoding="utf-8")
    data = [{"kind": "lines", "path": "sentences.txt", "rows": 64}]
    text = yaml.safe_dump({"multilingual": {"simcse": {"data": data}}})
    (copy.folder / "conf" / "local" / "parameters.yml").write_text(text, encoding="utf-8")
    copy.run("train", "--namespaces=multilingual.simcse")
    texts = pd.read_parquet(copy.latest("05_model_input/multilingual/simcse/texts"))
    assert len(texts) == len(set(texts["sentence"])) == 64
    assert set(texts["sentence"]) <= set(lines)
    assert texts[["positive", "negative"]].isna().all(axis=None)
    (report,) = copy.json("08_reporting/multilingual/simcse/text_report.json")
    assert [report[name] for name in ("read", "blank", "repeated", "taken")] == [103, 2, 1, 64]
    card = ModelCard.load(copy.latest("06_models/multilingual/simcse/encoder") / "README.md")
    assert "| Lines of text: sentences.txt |" in card.text
    assert card.data.license == "other"


def test_the_setting_chooses_the_start_of_all_methods_except_mlm(tmp_path: Path) -> None:
    values = {"name": "s", "languages": "en", "encoder": {}, "dev_tasks": "stsb", "test_tasks": "stsb"}
    untrained, mlm = tmp_path / "untrained", tmp_path / "mlm"
    settings = {start: Setting.model_validate({**values, "start": start}) for start in ("untrained", "mlm")}
    assert choose_start(settings["untrained"], "simcse", untrained, mlm) == untrained
    assert choose_start(settings["mlm"], "simcse", None, mlm) == mlm
    assert choose_start(settings["mlm"], "mlm", untrained, None) == untrained
    with pytest.raises(EaseError, match="no encoder to train: make it by `kedro run --pipelines=train_s"):
        choose_start(settings["mlm"], "mlm", None, None)


def test_methods_without_entities_need_data_and_others_refuse_it() -> None:
    with pytest.raises(ValueError, match="'simcse' has no `data` to train on"):
        Recipe(method="simcse", options={}, training={})
    with pytest.raises(ValueError, match="'ease' is trained on the setting's pairs .*set `data` and `rows` to null"):
        Recipe(method="ease", options={}, training={}, data=[{"kind": "pairs"}])


def test_the_sample_has_texts_for_every_method(small_sample: AcquireOptions, tmp_path: Path) -> None:
    data = (
        {"kind": "nli", "path": "sample:nli", "languages": ["en", "de"], "cross_lingual": True, "weight": 2},
        {"kind": "parallel", "path": "sample:parallel_train", "languages": ["ja"], "weight": 1},
    )
    given = Recipe(method="simcse", options={}, data=data, training={}, rows=90)
    file, report = gather_data(given, 0, None, small_sample, TextOptions(), tmp_path / "work")
    texts = pd.read_parquet(file)
    assert [line["taken"] for line in report] == [60, 30]
    assert all(len(line["sha256"][0]) == 64 for line in report)
    assert texts["positive"].notna().all()
    assert texts["negative"].notna().tolist() == [True] * 60 + [False] * 30
    assert texts["positive"][60:].str.contains("[ぁ-ん]").all()
    assert sorted(path.name for path in (tmp_path / "work").iterdir()) == ["texts.parquet"], "nothing is left over"


def test_finished_work_is_removed_only_after_a_successful_run(tmp_path: Path) -> None:
    for succeeded in (False, True):
        folder = lock_for_run(tmp_path / "sweep").folder
        (folder / "training").mkdir(exist_ok=True)
        remove_after_run(folder)
        release_work(succeeded=succeeded)
        assert (folder / "training").exists() is not succeeded
    release_work(succeeded=True)
