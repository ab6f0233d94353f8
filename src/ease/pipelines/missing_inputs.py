"""Find runs that read a dataset that neither an earlier run nor this one makes."""

from __future__ import annotations

from kedro.framework.project import pipelines
from kedro.io import AbstractDataset, CatalogProtocol
from kedro.pipeline import Pipeline


def find_missing_inputs(pipeline: Pipeline, catalog: CatalogProtocol) -> list[str]:  # type: ignore[type-arg]
    """Return a message for each version that does not exist, and one for the inputs that no run has made.

    Args:
        pipeline: The nodes that will run.
        catalog: Their datasets and parameters.
    """
    from ease.datasets.files import AtomicSave  # imports Plotly Express

    messages, missing = [], []
    for name in _missing(pipeline, catalog):
        dataset = catalog.get(name)
        assert isinstance(dataset, AtomicSave)
        if version := dataset.chosen_version:
            messages.append(f"`{name}` has no version {version}: see {dataset.folder_of(version).parent}.")
        else:
            missing.append(name)
    if missing:
        listed = ", ".join(f"`{name}`" for name in missing)
        makers = ",".join(_makers(missing, catalog))
        messages.append(f"No run has made {listed} yet: first run `kedro run --pipelines={makers}`.")
    return messages


def _missing(pipeline: Pipeline, catalog: CatalogProtocol) -> list[str]:  # type: ignore[type-arg]
    """Return the inputs of a pipeline that do not exist, and without which it cannot run."""
    from ease.datasets.files import AtomicSave

    datasets = {name: catalog.get(name) for name in sorted(pipeline.inputs())}
    return [
        name
        for name, dataset in datasets.items()
        if isinstance(dataset, AtomicSave) and isinstance(dataset, AbstractDataset)
        if not dataset.may_be_missing and not dataset.exists()
    ]


def _makers(names: list[str], catalog: CatalogProtocol) -> list[str]:  # type: ignore[type-arg]
    """Return the pipelines that make datasets and whatever is missing for that, in the order of the data."""
    chosen: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        making = [key for key, pipeline in pipelines.items() if name in pipeline.all_outputs()]
        smallest = min(making, key=lambda key: len(pipelines[key].nodes))
        if smallest not in chosen:
            chosen.add(smallest)
            waiting += _missing(pipelines[smallest], catalog)
    return [key for key in pipelines if key in chosen]
