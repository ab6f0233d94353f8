"""Names of countries as an evaluation set."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from ease.configuration import default_parameters
from ease.evaluation.tasks import build_task
from ease.pipelines.teach.country_names import NAMED_LANGUAGES, country_names, write_country_names


def test_countries_are_an_evaluation_set_of_each_language(tmp_path: Path) -> None:
    write_country_names(tmp_path, ["de", "ja"])
    german = pq.read_table(tmp_path / "de-en.parquet").to_pylist()
    assert {"left": "Deutschland", "right": "Germany"} in german
    assert len(german) > 240
    assert "EU" not in country_names("de")
    parameters = default_parameters()["tasks"]["country_names"]
    assert parameters["names"].split() == [f"{code}-en" for code in NAMED_LANGUAGES]
    task = build_task("country_names", {**parameters, "path": str(tmp_path)})
    left, right = task.read("ja-en", (tmp_path / "ja-en.parquet",))
    assert dict(zip(right, left, strict=True))["Japan"] == "日本"
