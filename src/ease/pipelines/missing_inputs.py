"""Find runs that read a dataset that neither an earlier run nor this one makes."""

from __future__ import annotations

from kedro.framework.project import pipelines
from kedro.io import AbstractDataset, CatalogProtocol
from kedro.pipeline import Pipeline


def find_missing_inputs(pipeline: Pipeline, catalog: CatalogProtocol) -> list[str]:  # type: ignore[type-arg]
    """Return a message for each missing version of an input, and one for all missing inputs of each pipeline.

    Args:
        pipeline: The nodes that will run.
        catalog: Their datasets and parameters.
    """
    from ease.datasets.files import AtomicSave  # imports Plotly Express

    messages: list[str] = []
    by_maker: dict[str, list[str]] = {}
    for name in sorted(pipeline.inputs()):
        dataset = catalog.get(name)
        if not isinstance(dataset, AtomicSave) or dataset.may_be_missing:
            continue
        if isinstance(dataset, AbstractDataset) and dataset.exists():
            continue
        if version := dataset.chosen_version:
            messages.append(f"`{name}` has no version {version}: see {dataset.folder_of(version).parent}.")
        else:
            by_maker.setdefault(_maker(name), []).append(name)
    for maker, names in by_maker.items():
        listed = ", ".join(f"`{name}`" for name in names)
        messages.append(f"No run has made {listed} yet: first run `kedro run --pipelines={maker}`.")
    return messages


def _maker(name: str) -> str:
    """Return the smallest pipeline that makes a dataset."""
    makers = [key for key, pipeline in pipelines.items() if name in pipeline.all_outputs()]
    return min(makers, key=lambda key: len(pipelines[key].nodes))
