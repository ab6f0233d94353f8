"""Templates that are learnt from the pages of namespace 10."""

from __future__ import annotations

import json
import logging
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from ease.io.files import read_data_file
from ease.wikimedia import template_items
from ease.wikimedia.dumps.files import DumpFile
from ease.wikimedia.dumps.parts import IngestOptions
from ease.wikimedia.template_pages import ItemFiles, read_templates
from ease.wikimedia.wikidata import PAGE_ITEMS, SITELINKS
from ease.wikimedia.wikipedia import ingest_wikipedia, read_dump
from ease.wikimedia.wikitext.parser import parse_wikitext
from ease.wikimedia.wikitext.templates import LearntTemplates
from tests.wikimedia.made_dumps import ONE, made, make_export, make_page, make_template, rows

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
        "No template pages (namespace 10), so only listed templates are shown: en"
    ]


# The text of a template's page, how an article uses the template, and the article's text.
PASSED_ON = [
    ("<span>{{{1}}}</span><noinclude>Documentation</noinclude>", "{{T|5 km}}", "5 km"),
    ("<includeonly>{{{1}}}</includeonly>", "{{t|a=b|1=c}}", "c"),
    ("Not this <onlyinclude>{{{name}}}</onlyinclude> nor this", "{{T|name= Lima }}", "Lima"),
    ("[[{{{1}}}|{{{2|{{{1}}}}}}]]", "{{T|Lima}} and {{T|Lima|the city}}", "Lima and the city"),
    ("''{{{1}}}''{{#if:{{{2|}}}|&nbsp;({{{2}}})}}", "{{T|a}} {{T|a|b}} {{T|a|}}", "a a (b) a"),
    ("{{#switch:{{{1}}}|a|b=one|c=two|#default=many}}", "{{T|a}} {{T|b}} {{T|c}} {{T|d}}", "one one two many"),
    ("{{#switch:{{lc:{{{1}}}}}|x=ten|none}}", "{{T|X}} {{T|Y}}", "ten none"),
    ("{{#ifeq:{{{1}}}|01|one|{{ucfirst:{{{1}}}}}}}", "{{T|1}} {{T|ab}}", "one Ab"),
    ("{{formatnum:{{{1}}}}} km", "{{T|12345}}", "12,345 km"),
    ("{{nowrap|{{{1}}}}}{{U|{{{1}}}}}", "{{T|a}}", "ab: a"),
    ("{{{1|{{{name|none}}}}}}", "{{T}} {{T|name=a}} {{T|b}}", "none a b"),
    ("{{safesubst:#if:{{{1|}}}|[{{{1}}}]}}x", "{{T|b}}", "[b]x"),
    ("<!-- {{{2}}} -->{{{1}}}<ref>{{{1}}}</ref>", "{{T|a}}", "a"),
    ("{{{1}}}<span style='display:none'>hidden</span>", "{{T|a}}", "a"),
    ("{{#if:{{{1|}}}|a{{#ifeq:{{NAMESPACE}}||b|c}}}}", "{{T|x}}", "ab"),
    ("[[wikt:{{{1}}}|{{{1}}}]]", "{{T|word}}", "word"),
    ("{{#language:{{{1}}}}}", "{{T|fr}}", "French"),
    ("{{Q|{{{1}}}}}", "{{T|x}}", "x"),
    ("{{PAGENAME}}: {{{1}}}", "{{T|a}}", "Lima: a"),
    ("{{#time:j F Y|{{{1}}}}}", "{{T|1973-10-17}}", "17 October 1973"),
    ("{{#time:j F|{{{1}}}-{{{2}}}-{{{3}}}}}", "{{T|1973|10|17}}", "17 October"),
    (
        f"{{{{{{1}}}}}} is {{{{{{2}}}}}}, {{{{{{3}}}}}} and {{{{{{4}}}}}}{', and so on' * 9}",
        "{{T|a|b|c|d}}",
        f"a is b, c and d{', and so on' * 9}",
    ),
    ("{{#expr:{{{1}}} * 2}} km", "{{T|4}}", "8 km"),
    # A table of values, which prints nothing for other arguments
    ("{{#switch:{{{1}}}|Ica=5|Lima=7}}", "{{T|Ica}} {{T|Lima}}", "5 7"),
    ("{{#switch:{{{1}}}" + "".join(f"|Town {n}={n}" for n in range(900)) + "}}", "{{T|Town 800}}", "800"),
    # What prints nothing, or a mark after a sentence
    ("<sup>[''citation needed'']</sup>[[Category:All]]", "{{T}}", ""),
    ("<sup><nowiki>[</nowiki>''source''<nowiki>]</nowiki></sup>", "{{T}}", ""),
    ("[[File:Flag.svg|20px]]", "{{T}}", ""),
    ("", "{{T}}", ""),
    ("<ref>{{{1}}}</ref>", "{{T|a}}", ""),
]
UNKNOWN = [
    "{{#invoke:Foo|main|{{{1}}}}}",
    "{{T|{{{1}}}}}",
    "{{V|{{{1}}}}}",
    "{{#time:Y|{{{1}}}}}",
    "{{CURRENTYEAR}} {{{1}}}",
    "{{Unheard of|{{{1}}}}}",
    "{|\n| {{{1}}}\n|}",
    "<nowiki>{{{1}}}</nowiki>",
    "{{" * 100,
    "{{{1}}}" * 400,
    "{{#if:" * 200,
    # A notice, whose argument is a colour
    f"<div style='color: {{{{{{1|red}}}}}}'>Please add the name, with its source. {'So it is. ' * 10}</div>",
]
OTHERS = [
    make_template(20, "U", "{{lc:B}}: {{{1}}}"),
    make_template(21, "V", "{{T|{{{1}}}}}"),
    make_template(22, "Q", "", redirect="Q2"),
    make_template(23, "Q2", "{{{1}}}"),
]


@pytest.mark.parametrize(("page", "source", "text"), PASSED_ON)
def test_templates_that_pass_their_arguments_on(tmp_path: Path, page: str, source: str, text: str) -> None:
    dump = made(tmp_path, make_template(1, "T", page), *OTHERS)
    article = parse_wikitext(f"It is {source} here.", "en", templates=read_templates(dump.path), title="Lima")
    assert article.text == " ".join(f"It is {text} here.".split())


def test_the_lists_for_all_wikis_name_no_box(tmp_path: Path) -> None:
    """`Euro` writes a sign in English; here it is another name of a table at the end of a page."""
    box = "<br clear=all>\n{| class=wikitable\n| [[Malta]]\n|}"
    dump = made(tmp_path, make_template(1, "Eùro", box), make_template(2, "Euro", "", redirect="Eùro"))
    templates = read_templates(dump.path)
    for name in ("Eùro", "Euro"):
        article = parse_wikitext(f"Malta is.\n{{{{{name}}}}}\n\nIt has {{{{{name}}}}} here.", "en", templates=templates)
        assert article.text == "Malta is.\nIt has here."
        assert len(article.holes) == 1
    assert parse_wikitext("{{Euro|5}}", "en").text == "€5"


@pytest.mark.parametrize("page", UNKNOWN)
def test_templates_that_are_not_passed_on(tmp_path: Path, page: str) -> None:
    dump = made(tmp_path, make_template(1, "T", page), *OTHERS)
    assert parse_wikitext("It is {{T|a}} here.", "en", templates=read_templates(dump.path)).text == "It is here."


# Language, the name and the text of a template that the lists of the language have, its use, and what it shows.
LISTED = [
    ("fr", "Unité", "{{{1}}}&nbsp;{{{2}}}", "{{unité|5|m}}", "5 m"),
    # What the text needs is not known for these arguments: the list serves.
    ("fr", "Unité", "{{#if:{{{3|}}}|{{#invoke:M|main}}|{{{1}}}&nbsp;{{{2}}}}}", "{{unité|5|m|2}}", "5 mètres carrés"),
    ("fr", "Unité", "{{#invoke:M|main}}", "{{unité|5|m}}", "5 mètres"),
    ("fr", "Un", "{{unité|{{{1}}}|m}}", "{{un|5}}", "5 mètres"),
    ("fa", "به انگلیسی", "(به [[زبان انگلیسی|انگلیسی]]: ''{{{1}}}'')", "{{به انگلیسی|Blue}}", "(به انگلیسی: Blue)"),
    ("ru", "Lang-en", "[[Английский язык|англ.]]&nbsp;''{{{1}}}''", "{{lang-en|Blue House}}", "англ. Blue House"),
    ("en", "W", "{{{1}}} (W)", "{{w|a|b}}", "a (W)"),
    # What a list hides belongs to no sentence, although it is printed.
    ("fr", "Ouvrage", "{{{titre}}}, 1999", "{{ouvrage|titre=A}}", ""),
]


@pytest.mark.parametrize(("language", "name", "page", "source", "text"), LISTED)
def test_the_text_of_a_listed_template_is_shown_if_it_can_be(
    tmp_path: Path, language: str, name: str, page: str, source: str, text: str
) -> None:
    templates = read_templates(made(tmp_path, make_template(1, name, page), language=language).path)
    article = parse_wikitext(f"a {source} b.", language, templates=templates)
    assert (article.text, article.holes) == (" ".join(f"a {text} b.".split()), [])


def test_a_listed_body_is_shown_inside_another_template() -> None:
    """`Heure` calls a module, and the list of French has a body for it."""
    templates = LearntTemplates({"Départ": "body:départ {{Heure|{{{1}}}|5}}", "Heure": "body:{{#invoke:M|x}}"})
    article = parse_wikitext("Le {{départ|8}} du matin.", "fr", templates=templates)
    assert (article.text, article.holes) == ("Le départ 8 h 5 du matin.", [])


def test_the_callers_templates_come_first(tmp_path: Path) -> None:
    templates = read_templates(made(tmp_path, make_template(1, "W", "{{{1}}} (W)")).path)
    assert parse_wikitext("{{w|a|b}}", "en", templates={**templates, "w": "argument: 2"}).text == "b"


@pytest.mark.parametrize(
    "page",
    ["{{{1}}}" * 1_000_000, "{{T}}" * 1_000_000, "{{#if:1|" * 1_000_000, "x" * 15_000_000, "{{{{{1}}}}}" * 150],
    ids=["parameters", "calls", "functions", "characters", "dynamic names"],
)
def test_hostile_templates_take_bounded_time(tmp_path: Path, page: str) -> None:
    dump = made(
        tmp_path, make_template(1, "T", page), make_template(2, "S", "{{T}}{{T}}"), make_template(3, "R", "{{{1}}}")
    )
    started = time.process_time()
    templates = read_templates(dump.path)
    text = parse_wikitext("{{T|a}} {{S|b}} {{R|c}} d.", "en", templates=templates).text
    assert time.process_time() - started < 10
    assert text.endswith("c d.")


def test_templates_that_call_each_other_end(tmp_path: Path) -> None:
    doubling = [
        make_template(10 + n, f"D{n}", f"{{{{D{n + 1}|{{{{{{1}}}}}}{{{{{{1}}}}}}}}}}" if n < 40 else "{{{1}}}")
        for n in range(41)
    ]
    loops = [make_template(60, "Aa", "{{Bb|{{{1}}}}}"), make_template(61, "Bb", "{{Aa|{{{1}}}}}")]
    templates = read_templates(made(tmp_path, *doubling, *loops).path)
    started = time.process_time()
    assert parse_wikitext("{{D0|abc}} {{Aa|x}} end. {{D39|ab}}", "en", templates=templates).text == "end. abab"
    assert time.process_time() - started < 5


def wikis(folder: Path) -> list[DumpFile]:
    """An English and a Japanese wiki that have templates of their own, which only modules expand."""
    module = "{{#invoke:M|main}}"
    pages = {
        "en": [make_page(4, "A", "A."), make_template(1, "Ill", module), make_template(2, "Citation needed", module)],
        "ja": [
            make_page(
                5, "東京", "{{新リンク|大阪|en|Osaka}}は{{新出典}}町{{別リンク|奈良|en|Nara}}{{二つ目|堺|en|Sakai}}。"
            ),
            make_template(6, "新リンク", module, "Template"),
            make_template(7, "新出典", module),
            make_template(8, "別リンク", "", redirect="新リンク"),
            # An item may have two templates of a wiki.
            make_template(9, "二つ目", module),
        ],
    }
    dumps = []
    for language, content in pages.items():
        path = folder / f"{language}wiki-20240101-pages-articles.xml"
        path.write_text(make_export(content, language), "utf-8")
        dumps.append(DumpFile(path, language, "20240101"))
    return dumps


def sentences_of(dumps: list[DumpFile], items: ItemFiles, folder: Path) -> list[tuple[str, int]]:
    parts = ingest_wikipedia(dumps, ONE, folder, items=items)
    return [(row["text"], row["holes"]) for row in rows(parts.sentences) if row["language"] == "ja"]


def test_templates_are_known_by_their_items(tmp_path: Path) -> None:
    dumps = wikis(tmp_path)
    assert sentences_of(dumps, ItemFiles(), tmp_path / "parts") == [("は町。", 3)]
    page_items = tmp_path / "items.parquet"
    ids = {"language": ["en", "ja", "en", "ja", "ja", "ja"], "page_id": [1, 6, 2, 7, 99, 9]}
    ids["qid"] = [11, 11, 12, 12, 12, 11]
    pq.write_table(pa.table(ids, schema=PAGE_ITEMS), page_items)
    assert sentences_of(dumps, ItemFiles([page_items]), tmp_path / "parts") == [("大阪は町奈良堺。", 0)]

    sitelinks = tmp_path / "sitelinks.parquet"
    titles = ["Template:Ill", "テンプレート:新リンク", "Template:Citation needed", "Template:新出典", "Template:Other"]
    titles.append("Template:二つ目")
    columns = {"qid": ids["qid"], "language": ids["language"], "title": titles}
    pq.write_table(pa.table(columns, schema=SITELINKS), sitelinks)
    assert sentences_of(dumps, ItemFiles((), [sitelinks]), tmp_path / "parts") == [("大阪は町奈良堺。", 0)]


def test_a_template_is_known_by_the_number_of_its_item(tmp_path: Path) -> None:
    """The run has no other wiki, whose names would say what the item is."""
    pages = [
        make_page(1, "東京", "東京は{{新印|x}}町{{別印|x}}です。"),
        make_template(2, "新印", "{{#invoke:M|main}}"),
        make_template(3, "別印", "{{#invoke:M|main}}"),
    ]
    path = tmp_path / "jawiki-20240101-pages-articles.xml"
    path.write_text(make_export(pages, "ja"), "utf-8")
    page_items = tmp_path / "items.parquet"
    columns = {"language": ["ja", "ja"], "page_id": [2, 3], "qid": [5312535, 99]}
    pq.write_table(pa.table(columns, schema=PAGE_ITEMS), page_items)
    assert sentences_of([DumpFile(path, "ja", "20240101")], ItemFiles([page_items]), tmp_path / "parts") == [
        ("東京は町です。", 1)
    ]


def test_a_wikidata_dump_extends_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def item(number: int, **titles: str) -> str:
        sitelinks = {site: {"site": site, "title": title} for site, title in titles.items()}
        return json.dumps({"type": "item", "id": f"Q{number}", "sitelinks": sitelinks}, ensure_ascii=False)

    lines = [
        item(1, enwiki="Template:Convert", eowiki="Ŝablono:Nova konvertilo", dewiki="Berlin"),
        item(2, enwiki="Template:Unheard", eowiki="Ŝablono:Nenio"),
        item(3, enwiki="Template:Citation needed", eowiki="Ŝablono:Mankas"),
        '{"broken Template',
    ]
    dump = tmp_path / "wikidata.json"
    dump.write_text("[\n" + ",\n".join(lines) + "\n]\n", "utf-8")
    template_items.main([str(dump)])
    table = yaml.safe_load(capsys.readouterr().out)
    assert "nova konvertilo" in table["quantity"]["eo"]
    assert "nenio" not in str(table)
    assert "mankas" not in str(table)
    shipped = read_data_file("ease.wikimedia.wikitext", "template_items.yml")
    assert all(set(names) <= set(table[key][wiki]) for key, wikis in shipped.items() for wiki, names in wikis.items())
    template_items.main(["--numbers", str(dump)])
    assert yaml.safe_load(capsys.readouterr().out) == {"hidden": [3, 5312535], "quantity": [1]}


@pytest.mark.parametrize(
    ("language", "prefix"), [("ru", "Шаблон"), ("fr", "Modèle"), ("ja", "Template"), ("xx", "Skabelo")]
)
def test_template_pages_of_any_language(tmp_path: Path, language: str, prefix: str) -> None:
    """The header of the made dump names no namespace of templates."""
    pages = [
        make_page(1, "Lima", "{{дом|Lima|синий}} ok {{house|Oslo}} {{mark}}end."),
        make_template(2, "Дом", "[[{{{1}}}]]{{#if:{{{2|}}}|, {{{2}}}}}", prefix),
        make_template(3, "House", "", prefix, redirect="Дом"),
        make_template(4, "Mark", "<sup>[?]</sup>", prefix),
    ]
    path = tmp_path / f"{language}wiki-20240101-pages-articles.xml"
    path.write_text(make_export(pages, language), "utf-8")
    (article,) = read_dump(path, templates=read_templates(path))
    assert article.text == "Lima, синий ok Oslo end."
    assert [link.target for link in article.links] == ["Lima", "Oslo"]
    assert article.holes == []
