"""Biomedical entity linking: a mention has the concept of the nearest name (SapBERT; Mirror-BERT, Table 2)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from ease.evaluation.items import mean_items
from ease.evaluation.search import Flags, hits_within, nearest_neighbours
from ease.evaluation.tasks import Encode, Files, Score, averages, error_prefix, score_subsets
from ease.evaluation.tasks.components.mentions import (
    Names,
    Query,
    read_cometa,
    read_documents,
    read_mentions,
    read_names,
)
from ease.evaluation.tasks.components.options import SubsetOptions
from ease.evaluation.tasks.components.repetitions import repeated_score

logger = logging.getLogger(__name__)

TASK, METRIC, FIVE_METRIC = "bel", "accuracy_at_1", "accuracy_at_5"
KIND = "STS"
SOURCE = (
    "https://github.com/cambridgeltl/sapbert/tree/main/evaluation: mel-test-data.tar.gz, which contains "
    "ncbi-disease, bc5cdr-disease, bc5cdr-chemical and askapatient (AskAPatient: CC BY 4.0); cometa comes from "
    "its authors, https://github.com/cambridgeltl/cometa, and needs a licence for SNOMED CT"
)
WITHIN = {METRIC: 1, FIVE_METRIC: 5}
CANDIDATES = max(WITHIN.values()) + 1
"""Nearest names searched: one more than needed, to see ties with the last."""

FOLDS = 10
DOCUMENTS = ("ncbi-disease", "bc5cdr-disease", "bc5cdr-chemical")
COMETA = {"cometa-stratified": "stratified_general", "cometa-zeroshot": "zeroshot_general"}
DEVELOPMENT = {f"{name}-dev": split for name, split in COMETA.items()}
"""COMETA's development splits; Mirror-BERT tunes on that of the zero-shot split."""


class Options(SubsetOptions):
    """The folder of ncbi-disease, bc5cdr-disease, bc5cdr-chemical, askapatient and cometa, and the sets to score."""


def files(options: Options) -> Files:
    """The dictionary of each set, then its mentions: a folder of documents, ten folds, or one file."""
    known: dict[str, tuple[Path, ...]] = {}
    for name in DOCUMENTS:
        known[name] = (options.path / name / "test_dictionary.txt", options.path / name / "processed_test")
    patient = options.path / "askapatient"
    folds = (f"AskAPatient.fold-{fold}.test.preprocessed_query.txt" for fold in range(FOLDS))
    known["askapatient"] = (patient / "AskAPatient.dict.txt", *(patient / fold for fold in folds))
    cometa = options.path / "cometa"
    for name, split in (COMETA | DEVELOPMENT).items():
        part = "dev.csv" if name in DEVELOPMENT else "test.csv"
        known[name] = (cometa / "COMETA_id_sf_dictionary.txt", cometa / "splits" / split / part)
    return options.select(known)


def reader(subset: str) -> Callable[[Path], list[Query]]:
    """Return the function that reads the mentions of a set."""
    if subset in DOCUMENTS:
        return read_documents
    return read_cometa if subset in COMETA | DEVELOPMENT else read_mentions


def link(encode: Encode, names: Names, queries: list[Query], progress: str = "") -> dict[str, Flags]:
    """Search each query's parts among the names by cosine: whether all parts were found, (queries,), by metric.

    A part is found if one of its nearest names shares a concept with the query.
    """
    parts = list(dict.fromkeys(part for query in queries for part in query.parts))
    near = nearest_neighbours(encode(parts), encode(list(names)), CANDIDATES, progress=progress)
    rows = {part: row for row, part in enumerate(parts)}
    concepts = list(names.values())
    looked_up = [(rows[part], number) for number, query in enumerate(queries) for part in query.parts]
    cosines = near.cosines[[row for row, _ in looked_up]]
    right = np.array(
        [
            [not queries[number].concepts.isdisjoint(concepts[name]) for name in near.rows[row]]
            for row, number in looked_up
        ]
    )
    owners = np.array([number for _, number in looked_up])
    found = {}
    for metric, k in WITHIN.items():
        missed = owners[~hits_within(cosines, right, k)]
        found[metric] = ~np.isin(np.arange(len(queries)), missed)
    return found


def score_set(encode: Encode, subset: str, paths: tuple[Path, ...]) -> list[Score]:
    """Accuracy @1 and @5, in points: mean over the folds, with the standard deviation if there are several."""
    names = read_names(paths[0])
    folds = [reader(subset)(path) for path in paths[1:]]
    queries = [query for fold in folds for query in fold]
    known = set().union(*names.values())
    absent = sum(query.concepts.isdisjoint(known) for query in queries)
    with error_prefix(f"{TASK} {subset}"):
        found = link(encode, names, queries, f"{TASK} {subset}")
    ends = np.cumsum([len(fold) for fold in folds])[:-1]
    # The mean of folds of different sizes weights the mentions of each fold by its size.
    weights = np.concatenate([np.full(len(fold), len(queries) / len(fold) / len(folds)) for fold in folds])
    scores = [
        repeated_score(
            TASK,
            subset,
            metric,
            [float(np.mean(fold)) for fold in np.split(hits, ends)],
            items=mean_items(hits * weights, [query.parts for query in queries], weights),
        )
        for metric, hits in found.items()
    ]
    logger.info(
        "%s %s: accuracy @1 %.1f, @5 %.1f of %d mentions among %d names; %d mentions have concepts without a name",
        *(TASK, subset, *(score.value for score in scores), len(queries), len(names), absent),
    )
    return scores


def evaluate(encode: Encode, options: Options) -> list[Score]:
    """Accuracy @1 and @5 of each set, and their means."""
    chosen = files(options)
    scores = score_subsets(TASK, chosen, partial(score_set, encode))
    return [*scores, *averages(scores, len(chosen))]
