"""Croissant metadata of a data set's Parquet files, in version 1.0 (https://docs.mlcommons.org/croissant/docs/croissant-spec.html)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ease.io.files import hash_contents

FILE = "croissant.json"
_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
_TYPES = {pa.string(): "sc:Text", pa.int64(): "sc:Integer", pa.date32(): "sc:Date"}
_DESCRIPTIONS = {
    "sentence": "First sentence of the article",
    "category": "Topic of the article, in English",
    "page_id": "Page of the language's Wikinews",
    "title": "Title of the page",
    "revision_id": "Revision of the page that was read",
    "revised": "Day of this revision",
    "date": "Day in the article's own date line",
    "dump_date": "Date of the dump",
    "licence": "Licence of the text at this revision",
}


def write_croissant(folder: Path, counts: Mapping[str, Mapping[str, Any]]) -> None:
    """Write `croissant.json`: the Parquet files with their checksums, and a record set for each.

    Args:
        folder: Has the Parquet files and gets the metadata.
        counts: For each language `licences`, the numbers of rows by licence.
    """
    licences = sorted({licence for found in counts.values() for licence in found["licences"]})
    paths = sorted(folder.glob("*.parquet"))
    metadata = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": "MewsC-16",
        "description": "News sentences in several languages with their topics, for measuring how well sentence "
        "embeddings cluster them.",
        "license": [_licence_address(licence) for licence in licences],
        "url": "https://aclanthology.org/2022.naacl-main.284/",
        "citeAs": "Nishikawa et al. 2022: EASE: Entity-Aware Contrastive Learning of Sentence Embedding",
        "datePublished": "2022-05-09",
        "version": "2.0.0",
        "inLanguage": sorted(counts),
        "distribution": [_file_object(path) for path in paths],
        "recordSet": [_record_set(path) for path in paths],
    }
    text = json.dumps(metadata, ensure_ascii=False, indent=2)
    (folder / FILE).write_text(f"{text}\n", encoding="utf-8")


def _licence_address(licence: str) -> str:
    """Return the address of a Creative Commons licence (`cc-by-sa-4.0`); other names as they are."""
    if not licence.startswith("cc-by"):
        return licence
    kind, _, version = licence.removeprefix("cc-").rpartition("-")
    return f"https://creativecommons.org/licenses/{kind}/{version}/"


def _file_object(path: Path) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": path.name,
        "name": path.name,
        "contentUrl": path.name,
        "encodingFormat": "application/x-parquet",
        "sha256": hash_contents(path),
    }


def _record_set(path: Path) -> dict[str, Any]:
    return {"@type": "cr:RecordSet", "@id": path.stem, "name": path.stem, "field": list(_fields(path))}


def _fields(path: Path) -> Iterator[dict[str, Any]]:
    for field in pq.read_schema(path):
        yield {
            "@type": "cr:Field",
            "@id": f"{path.stem}/{field.name}",
            "name": field.name,
            "description": _DESCRIPTIONS[field.name],
            "dataType": _TYPES[field.type],
            "source": {"fileObject": {"@id": path.name}, "extract": {"column": field.name}},
        }
