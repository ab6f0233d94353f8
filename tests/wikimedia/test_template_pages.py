"""Templates that are learnt from the pages of namespace 10."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from ease.wikimedia.dumps.parts import IngestOptions
from ease.wikimedia.template_pages import read_templates
from ease.wikimedia.wikipedia import ingest_wikipedia, read_dump
from tests.wikimedia.made_dumps import ONE, made, make_page, make_template, rows

REDIRECTS = [
    make_page(1, "Lima", "It is {{kilometer|5|km}} to {{Bitte|[[Oslo]]}}, {{own name|de|Ort}}."),
    make_template(2, "Kilometer", "", redirect="Convert"),
    make_template(3, "Bitte", "", redirect="Bitte2"),
    make_template(4, "Bitte2", "", redirect="Nowrap"),
    make_template(5, "Own name", "{{#invoke:x|main}}"),
    make_template(6, "Ill", "", redirect="Own name"),
    make_template(7, "Loop", "", redirect="Loop"),
    make_template(8, "Loop 2", "", redirect="Loop 3"),
    make_template(9, "Loop 3", "", redirect="Loop 2"),
    make_page(10, "Template:Away", "#REDIRECT [[Lima]]", 10, "Lima"),
    make_template(11, "Empty", ""),
]


def test_redirects_of_templates_lead_to_listed_ones(tmp_path: Path) -> None:
    dump = made(tmp_path, *REDIRECTS)
    templates = read_templates(dump.path)
    (article,) = read_dump(dump.path, templates=templates)
    assert article.text == "It is 5 kilometres to Oslo, Ort."
    (before,) = read_dump(dump.path)
    assert before.text == "It is to,."
    parts = ingest_wikipedia([dump], ONE, tmp_path / "parts")
    assert [row["text"] for row in rows(parts.sentences)] == [article.text]
    counts = parts.counts["en"]["templates"]
    assert (counts["templates"], counts["redirects"], counts["loops"]) == (10, 8, 3)


def test_workers_and_shards_share_the_templates(tmp_path: Path) -> None:
    pages = [make_page(number, f"Page {number}", f"It is {{{{far|{number}|km}}}} on.") for number in range(20, 60)]
    dump = made(tmp_path, *pages, make_template(99, "Far", "", redirect="Convert"))
    options = IngestOptions(workers=2, bytes_per_shard=3000)
    parts = ingest_wikipedia([dump], options, tmp_path / "parts")
    assert len(parts.sentences) > 2
    assert [row["text"] for row in rows(parts.sentences)] == [
        f"It is {number} kilometres on." for number in range(20, 60)
    ]


def test_a_dump_without_templates_says_so_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    dump = made(tmp_path, make_page(1, "Lima", "It is {{convert|5|km}} on."))
    with caplog.at_level(logging.WARNING):
        parts = ingest_wikipedia([dump], IngestOptions(workers=1, bytes_per_shard=300), tmp_path / "parts")
    assert [row["text"] for row in rows(parts.sentences)] == ["It is 5 kilometres on."]
    assert [record.message for record in caplog.records if "template" in record.message] == [
        "en has no template pages (namespace 10): only listed templates are shown"
    ]
