"""The benchmark of a teacher against forgetting, on the files of a tiny training."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks import forgetting
from tests.training.tiny_training import write_files

LANGUAGES = ["en", "ca", "eo", "tr"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A project's data folder with the setting `low_resource`."""
    files, data = tmp_path / "files", tmp_path / "data"
    files.mkdir()
    write_files(files)
    pairs = pq.read_table(files / "pairs.parquet")
    repeated = pa.concat_tables([pairs] * 4)
    columns = {"pair_id": pa.array(range(len(repeated))), "language": LANGUAGES * (len(repeated) // 4)}
    for name, column in columns.items():
        repeated = repeated.set_column(repeated.column_names.index(name), name, pa.array(column))
    pq.write_table(repeated, files / "pairs.parquet")
    for file, place in {
        "pairs.parquet": "05_model_input/low_resource/training_pairs.parquet",
        "vocabulary.parquet": "03_primary/low_resource/entity_vocabulary.parquet",
        "table.safetensors": "05_model_input/low_resource/entity_embeddings.safetensors",
        "encoder": "06_models/low_resource/untrained/encoder",
    }.items():
        version = data / place / "1"
        version.mkdir(parents=True)
        shutil.move(files / file, version / Path(place).name)
    facts = [
        {"fact_id": str(number), "language": language, "text": f"{number} {language}"}
        for number in range(300)
        for language in LANGUAGES
    ]
    (data / "01_raw/sample/sample-1").mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(facts), data / "01_raw/sample/sample-1/parallel.parquet")
    return data


@pytest.mark.slow
def test_the_table_has_each_language_before_and_after(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    forgetting.main(["--data", str(data), "--steps", "2", "--teachers", "none", "cosine:10", "--seeds", "1"])
    lines = capsys.readouterr().out.splitlines()
    trained, table = [json.loads(line) for line in lines[:3]], lines[3:]
    assert [row["model"] for row in trained] == ["before", "none", "cosine:10"]
    assert all(0 <= row[language] <= 100 for row in trained for language in LANGUAGES[1:])
    assert [line.split("|")[1].strip() for line in table] == ["model", "-" * 9, "before", "none", "cosine:10"]


def test_missing_data_are_named_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="training_pairs.parquet does not exist: run the first command"):
        forgetting.main(["--data", str(tmp_path)])
