"""The training texts that a recipe's `data` names, gathered into one file."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from ease.io.files import hash_contents, report_write_errors
from ease.io.lazy import ibis
from ease.io.models import StrictModel
from ease.io.parquet import read_parquet, write_parquet
from ease.pipelines.acquire.options import SAMPLE, AcquireOptions
from ease.pipelines.acquire.sample_wiki import sample_file
from ease.pipelines.recipe import CompleteRecipe, Recipe
from ease.texts import gather_texts, source_options
from ease.texts.components.mixture import open_workspace

SAMPLE_TEXTS = ("nli", "parallel_train")
"""The sample's own training texts, addressed as `sample:NAME`."""


class TextOptions(StrictModel):
    """Limits of gathering training texts."""

    memory_limit: str = Field("4GB", description="of DuckDB, which spills to disk beyond it")


def gather_data(
    recipe: Recipe | CompleteRecipe,
    seed: int,
    training_pairs: ibis.Table | None,
    acquire: AcquireOptions,
    options: TextOptions,
    folder: Path,
) -> tuple[Path, list[dict[str, Any]]]:
    """Gather a recipe's texts with a separate DuckDB, whichever engine computes the other tables.

    Args:
        recipe: Names the sources and the number of rows.
        seed: Chooses rows, languages and pairs.
        training_pairs: The setting's pairs, for sources of the kind `pairs`; None if there are none.
        acquire: Locates the sample, for addresses such as `sample:nli`.
        options: Limits.
        folder: Emptied first; receives the file.

    Returns:
        A Parquet file with pair_id, sentence, positive and negative; for each source, how many rows were read, skipped
        and used.

    Raises:
        EaseError: With the file, line or parameter that is wrong.
    """
    sources = [source_options(resolved(source, acquire)) for source in recipe.data or ()]
    file = folder / "texts.parquet"
    with report_write_errors(folder):
        shutil.rmtree(folder, ignore_errors=True)
        workspace = open_workspace(folder / "sources", options.memory_limit, pairs=training_pairs)
        gathered = gather_texts(sources, workspace, seed, recipe.rows)
        write_parquet(gathered.table, file)
        workspace.connection.disconnect()
        shutil.rmtree(workspace.folder)
    for line, source in zip(gathered.report, sources, strict=True):
        line["sha256"] = [hash_contents(place) for place in source.places if place.exists()]
    return file, gathered.report


def open_gathered(file: Path, options: TextOptions) -> ibis.Table:
    """Return the rows of a file that `gather_data` wrote, with a DuckDB of their own."""
    return read_parquet(open_workspace(file.parent, options.memory_limit).connection, [file])


def resolved(source: Mapping[str, Any], acquire: AcquireOptions) -> dict[str, Any]:
    """Replace an address such as `sample:nli` by the path of the sample's file.

    Raises:
        EaseError: If the sample has no such texts.
    """
    address = str(source.get("path", ""))
    if not address.startswith(SAMPLE):
        return dict(source)
    return {**source, "path": sample_file(address, SAMPLE_TEXTS, "training texts", acquire)}
