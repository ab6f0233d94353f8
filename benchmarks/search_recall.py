"""Recall of the entities of held-out sentences: those nearest to them, and those of the nearest sentences.

    kedro run --pipelines=train_multilingual
    python -m benchmarks.search_recall

The queries are the sample's parallel sentences. Each states a fact about two entities that no page of the wiki states,
in all languages. `near` is the share of a sentence's entities among the 10 nearest entities of the search: rows of the
entity table, or without one, the means of the sentences that link to each. `found` is their share among the entities
that the 10 nearest sentences of the other languages link to.

The control is EASE+ trained once more with the same options on pairs whose entities are permuted within each language.
`own names` counts the nearest entities by the permutation of the sentence's language, which it was trained with.
The control's training is kept in `--work`, so that a second run of the command only prints.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import ibis
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.command_line import command_line_parser
from ease.encoders.encoder import load_encoder
from ease.encoders.encoding import encode_with
from ease.entities.permutation import permute_entities
from ease.evaluation.search import nearest_neighbours
from ease.reporting.markdown_tables import format_table
from ease.sample.facts import Entity
from ease.search import EXACT_LIMIT, MEMORY
from ease.search.engine import Opening, Sources
from ease.search.index import Index
from ease.training.job import run_job
from ease.training.options import TrainingJob

SETTING, METHOD, CONTROL = "multilingual", "ease_plus", "permuted"
KINDS = {"pays": ("territory", "currency"), "speaks": ("territory", "language")}
NEAREST = 10


def held_out(data: Path) -> pd.DataFrame:
    """Return the held-out sentences: language, text, entities (two numbers)."""
    (file,) = data.glob("01_raw/sample/sample-*/parallel.parquet")
    rows = pd.read_parquet(file)
    rows["entities"] = [entities_of(fact) for fact in rows["fact_id"]]
    return rows


def entities_of(fact: str) -> list[int]:
    """Return the Wikidata numbers of a fact's entities."""
    relation, *codes = fact.split(":")
    return [Entity(kind, code).qid for kind, code in zip(KINDS[relation], codes, strict=True)]


def train_control(sources: Sources, work: Path, seed: int) -> Path:
    """Train EASE+ with its own options on permuted pairs; return the encoder's folder."""
    made = sources.data / "06_models" / "work" / f"{SETTING}.{METHOD}" / "job.json"
    if not made.is_file():
        raise SystemExit(f"{made} does not exist: run the first command of --help.")
    job = TrainingJob.model_validate_json(made.read_text(encoding="utf-8"))
    assert job.vocabulary is not None
    work.mkdir(parents=True, exist_ok=True)
    pairs = work / f"{CONTROL}-{seed}.parquet"
    if not pairs.exists():
        permute_entities(ibis.read_parquet(job.pairs), ibis.read_parquet(job.vocabulary), seed).to_parquet(
            pairs
        )
    result = run_job(
        job.model_copy(update={"folder": work / f"{CONTROL}-{seed}", "pairs": pairs, "card": None})
    )
    return result.model


def permuted_entities(sources: Sources, queries: pd.DataFrame, seed: int) -> list[list[int]]:
    """Return the entities of each sentence by the permutation of its language."""
    vocabulary = ibis.read_parquet(sources.table("03_primary", "entity_vocabulary.parquet")[0])
    each = queries[["language", "entities"]].explode("entities").reset_index(names="sentence")
    pairs = pd.DataFrame(
        {
            "pair_id": np.arange(len(each)),
            "language": each["language"],
            "entity": each["entities"].astype("int64"),
        }
    )
    renamed = permute_entities(ibis.memtable(pairs), vocabulary, seed).to_pandas()
    return renamed.groupby(each["sentence"].to_numpy())["entity"].agg(list).tolist()


def recall(found: Sequence[set[int]], wanted: Sequence[Sequence[int]]) -> float:
    """Return the mean share of the wanted entities among those found, in per cent."""
    shares = [
        len(own & set(entities)) / len(set(entities)) for own, entities in zip(found, wanted, strict=True)
    ]
    return round(100 * float(np.mean(shares)), 1)


def found_by(index: Index, queries: pd.DataFrame, embeddings: NDArray[np.float32]) -> list[set[int]]:
    """Return the entities that the nearest sentences of the other languages link to, for each sentence."""
    every = np.arange(index.description.rows)
    vectors, linked = index.vectors(every), [row["entities"] or () for row in index.sentences.rows(every)]
    found: list[set[int]] = [set() for _ in range(len(queries))]
    for language, (start, end) in index.description.languages.items():
        own = np.flatnonzero(queries["language"] == language)
        others = np.delete(np.arange(len(vectors)), np.s_[start:end])
        if len(own):
            near = nearest_neighbours(embeddings[own], vectors[others], NEAREST).rows
            for query, rows in zip(own, others[near], strict=True):
                found[query] = {entity for row in rows for entity in linked[row]}
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the arguments, train the control, measure and print a Markdown table."""
    parser = command_line_parser(__doc__)
    parser.add_argument("--project", type=Path, default=Path("."))
    parser.add_argument("--work", type=Path, default=Path("data/06_models/work/search_recall"))
    parser.add_argument("--seed", type=int, default=1, help="seed of the permutation")
    parser.add_argument("--sentences", type=int, help="held-out sentences to draw; default: all")
    given = parser.parse_args(arguments)
    sources = Sources.of_project(given.project, SETTING)
    queries = held_out(sources.data)
    if given.sentences:
        queries = queries.sample(given.sentences, random_state=given.seed).reset_index(drop=True)
    wanted = queries["entities"].tolist()
    models = {name: Path(sources.model(name).location) for name in ("untrained", "simcse", METHOD)}
    models[CONTROL] = train_control(sources, given.work, given.seed)
    rows = []
    for name, encoder in models.items():
        opening = Opening(sources, str(encoder), given.work / name / "index")
        opening.build(MEMORY, EXACT_LIMIT, lambda done, total: None)
        search = opening.search(MEMORY)
        assert search.entities is not None
        embeddings = encode_with(load_encoder(str(encoder)))(queries["text"].tolist())
        near = [{row["entity"] for row, _ in search.entities.nearest(one, NEAREST)} for one in embeddings]
        row = {"model": name, "sentences": len(queries), "near": str(recall(near, wanted)), "own names": "–"}
        if name == CONTROL:
            row["own names"] = str(recall(near, permuted_entities(sources, queries, given.seed)))
        row["found"] = str(recall(found_by(search.index, queries, embeddings), wanted))
        rows.append(row)
    print(format_table(pd.DataFrame(rows)))


if __name__ == "__main__":
    main()
