"""The nodes that select pairs and mine their hard negatives agree on which pairs are left."""

from __future__ import annotations

from typing import Any

import ibis
import pyarrow as pa
import pytest

from ease.entities.negatives import HardNegativeOptions
from ease.entities.pairs import PairOptions
from ease.entities.vocabulary import VocabularyOptions
from ease.errors import EaseError
from ease.pipelines.entity_pairs.nodes import make_pairs, make_vocabulary
from ease.pipelines.hard_negatives.nodes import add_hard_negatives
from ease.pipelines.setting import Setting

CITIES, RIVERS = [(1, "Berlin"), (2, "Roma"), (3, "Oslo")], [(11, "Spree")]
LINKS = [("Berlin", "Spree"), ("Roma", "Berlin"), ("Oslo", "Spree"), ("Spree", "Berlin")]
"""Title of a page, and the title that its second sentence links to."""

WIKIDATA = {"wikidata": "dump", "page_props": None}
NOTHING = {"wikidata": None, "page_props": None}


def setting() -> Setting:
    tasks = {"dev_tasks": "stsb:dev", "test_tasks": "stsb:test"}
    return Setting(name="s", languages="en", encoder="org/name", **tasks)


def tables() -> dict[str, ibis.Table]:
    """Pages of three cities and a river; only cities have other entities of their type."""
    numbers = {title: number for number, title in [*CITIES, *RIVERS]}
    keys = {"language": pa.string(), "page_id": pa.int64()}
    sentences = [
        {"language": "en", "page_id": page, "page_title": title, "sentence_index": index, "links": []}
        | {"text": f"{title} is the subject of sentence {index}."}
        for page, (title, _) in enumerate(LINKS)
        for index in (0, 1)
    ]
    links = [
        {"language": "en", "page_id": page, "sentence_index": 1, "title": target, "entity": numbers[target]}
        for page, (_, target) in enumerate(LINKS)
    ]
    link = pa.struct({"start": pa.int32(), "end": pa.int32(), "target": pa.string()})
    index = {"sentence_index": pa.int32()}
    sentence_schema = pa.schema(
        {**keys, "page_title": pa.string(), **index, "text": pa.string(), "links": pa.list_(link)}
    )
    link_schema = pa.schema({**keys, **index, "title": pa.string(), "entity": pa.int64()})
    sitelinks = {"qid": list(numbers.values()), "language": ["en"] * 4, "title": list(numbers)}
    types = {"qid": list(numbers.values()), "type_qid": [100, 100, 100, 101]}
    counts = list(range(4))
    vocabulary = {"row": counts, "entity": sorted(numbers.values()), "label": list("abcd")}
    vocabulary["link_count"] = counts
    made = (
        pa.Table.from_pylist(sentences, sentence_schema),
        pa.Table.from_pylist(links, link_schema),
        *(pa.table(columns) for columns in (sitelinks, types, vocabulary)),
    )
    names = ("sentences", "links", "sitelinks", "entity_types", "entity_vocabulary")
    return dict(zip(names, map(ibis.memtable, made), strict=True))


def run(dumps: dict[str, Any], without: str, **options: Any) -> tuple[list[dict[str, Any]], list[Any]]:
    """Select pairs, mine their negatives and count the filters; return the training pairs and the funnel."""
    given, negatives = tables(), HardNegativeOptions(without=without)
    chosen = {"dumps": dumps, "options": PairOptions(**options), "negatives": negatives, "setting": setting()}
    selected, funnel, _ = make_pairs(**given, **chosen, audit_pages=None)
    pairs = selected.to_pyarrow()
    mined = add_hard_negatives(ibis.memtable(pairs), **given, dumps=dumps, options=negatives).to_pyarrow()
    assert funnel["left"].sum() == len(pairs)
    return mined.to_pylist(), funnel.to_dict("records")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dumps", "without", "left"),
    [(WIKIDATA, "drop", 2), (WIKIDATA, "keep", 4), (NOTHING, "drop", 4), (NOTHING, "keep", 4)],
)
def test_selected_pairs_are_those_that_are_trained_on(dumps: dict[str, Any], without: str, left: int) -> None:
    mined, funnel = run(dumps, without)
    assert len(mined) == left
    assert funnel[0]["no_negative"] == 4 - left
    if left == 2:
        assert [row["entity"] for row in mined] == [1, 1]
        assert {row["hard_negative"] for row in mined} <= {2, 3}


def test_first_sentences_are_paired_with_the_entity_of_their_page() -> None:
    mined, _ = run(WIKIDATA, "drop", sentences="first")
    assert [(row["sentence"], row["entity"]) for row in mined] == [
        ("Berlin is the subject of sentence 0.", 1),
        ("Roma is the subject of sentence 0.", 2),
        ("Oslo is the subject of sentence 0.", 3),
    ]
    assert all(row["hard_negative"] in {1, 2, 3} - {row["entity"]} for row in mined)


def test_a_limit_that_leaves_no_entity_is_named_with_the_remedy() -> None:
    given, options = tables(), VocabularyOptions(min_link_count=10**6)
    with pytest.raises(EaseError, match="`min_link_count` 1000000 leaves no entity: none of the 4 .*Lower it"):
        make_vocabulary(given["links"], given["sitelinks"], options, setting())
