"""The configuration is resolved once, and again when the runtime parameters change."""

from __future__ import annotations

from pathlib import Path

from ease.hooks.names import ConfigLoader
from ease.settings import CONFIG_LOADER_ARGS


def make_loader(folder: Path) -> ConfigLoader:
    for env, text in {"base": "size: 1\nshape:\n  side: ${size}\n  name: square", "paper": "size: 5"}.items():
        (folder / env).mkdir()
        (folder / env / "parameters.yml").write_text(text)
    (folder / "local").mkdir()
    return ConfigLoader(str(folder), **CONFIG_LOADER_ARGS)


def test_files_are_read_once_and_readers_do_not_share_values(tmp_path: Path) -> None:
    loader = make_loader(tmp_path)
    first = loader["parameters"]
    first["shape"]["name"] = "changed by a reader"
    (tmp_path / "base" / "parameters.yml").write_text("size: 2")
    assert loader["parameters"] == {"size": 1, "shape": {"side": 1, "name": "square"}, "engine": "duckdb"}


def test_changed_runtime_parameters_are_followed(tmp_path: Path) -> None:
    loader = make_loader(tmp_path)
    assert loader["parameters"]["shape"]["side"] == 1
    loader.runtime_params = {"size": 3}
    assert loader["parameters"]["shape"]["side"] == 3
    loader.runtime_params["size"] = 4
    assert loader["parameters"]["shape"]["side"] == 4


def test_an_environment_overrides_single_values(tmp_path: Path) -> None:
    make_loader(tmp_path)
    loader = ConfigLoader(str(tmp_path), env="paper", **CONFIG_LOADER_ARGS)
    assert loader["parameters"] == {"size": 5, "shape": {"side": 1, "name": "square"}, "engine": "duckdb"}
