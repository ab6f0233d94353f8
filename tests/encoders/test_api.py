"""The function that loads encoders without Kedro."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ease.encoders.api import load
from ease.encoders.encoder import save_encoder
from ease.errors import EaseError
from tests.encoders.tiny import tiny_encoder


def test_the_newest_encoder_of_a_setting_is_loaded(tmp_path: Path) -> None:
    encoder = tiny_encoder(["a cat", "a dog", "rain"])
    with pytest.raises(EaseError, match="No encoder of the setting 'small' and the method 'ease' in .*: train one"):
        load("small", "ease", tmp_path)
    versions = tmp_path / "data" / "06_models" / "small" / "ease" / "encoder"
    save_encoder(tiny_encoder(["a"], hidden_size=8), versions / "2024-01-01T00.00.00.000Z" / "encoder")
    save_encoder(encoder, versions / "2024-02-01T00.00.00.000Z" / "encoder")
    found = load("small", project=tmp_path)
    assert np.array_equal(found.encode(["rain"]), encoder.encode(["rain"]))
    with pytest.raises(EaseError, match="did you mean small/ease"):
        load("smal", "ease", tmp_path)
    with pytest.raises(EaseError, match="did you mean small/ease"):
        load("small/ease", "other", tmp_path)
    for place, kind in (
        (str(versions / "2024-02-01T00.00.00.000Z" / "encoder"), "a folder"),
        ("org/name", "a hub name"),
    ):
        with pytest.raises(EaseError, match=rf"{kind}, not a setting: load it with `SentenceTransformer\('{place}'\)`"):
            load(place, project=tmp_path)
    (tmp_path / "conf" / "base").mkdir(parents=True)
    (tmp_path / "conf" / "base" / "globals.yml").write_text("data: elsewhere\n")
    (tmp_path / "data").rename(tmp_path / "elsewhere")
    assert load("small", project=tmp_path).get_embedding_dimension() == encoder.get_embedding_dimension()
