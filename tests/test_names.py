"""Names that users choose: what becomes of them in MLflow and on disk."""

from __future__ import annotations

from pathlib import Path

from mlflow.utils.validation import _validate_metric_name, _validate_param_name

from ease.names import safe_name
from ease.pipelines.options import EvaluateOptions
from ease.pipelines.tracking import flatten_options

USUAL = ["LaBSE", "BERT-base_v1.5", "Multilingual SBERT", "多言語", "ease"]
UNUSUAL = ["BERT (avg.)", "BERT [avg.]", "w/o hard negative", "../outside", "..", ".", "", " ", "a ", "a."]
UNUSUAL += ["/a", "a//b", "a=1, b=2", "x" * 300, "語" * 200, "C:\\model", "line\nbreak", "50 % & more?"]
UNUSUAL += ["a:b", "~"]


def test_distinct_names_are_distinct_files_that_mlflow_accepts(tmp_path: Path) -> None:
    assert [safe_name(name) for name in USUAL] == USUAL
    names = [*USUAL, *UNUSUAL]
    for name in names:
        (tmp_path / safe_name(name)).write_text(name, encoding="utf-8")
        _validate_metric_name(f"stsb/{safe_name(name)}")
    assert sorted(path.read_text(encoding="utf-8") for path in tmp_path.iterdir()) == sorted(names)
    baselines = {name: {"name": f"encoder of {name}"} for name in names}
    logged = flatten_options(EvaluateOptions.model_validate({"tasks": None, "baselines": baselines}), "evaluate")
    for name in logged:
        _validate_param_name(name)
    assert {f"encoder of {name}" for name in names} <= set(map(str, logged.values()))
