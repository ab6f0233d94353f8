"""Compare mining among candidates that share entities with exhaustive search, on planted parallel sentences.

    kedro run
    python -m benchmarks.bitext_mining
    python -m benchmarks.bitext_mining --languages de ja --min-score 1.2

The sample wiki's held-out facts are planted in its pages: half of them in both languages, a quarter in each language
alone, so that a third of a side's planted sentences have no counterpart. All pages have 20 sentences: those of the
wiki's articles about the same items, the planted ones among them. Planted sentences have no links: only the item of
their page makes them candidates. Two sentences of the wikis about the same entities may state the same fact: only one
language keeps them. Every pair but the planted ones is wrong.
"""

from __future__ import annotations

import random
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import ibis
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.command_line import command_line_parser
from ease.encoders.encoder import load_encoder
from ease.encoders.encoding import encode_with
from ease.entities.bitext import CandidateOptions, find_candidates, number_sentences
from ease.entities.links import page_subjects, resolve_links
from ease.entities.sentences import SENTENCE_KEY
from ease.evaluation.mining import Matches, MinedPairs, best_threshold, mining_score, one_to_one
from ease.evaluation.search import Neighbours, candidate_neighbours, mutual_neighbours
from ease.io.parquet import read_parquet
from ease.reporting.markdown_tables import format_table
from ease.sample import SampleFiles, SampleOptions, write_sample
from ease.texts.bitext.options import MiningOptions
from ease.wikimedia.dumps.files import find_dumps
from ease.wikimedia.dumps.options import IngestOptions
from ease.wikimedia.languages import PAPER_LANGUAGES
from ease.wikimedia.wikidata.json_dump import ingest_wikidata
from ease.wikimedia.wikipedia.ingestion import ingest_wikipedia

PAGE = 20
"""Sentences on a page."""
NEIGHBOURS = 4
PIVOT = "en"

Encode = Callable[[Sequence[str]], NDArray[np.float32]]


class Line(NamedTuple):
    """A sentence of a page."""

    text: str
    entities: frozenset[int]
    """Those that the sentence links to"""
    fact: str = ""
    """The planted fact; empty for a sentence of the wiki"""


Pages = dict[int, list[Line]]
"""Sentences by item"""


class Planted(NamedTuple):
    """Pages of two languages, as tables, and the facts of their sentences."""

    sentences: ibis.Table
    links: ibis.Table
    sitelinks: ibis.Table
    facts: dict[str, list[str]]
    """By language, in the order of pages and sentences"""


def newest_encoder(data: Path) -> str:
    """Return the newest encoder of EASE+ below the data folder."""
    folder = data / "06_models" / "multilingual" / "ease_plus" / "latest"
    if not folder.exists():
        raise SystemExit(f"{folder} does not exist: run `kedro run`, or name another one by --encoder.")
    return str(folder)


def read_articles(sample: SampleFiles, languages: Sequence[str], work: Path) -> dict[str, Pages]:
    """Return the sentences with links of every article that has an item, by language and item.

    Args:
        sample: The sample wiki.
        languages: Languages to read.
        work: Folder of the parsed parts.
    """
    options = IngestOptions(splitter="icu")
    wiki = ingest_wikipedia(find_dumps(sample.wikipedia, languages), options, work)
    items = ingest_wikidata(sample.wikidata, languages, options, work)
    engine = ibis.duckdb.connect()
    sentences, redirects, sitelinks = (
        read_parquet(engine, parts) for parts in (wiki.sentences, wiki.redirects, items.sitelinks)
    )
    links = resolve_links(sentences, redirects, sitelinks, languages)
    linked = links.group_by(SENTENCE_KEY).agg(entities=links.entity.collect())
    rows = sentences.inner_join(linked, SENTENCE_KEY).inner_join(
        page_subjects(sentences, sitelinks), ["language", "page_id"]
    )
    articles: dict[str, Pages] = defaultdict(lambda: defaultdict(list))
    for row in rows.order_by(SENTENCE_KEY).to_pandas().itertuples():
        articles[row.language][row.entity].append(Line(row.text, frozenset(map(int, row.entities))))
    return articles


def without_common_facts(left: Pages, right: Pages) -> tuple[Pages, Pages]:
    """Keep sentences that may state the same fact in one of the two languages.

    They may if their entities are equal, with or without the items of their pages. The entities' numbers choose the
    language.
    """
    common = _all_keys(left) & _all_keys(right)

    def kept(side: Pages, parity: int) -> Pages:
        return {
            item: [
                line
                for line in lines
                if all(sum(key) // 2 % 2 == parity for key in _keys(line, item) if key in common)
            ]
            for item, lines in side.items()
        }

    return kept(left, 0), kept(right, 1)


def _all_keys(side: Pages) -> set[frozenset[int]]:
    return {key for item, lines in side.items() for line in lines for key in _keys(line, item)}


def _keys(line: Line, item: int) -> tuple[frozenset[int], frozenset[int]]:
    """Return the entities that a sentence may be about, without and with the item of its page."""
    return line.entities, line.entities | {item}


def plant(
    left: Pages, right: Pages, facts: pd.DataFrame, seed: int
) -> Iterator[tuple[int, list[Line], list[Line]]]:
    """Yield pages: their item, and 20 sentences of each language.

    Args:
        left: Articles by item.
        right: Articles of the other language.
        facts: Column fact_id, and a column of texts for each side.
        seed: Decides which facts are planted where.
    """
    chance = random.Random(seed)
    rows = facts.sample(frac=1, random_state=seed).to_dict("records")
    half, quarter = len(rows) // 2, len(rows) // 4
    planted = {
        "left": [Line(row["left"], frozenset(), row["fact_id"]) for row in rows[: half + quarter]],
        "right": [
            Line(row["right"], frozenset(), row["fact_id"]) for row in rows[:half] + rows[half + quarter :]
        ],
    }
    blocks = list(_blocks(left, right))
    places: dict[str, dict[int, list[Line]]] = {side: defaultdict(list) for side in planted}
    chosen = {row["fact_id"]: chance.randrange(len(blocks)) for row in rows}
    for side, lines in planted.items():
        for line in lines:
            places[side][chosen[line.fact]].append(line)
    for number, (item, *sides) in enumerate(blocks):
        pages = []
        for side, lines in zip(("left", "right"), sides, strict=True):
            own = places[side][number]
            page = [*lines[: PAGE - len(own)], *own]
            chance.shuffle(page)
            pages.append(page)
        yield item, pages[0], pages[1]


def _blocks(left: Pages, right: Pages) -> Iterator[tuple[int, list[Line], list[Line]]]:
    """Yield the sentences of successive items of both languages, at least 20 a side, with the first item."""
    sides: tuple[list[Line], list[Line]] = ([], [])
    first = 0
    for item in sorted(left.keys() & right.keys()):
        first = first or item
        sides[0].extend(left[item])
        sides[1].extend(right[item])
        if min(map(len, sides)) >= PAGE:
            yield first, *sides
            sides, first = ([], []), 0


def as_tables(pages: Sequence[tuple[int, list[Line], list[Line]]], languages: tuple[str, str]) -> Planted:
    """Return pages as the tables that ingestion writes."""
    sentences, links, sitelinks = [], [], []
    facts: dict[str, list[str]] = {language: [] for language in languages}
    for page, (item, *sides) in enumerate(pages):
        for language, lines in zip(languages, sides, strict=True):
            sitelinks.append({"qid": item, "language": language, "title": str(item)})
            for index, line in enumerate(lines):
                key = {"language": language, "page_id": page, "sentence_index": index}
                about = {"page_title": str(item), "revision_id": page, "text": line.text, "links": [0]}
                sentences.append({**key, **about})
                links += [{**key, "entity": entity} for entity in line.entities]
                facts[language].append(line.fact)
    tables = [ibis.memtable(pd.DataFrame(rows)) for rows in (sentences, links, sitelinks)]
    return Planted(tables[0], tables[1], tables[2], facts)


def measure(planted: Planted, languages: tuple[str, str], encode: Encode, min_score: float) -> dict[str, Any]:
    """Mine exhaustively and among candidates, and return a row of comparisons and F1."""
    options = CandidateOptions(pivot=languages[0], min_characters=1, max_characters=10_000)
    numbered = number_sentences(planted.sentences, planted.sitelinks, [languages], options).cache()
    candidates = find_candidates(numbered, planted.links, [languages], options).to_pandas()
    texts = numbered.to_pandas()
    left, right = (
        _units(encode(texts[texts.language == language].sort_values("row")["text"].tolist()))
        for language in languages
    )
    block = candidates["left"].to_numpy(), candidates["right"].to_numpy()
    found = {
        "exhaustive": mutual_neighbours(left, right, NEIGHBOURS),
        "candidates": candidate_neighbours(left, right, [block], NEIGHBOURS),
    }
    rows = {name: _f1(near, planted, languages, min_score) for name, near in found.items()}
    return {
        "languages": "-".join(languages),
        "pages": len(left) // PAGE,
        "compared %": 100 * len(candidates) / (len(left) * len(right)),
        **{f"{score}, {name}": row[score] for score in rows["candidates"] for name, row in rows.items()},
        "of exhaustive %": 100 * rows["candidates"]["F1"] / rows["exhaustive"]["F1"],
    }


def _units(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    units: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return units


def _f1(
    near: tuple[Neighbours, Neighbours], planted: Planted, languages: tuple[str, str], min_score: float
) -> dict[str, float]:
    """Return F1, in points, of the one-to-one matches at the best margin and at a given one, and the best margin."""
    matches = one_to_one(*near)
    mined = MinedPairs(matches.scores, _right(matches, planted, languages), _gold(planted, languages))
    best = best_threshold(mined)
    found = [100 * mining_score(mined, least).f1 for least in (best, min_score)]
    return {"F1": found[0], "margin": best, f"F1 at {min_score}": found[1]}


def _right(matches: Matches, planted: Planted, languages: tuple[str, str]) -> NDArray[np.bool_]:
    left, right = (np.array(planted.facts[language]) for language in languages)
    own = left[matches.queries]
    same: NDArray[np.bool_] = (own != "") & (own == right[matches.targets])
    return same


def _gold(planted: Planted, languages: tuple[str, str]) -> int:
    sides = [set(planted.facts[language]) - {""} for language in languages]
    return len(sides[0] & sides[1])


def main() -> None:
    """Print one row for each language, and the means."""
    parser = command_line_parser(__doc__)
    parser.add_argument("--encoder", help="folder or hub name; default: the newest encoder of `ease_plus`")
    parser.add_argument("--languages", nargs="*", help="languages to compare with English; default: all")
    parser.add_argument("--sentences", type=int, default=12_000, help="sentences of each language's wiki")
    parser.add_argument("--min-score", type=float, default=MiningOptions().min_score)
    parser.add_argument(
        "--seed", type=int, default=42, help="seed of the sample that the encoder is trained on"
    )
    given = parser.parse_args()
    encode = encode_with(load_encoder(given.encoder or newest_encoder(Path("data"))))
    languages = given.languages or [language for language in PAPER_LANGUAGES if language != PIVOT]
    with tempfile.TemporaryDirectory() as folder:
        options = SampleOptions(seed=given.seed, sentences_per_language=given.sentences)
        sample = write_sample(Path(folder), PAPER_LANGUAGES, options)
        articles = read_articles(sample, [PIVOT, *languages], Path(folder))
        facts = pd.read_parquet(sample.parallel)
    texts = facts.pivot(index="fact_id", columns="language", values="text").reset_index()
    rows = []
    for language in languages:
        sides = without_common_facts(articles[PIVOT], articles[language])
        chosen = pd.DataFrame({"fact_id": texts["fact_id"], "left": texts[PIVOT], "right": texts[language]})
        planted = as_tables(list(plant(*sides, chosen, given.seed)), (PIVOT, language))
        rows.append(measure(planted, (PIVOT, language), encode, given.min_score))
    means = pd.DataFrame(rows).mean(numeric_only=True).to_dict()
    print(format_table(pd.DataFrame([*rows, {"languages": "mean", **means}]), decimals=2))


if __name__ == "__main__":
    main()
