"""Write the inputs of every version beside it; refuse `--only-missing-outputs` over stale versions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kedro.framework.hooks import hook_impl
from kedro.io import AbstractVersionedDataset, DataCatalog
from kedro.io.core import VersionNotFoundError, is_parameter
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node
from pydantic import TypeAdapter

from ease.errors import EaseError
from ease.io.addresses import is_remote, upload_text
from ease.io.atomic import write_text_atomically
from ease.io.result_versions import code_version
from ease.io.nested import dotted
from ease.io.versions import SIDECAR

_JSON = TypeAdapter(Any)


SHOWN = 3
"""Differences that a message shows"""


class Provenance:
    """Writes a sidecar into every version's folder; refuses to keep stale outputs."""

    def __init__(self) -> None:
        self._catalog: DataCatalog | None = None
        self._made_from: dict[str, dict[str, Any]] = {}

    @hook_impl
    def before_pipeline_run(
        self, run_params: dict[str, Any], pipeline: Pipeline, catalog: DataCatalog
    ) -> None:
        """Refuse `--only-missing-outputs` if an output that it would keep is stale.

        Raises:
            EaseError: With the dataset and what differs.
        """
        self._catalog = catalog
        if run_params.get("only_missing_outputs"):
            for node in pipeline.nodes:
                _refuse_stale_outputs(node, catalog)

    @hook_impl
    def before_node_run(self, node: Node, catalog: DataCatalog, inputs: dict[str, Any]) -> None:
        """Remember the node's parameters and the versions of its inputs."""
        parameters = {name: value for name, value in inputs.items() if is_parameter(name)}
        self._made_from[node.name] = _provenance(node, catalog, parameters)

    @hook_impl
    def before_dataset_saved(self, dataset_name: str, node: Node) -> None:
        """Write the sidecar first, so that every version has one."""
        assert self._catalog is not None
        dataset = self._catalog.get(dataset_name)
        if isinstance(dataset, AbstractVersionedDataset) and (version := dataset.resolve_save_version()):
            made_from = {"dataset": dataset_name, **self._made_from[node.name]}
            _write_sidecar(_folder(dataset, version), made_from)


def _write_sidecar(folder: Path, made_from: dict[str, Any]) -> None:
    text = json.dumps(made_from, indent=2)
    if is_remote(folder):
        upload_text(text, folder / SIDECAR)
        return
    write_text_atomically(folder / SIDECAR, text)


def _refuse_stale_outputs(node: Node, catalog: DataCatalog) -> None:
    datasets = {name: catalog.get(name) for name in node.outputs}
    versioned = {name: ds for name, ds in datasets.items() if isinstance(ds, AbstractVersionedDataset)}
    if not versioned or not all(dataset.exists() for dataset in versioned.values()):
        return
    parameters = {name: catalog.load(name) for name in node.inputs if is_parameter(name)}
    now = _provenance(node, catalog, parameters)
    for name, dataset in versioned.items():
        sidecar = _folder(dataset, dataset.resolve_load_version() or "") / SIDECAR
        then = json.loads(sidecar.read_text(encoding="utf-8")) if sidecar.is_file() else {}
        if differing := [key for key in now if now[key] != then.get(key)]:
            changes = "".join(_changes(then.get(key), now[key]) for key in differing)
            raise EaseError(
                f"`{name}` was made from other {' and '.join(differing)} than this run would use{changes}: "
                "run without --only-missing-outputs, or delete that version."
            )


def _changes(old: Any, new: Any) -> str:
    """Return the first different values of two nested mappings in brackets."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return ""
    then, now = dotted(old), dotted(new)
    keys = [key for key in sorted({*then, *now}) if then.get(key) != now.get(key)]
    shown = [f"`{key}`: {then.get(key)!r} then, {now.get(key)!r} now" for key in keys[:SHOWN]]
    more = [f"{len(keys) - SHOWN} more"] if len(keys) > SHOWN else []
    return f" ({'; '.join([*shown, *more])})"


def _provenance(node: Node, catalog: DataCatalog, parameters: dict[str, Any]) -> dict[str, Any]:
    return {
        "code": code_version(),
        "parameters": {name: _JSON.dump_python(value, mode="json") for name, value in parameters.items()},
        "inputs": input_versions(node, catalog),
    }


def input_versions(node: Node, catalog: DataCatalog) -> dict[str, str | None]:
    """Return the version of each versioned input of a node; None if no version exists."""
    versions: dict[str, str | None] = {}
    for name in node.inputs:
        dataset = None if is_parameter(name) else catalog.get(name)
        if isinstance(dataset, AbstractVersionedDataset):
            try:
                versions[name] = dataset.resolve_load_version()
            except VersionNotFoundError:
                versions[name] = None
    return versions


def _folder(dataset: AbstractVersionedDataset[Any, Any], version: str) -> Path:
    from ease.datasets.files import AtomicSave  # imports Plotly Express

    if isinstance(dataset, AtomicSave):
        return dataset.folder_of(version)
    return Path(dataset._get_versioned_path(version)).parent
