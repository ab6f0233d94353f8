"""Scores of published models, measured here, against the figures printed for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from ease.reporting.own import OwnModel
from ease.reporting.published import Model, Published

COLUMNS = ("paper", "table", "row", "baseline", "column", "printed", "here", "difference", "note")
"""Columns of the comparison: one row a printed figure; `here` is missing if it could not be measured."""

_DECIMALS = 6
"""Differences are rounded, so that 72.8 - 72.5 is not larger than 0.3."""


def printed_figures(published: Published, model: OwnModel) -> Iterator[tuple[str, str, str, str, float]]:
    """Yield (paper, table, row, column, figure) of each figure that is printed for a model.

    Args:
        published: The papers' tables.
        model: A published checkpoint, or an encoder that a paper scores without training.
    """
    for name, paper in published.root.items():
        for number, table in paper.tables.items():
            for row, figures in table.rows.items():
                if not _same(model, paper.models[row]):
                    continue
                for column, figure in zip(table.columns, figures, strict=True):
                    if figure is not None:
                        yield name, number, row, column.header, figure


def printed_tasks(published: Published, model: OwnModel) -> tuple[str, ...]:
    """Return the tasks of the figures that are printed for a model."""
    return tuple(
        dict.fromkeys(
            source.task
            for paper, table, _, column, _ in printed_figures(published, model)
            for source in published.root[paper].sources(table, column)
        )
    )


def compare_with_printed(published: Published, models: Sequence[OwnModel]) -> pd.DataFrame:
    """Compare models with every figure that is printed for them.

    Returns:
        One row per figure, with `COLUMNS`; scores in points.
    """
    rows = []
    for model in models:
        for paper, table, row, column, figure in printed_figures(published, model):
            measured = model.measure(published.root[paper].sources(table, column))
            here = measured.mean if measured.comparable else None
            missing = ", ".join(f"{source.task} {source.subset}" for source in measured.missing)
            note = measured.note if here is not None or not missing else f"not scored: {missing}"
            difference = None if here is None else round(here - figure, _DECIMALS)
            heading = published.root[paper].short
            rows.append((heading, table, row, model.method, column, figure, here, difference, note))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _same(model: OwnModel, published: Model) -> bool:
    """Whether a figure is of this checkpoint; one of its pooling, where the paper scores several."""
    of_pooling = not published.pooling or published.pooling == model.pooling
    return model.is_like(published) and (of_pooling or bool(published.checkpoints))
