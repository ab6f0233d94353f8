"""Write the sample's Wikidata dump: one item per line, with ranks, gaps and other entities as in the real dump."""

from __future__ import annotations

import bz2
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ease.sample.dump_files import DUMP_DATE
from ease.sample.facts import KINDS, QID_BASE, Entity, World
from ease.sample.phrases import Phrasebook

WIKIDATA_NAME = f"wikidata-{DUMP_DATE}-all.json.bz2"
MULTILINGUAL, WIDESPREAD, SHARED, CODED, TYPELESS = range(QID_BASE + 11, QID_BASE + 16)
"""Further classes: of territories with several languages, of languages and currencies of several territories, etc."""

_PROPERTIES = {"P31": "instance of", "P361": "part of"}
Json = dict[str, Any]


def class_of(kind: str) -> int:
    """Return the item number of a kind's class."""
    return QID_BASE + 1 + KINDS.index(kind)


def write_wikidata(path: Path, entities: Iterable[Json]) -> None:
    """Write the dump: an array with one entity per line."""
    lines = [json.dumps(entity, ensure_ascii=False, separators=(",", ":")) for entity in entities]
    path.write_bytes(bz2.compress(("[\n" + ",\n".join(lines) + "\n]\n").encode(), compresslevel=1))


def entity_classes(world: World) -> dict[Entity, tuple[int, ...]]:
    """Return the classes of each entity by its preferred statements, else its normal ones."""
    uses = Counter(
        entity
        for fact in world.facts
        for entity, relation in ((fact.subject, "speaks"), (fact.object, "speaks"), (fact.object, "pays"))
        if fact.relation == relation
    )
    second = {"territory": MULTILINGUAL, "language": WIDESPREAD, "currency": SHARED}
    return {
        entity: (class_of(entity.kind), second[entity.kind])
        if entity.kind in second and uses[entity] > 1
        else (class_of(entity.kind),)
        for entity in world.entities
    }


def wikidata_entities(world: World, books: Mapping[str, Phrasebook]) -> Iterator[Json]:
    """Yield the entities in the order of the dump."""
    for identifier, label in _PROPERTIES.items():
        yield {
            "type": "property",
            "datatype": "wikibase-item",
            "id": identifier,
            "labels": {"en": {"language": "en", "value": label}},
            "claims": {"P31": [_statement("P31", identifier, TYPELESS)]},
        }
    for kind in KINDS:
        labels = {language: book.words[kind]["short"] for language, book in books.items()}
        yield _item(class_of(kind), labels, {"P31": []}, {})
    parts = {fact.subject: fact.object for fact in world.facts if fact.relation in ("located", "part")}
    for number, (entity, classes) in enumerate(entity_classes(world).items()):
        wikis = {language: book.wiki for language, book in books.items() if entity in book.wiki.names}
        labels = {language: wiki.names[entity] for language, wiki in wikis.items()}
        titles = {language: wiki.titles[entity] for language, wiki in wikis.items()}
        claims = {"P31": _instance_of(entity, classes, number)}
        if entity in parts:
            claims["P361"] = [_statement("P361", f"Q{entity.qid}", parts[entity].qid)]
        yield _item(entity.qid, {} if number % 50 == 9 else labels, claims, titles)


def _instance_of(entity: Entity, classes: tuple[int, ...], number: int) -> list[Json]:
    """Return the statements of P31; some items have preferred or deprecated statements or an unknown value."""
    identifier = f"Q{entity.qid}"
    rank = "preferred" if number % 10 == 3 else "normal"
    statements = [_statement("P31", identifier, value, rank) for value in classes]
    if rank == "preferred":
        statements.append(_statement("P31", identifier, CODED))
    if number % 10 == 5:
        wrong = class_of(KINDS[(KINDS.index(entity.kind) + 1) % len(KINDS)])
        statements.insert(0, _statement("P31", identifier, wrong, "deprecated"))
    if number % 10 == 7:
        statements.append(_statement("P31", identifier, None))
    return statements


def _statement(property_id: str, subject: str, value: int | None, rank: str = "normal") -> Json:
    """Return a statement; value None means an unknown value."""
    snak: Json = {"snaktype": "somevalue", "property": property_id, "datatype": "wikibase-item"}
    if value is not None:
        item = {"entity-type": "item", "numeric-id": value, "id": f"Q{value}"}
        snak |= {"snaktype": "value", "datavalue": {"value": item, "type": "wikibase-entityid"}}
    return {"mainsnak": snak, "type": "statement", "id": f"{subject}${property_id}-{value}", "rank": rank}


def _item(
    qid: int, labels: Mapping[str, str], claims: Mapping[str, list[Json]], titles: Mapping[str, str]
) -> Json:
    sitelinks = {
        f"{language}wiki": {"site": f"{language}wiki", "title": title, "badges": []}
        for language, title in titles.items()
    }
    if titles:
        sitelinks["commonswiki"] = {"site": "commonswiki", "title": f"Category:Q{qid}", "badges": []}
    return {
        "type": "item",
        "id": f"Q{qid}",
        "labels": {language: {"language": language, "value": label} for language, label in labels.items()},
        "descriptions": {},
        "aliases": [],  # PHP writes an empty map as a list; the real dump has both forms
        "claims": {property_id: statements for property_id, statements in claims.items() if statements},
        "sitelinks": sitelinks,
        "lastrevid": qid - QID_BASE,
    }
