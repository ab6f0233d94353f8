"""One version of an encoder is current: for runs, users, the report and `make prune`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from kedro.io import DataCatalog, Version
from kedro.pipeline import Pipeline, node

from ease.datasets.files import JSONDataset, PathDataset
from ease.encoders.saved import RUN_FILE, current_encoder
from ease.hooks.runs import Results, find_newer_versions

TIMES = [f"2026-01-0{day}T00.00.00.000Z" for day in (1, 2, 3)]
NAME = "multilingual.ease.encoder"


def encoder_dataset(models: Path, version: Version) -> PathDataset:
    folder = models / "multilingual" / "ease"
    return PathDataset(filepath=str(folder / "encoder"), version=version, link=str(folder / "latest"))


def save_encoder(models: Path, time: str, **record: Any) -> PathDataset:
    folder = models / "made"
    (folder / RUN_FILE).parent.mkdir(parents=True)
    (folder / RUN_FILE).write_text(json.dumps(record))
    dataset = encoder_dataset(models, Version(None, time))
    dataset.save(folder)
    return dataset


def version_of(models: Path) -> tuple[str | None, str, str]:
    """Return the version that runs load, that `latest` leads to, and that `ease.load` and the search load."""
    encoder = current_encoder(models, "multilingual", "ease")
    assert encoder is not None
    link = (models / "multilingual" / "ease" / "latest").resolve()
    return encoder_dataset(models, Version(None, None)).resolve_load_version(), link.parent.name, encoder.parent.name


def test_the_current_version_is_the_one_made_last_until_another_is_promoted(tmp_path: Path) -> None:
    for time in (TIMES[0], TIMES[2], TIMES[1]):
        save_encoder(tmp_path, time)
        assert version_of(tmp_path) == (time,) * 3, "also if the clock was set back"
    encoder_dataset(tmp_path, Version(TIMES[0], None)).promote()
    assert version_of(tmp_path) == (TIMES[0],) * 3
    save_encoder(tmp_path, "2026-01-04T00.00.00.000Z", withheld=True)
    assert version_of(tmp_path) == (TIMES[0],) * 3


@pytest.mark.parametrize("target", ["gone/encoder", "../elsewhere/encoder"])
def test_a_link_that_leads_to_no_version_is_ignored(tmp_path: Path, target: str) -> None:
    save_encoder(tmp_path, TIMES[0])
    (tmp_path / "multilingual" / "elsewhere" / "encoder").mkdir(parents=True)
    link = tmp_path / "multilingual" / "ease" / "latest"
    link.unlink()
    link.symlink_to(target)
    encoder = current_encoder(tmp_path, "multilingual", "ease")
    assert encoder is not None
    assert encoder.parent.name == TIMES[0]
    assert encoder_dataset(tmp_path, Version(None, None)).resolve_load_version() == TIMES[0]


def test_the_history_is_that_of_the_current_encoder(tmp_path: Path) -> None:
    def history(version: Version) -> JSONDataset:
        link = str(tmp_path / "multilingual" / "ease" / "latest")
        return JSONDataset(filepath=str(tmp_path / "history.json"), version=version, missing_ok=True, follows=link)

    assert history(Version(None, None)).load() == []
    for time in TIMES[:2]:
        save_encoder(tmp_path, time)
        history(Version(None, time)).save([time])
    encoder_dataset(tmp_path, Version(TIMES[0], None)).promote()
    assert history(Version(None, None)).load() == [TIMES[0]]
    save_encoder(tmp_path, TIMES[2])
    assert history(Version(None, None)).load() == [TIMES[1]], "the newest if the encoder has no history"


def scoring(models: Path, load_versions: dict[str, str], version: Version) -> tuple[Results, Pipeline, DataCatalog]:
    dataset = encoder_dataset(models, version)
    pipeline = Pipeline([node(len, NAME, "multilingual.ease.scores", name="score", tags="evaluate")])
    catalog = DataCatalog({NAME: dataset})
    results = Results()
    results.before_pipeline_run({"load_versions": load_versions}, pipeline, catalog)
    results.after_node_run(pipeline.nodes[0], catalog, {"multilingual.ease.scores": []})
    return results, pipeline, catalog


def test_scoring_a_version_by_its_name_promotes_it(tmp_path: Path) -> None:
    for time in TIMES:
        save_encoder(tmp_path, time, withheld=time == TIMES[1])
    scoring(tmp_path, {}, Version(None, None))
    assert version_of(tmp_path) == (TIMES[2],) * 3
    scoring(tmp_path, {NAME: TIMES[1]}, Version(TIMES[1], None))
    assert version_of(tmp_path) == (TIMES[1],) * 3


def test_a_training_names_the_version_that_it_replaces(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    save_encoder(tmp_path, TIMES[0])
    pipeline = Pipeline([node(len, "pairs", NAME, name="train")])
    catalog = DataCatalog({NAME: encoder_dataset(tmp_path, Version(None, TIMES[1]))})
    results = Results()
    with caplog.at_level("INFO"):
        results.before_pipeline_run({}, pipeline, catalog)
        save_encoder(tmp_path, TIMES[1])
        results.after_pipeline_run({}, pipeline, catalog)
    assert f"latest was {TIMES[0]} until now" in caplog.text
    command = f"kedro run --pipelines=evaluate --namespaces=multilingual.ease --load-versions={NAME}:{TIMES[0]}`"
    assert command in caplog.text


def test_a_run_without_missing_outputs_lists_none(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    save_encoder(tmp_path, TIMES[0])
    pipeline = Pipeline([node(len, "pairs", NAME, name="train"), node(len, "texts", "report", name="other")])
    catalog = DataCatalog({NAME: encoder_dataset(tmp_path, Version(None, TIMES[1]))})
    parameters = {"only_missing_outputs": True}
    results = Results()
    with caplog.at_level("INFO"):
        results.before_pipeline_run(parameters, pipeline, catalog)
        results.after_pipeline_run(parameters, pipeline, catalog)
        assert caplog.messages == ["Nothing was missing, so nothing was run."]
        caplog.clear()
        results.before_pipeline_run(parameters, pipeline, catalog)
        results.after_node_run(pipeline.nodes[0], catalog, {})
        results.after_pipeline_run(parameters, pipeline, catalog)
    assert caplog.messages[0].startswith("Done: 1 nodes.")


def test_a_run_that_is_older_than_a_version_of_its_outputs_is_refused(tmp_path: Path) -> None:
    def faults(time: str) -> list[str]:
        catalog = DataCatalog({"rows": JSONDataset(filepath=str(tmp_path / "rows.json"), version=Version(None, time))})
        return find_newer_versions(Pipeline([node(len, "pairs", "rows")]), catalog)

    assert faults(TIMES[1]) == []
    JSONDataset(filepath=str(tmp_path / "rows.json"), version=Version(None, TIMES[1])).save([1])
    assert faults(TIMES[2]) == []
    (fault,) = faults(TIMES[0])
    assert fault.startswith(f"1 outputs of this run have versions that are newer than its time, {TIMES[0]}, such as ")
    assert f"{TIMES[1]} of rows" in fault
    shutil.copytree(tmp_path / "rows.json" / TIMES[1], tmp_path / "rows.json" / "old")
    assert faults(TIMES[2]) == [
        f"{tmp_path}/rows.json/old is no version, but would be read as the newest: move it to another folder."
    ]
