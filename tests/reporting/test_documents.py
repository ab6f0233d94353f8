"""The report in Markdown and in HTML: shown and omitted tables, notes, accessibility."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pandas as pd
import pytest
from lxml import html
from markdown_it import MarkdownIt

from ease.errors import EaseError
from ease.reporting.comparison import ComparisonTable
from ease.reporting.plots import plot_roc_curves
from ease.reporting.report import (
    ReportOptions,
    ScoreReport,
    build_report,
    render_comparison,
    render_html,
    render_markdown,
)
from tests.reporting.made import all_rows, baseline, options, own, published, sts17


def report(rows: list[dict[str, Any]] | None = None) -> ScoreReport:
    return build_report(published(), options(), own(rows))


@pytest.fixture(scope="module")
def full_report() -> ScoreReport:
    return report()


@pytest.fixture(scope="module")
def page(full_report: ScoreReport) -> html.HtmlElement:
    return html.document_fromstring(render_html(full_report))


def cells(table: ComparisonTable) -> list[list[str]]:
    return [[row.name, row.origin, *(f"{c.text} {c.limits}".strip() for c in row.cells)] for row in table.rows]


def best(table: ComparisonTable) -> list[str]:
    return [cell.text for row in table.rows for cell in row.cells if cell.best]


def test_only_tables_with_our_scores_are_shown_and_the_others_named(full_report: ScoreReport) -> None:
    titles = [re.sub(r"(.*) \(\d+\), Table (\w+): .*", r"\1 \2", table.title) for table in full_report.tables[:-1]]
    assert titles == [
        *(f"EASE {number}" for number in (2, 3, 5, 7, 14, 15)),
        *("DuEAM 1", "DuEAM 2", "Mirror-BERT 3", "Mirror-BERT 17", "mSimCSE 3"),
    ]
    assert full_report.tables[-1].title == "Task sample_parallel"
    assert re.findall(r"(\d+) \(", full_report.skipped[0]) == ["1", "4", "6", "10", "11"]


def test_markdown_renders_as_the_tables_that_were_built(full_report: ScoreReport) -> None:
    rendered = html.document_fromstring(MarkdownIt("commonmark").enable("table").render(render_markdown(full_report)))
    tables = rendered.findall(".//table")
    assert len(tables) == len(full_report.tables) + 1 + len(full_report.scores)
    for table, built in zip(tables, full_report.tables, strict=False):
        head, *rows = [[cell.text_content() for cell in line] for line in table.iter("tr")]
        assert head == ["Model", "From", *built.headers]
        assert [[re.sub("[¹²³]", "", text) for text in line] for line in rows] == cells(built)
        assert [cell.text_content() for cell in table.iter("strong")] == best(built)


def test_html_shows_the_tables_that_were_built(full_report: ScoreReport, page: html.HtmlElement) -> None:
    tables = page.xpath("//table[@class='figures']")
    for table, built in zip(tables, full_report.tables, strict=True):
        for mark in table.xpath(".//td/sup"):
            mark.drop_tree()
        rows = [[" ".join(cell.itertext()).strip() for cell in line] for line in table.xpath("./tbody/tr")]
        assert rows == cells(built)
        assert [cell.text_content() for cell in table.iter("strong")] == best(built)


def test_html_can_be_read_with_a_screen_reader(page: html.HtmlElement) -> None:
    assert page.get("lang") == "en"
    assert all(table.xpath("./caption") for table in page.iter("table"))
    assert all(head.get("scope") for head in page.iter("th"))
    for element in page.xpath("//*[@role='img' or @role='region']"):
        assert element.get("aria-label")
    headings = [int(element.tag[1]) for element in page.xpath("//h1|//h2|//h3")]
    assert headings[0] == 1
    assert all(following - previous <= 1 for previous, following in pairwise(headings))


def test_the_comparison_marks_the_best() -> None:
    rows = [
        ("sample_parallel", "ja-en", "retrieval_accuracy", 1.04, 1.0),
        ("sample_parallel", "average", "retrieval_accuracy", 2.0, 9.0),
        ("sample_graded", "en", "spearman", None, 80.0),
    ]
    table = pd.DataFrame(rows, columns=["task", "subset", "metric", "untrained", "ease_plus"])
    page = html.document_fromstring(render_comparison(table, {"Curves": plot_roc_curves(pd.DataFrame())}, "“s”"))
    assert page.xpath("//thead//th/text()") == ["Subset", "Untrained", "EASE+"]
    assert page.xpath("//td//text()") == ["1.0", "1.0", "2.0", "9.0", "–", "80.0"]
    assert page.xpath("//td/strong/text()") == ["1.0", "1.0", "9.0", "80.0"]


def test_parameters_that_differ_are_named_for_each_setting() -> None:
    trial = {"training.max_steps": 6, "training.batch_size": 64, "options.temperature": 0.05, "training.seed": None}
    rows = [
        *sts17(parameters=trial),
        *sts17(method="simcse", model="1", parameters={**trial, "training.max_steps": 900, "options.temperature": 0.1}),
        *sts17(method="dueam", model="1"),
        *sts17(method="untrained", model="1", parameters={}),
        *sts17(method="ease", setting="monolingual", model="1", parameters={"training.max_steps": 5}),
    ]
    made = build_report(published(), options(), own(rows), {("multilingual", "ease"): "2027"})
    (table,) = made.differences.values()
    assert table.to_dict("records") == [
        {"Parameter": "options.temperature", "EASE": "0.05", "SimCSE": "0.1", "DuEAM": "not recorded"},
        {"Parameter": "training.max_steps", "EASE": "6", "SimCSE": "900", "DuEAM": "not recorded"},
    ]
    for text in (render_markdown(made), html.document_fromstring(render_html(made)).text_content()):
        assert "Parameters that differ between the models of multilingual" in text
        assert "training.max_steps" in text
        assert "`latest` is 2027, not scored" in text
    scores = pd.DataFrame([("sts17", "en-en", "spearman", 1.0)], columns=["task", "subset", "metric", "ease"])
    figures = {"Curves": plot_roc_curves(pd.DataFrame())}
    page = html.document_fromstring(render_comparison(scores, figures, "s", table, made.models))
    assert "options.temperature" in page.text_content()
    assert "Versions of the encoders" in page.text_content()


def test_the_training_run_of_each_model_is_named() -> None:
    run = "a1b2c3d4e5f6"
    trained = {"parameters": {"steps": 400}, "seconds": 1234.5, "run_id": run}
    rows = own([*sts17(**trained), *sts17(method="simcse", model="1")])
    made = build_report(published(), options(), rows, run_pages="http://store/#/runs/")
    facts = made.models.set_index("Model")[["Steps", "Seconds"]].T.to_dict("list")
    assert facts == {"EASE, multilingual": ["400", "1,234"], "SimCSE, multilingual": ["", ""]}
    address = f"http://store/#/runs/{run}"
    assert f"[a1b2c3d4]({address})" in render_markdown(made)
    page = html.document_fromstring(render_html(made))
    assert page.xpath(f"//td/a[@href='{address}']/text()") == ["a1b2c3d4"]


def test_names_are_escaped() -> None:
    escaped_report = report([baseline("sts", "2012", 50.0, method="<b>&|x")])
    headers = html.document_fromstring(render_html(escaped_report)).xpath(
        "//table[@class='figures']//tr[@class='own first']/th"
    )
    assert {cell.text_content() for cell in headers} == {"<b>&|x"}
    assert "&\\|x " in render_markdown(escaped_report)


def test_what_an_encoder_embeds_with_stands_beside_its_scores() -> None:
    encoding: dict[str, Any] = {"revision": "0123456789abcdef", "used_pooling": "cls", "normalized": True}
    encoding |= {"embedding_dimension": 256, "precision": "bf16", "max_length": 512}
    prompts = {("stsb", "dev"): "query: ", ("sts17", "en-en"): "query: ", ("tatoeba", "deu-eng"): ""}
    rows = [baseline(*place, 1.0, **encoding, prompt=prompt) for place, prompt in prompts.items()]
    text = "cls pooling, normalized, 256 dimensions, bf16, at most 512 tokens, commit 0123456789ab"
    assert list(report(rows).models["Encoded with"]) == [f"{text}; prompt “query: ”"]


def test_the_error_names_an_invalid_scatter() -> None:
    wrong = ReportOptions.model_validate({"scatters": [{"paper": "ease", "title": "t", "x": "99", "y": "2"}]})
    with pytest.raises(EaseError, match=r"names the tables 99 and 2 of 'ease', .* tables are ease: 1, 2, 3, .*; "):
        build_report(published(), wrong, own())


def test_all_scores_are_there_with_spreads_notes_and_data(full_report: ScoreReport) -> None:
    clusters = full_report.scores["mewsc16"].set_index(["Subset", "Metric"])
    assert clusters.loc[("ar", "v_measure")].to_dict() == {
        "EASE, multilingual": "25.25 (0.50) [24.10, 26.40]",
        "Data (SHA-256)": "mewsc1601234",
    }
    assert clusters.loc[("average", "accuracy"), "EASE, multilingual"] == "30.60, 2 of 16 subsets"
    sweep = full_report.scores["sts17"].set_index("Subset")["EASE, multilingual (sweep seeds, 3 seeds)"]
    assert sweep["en-en"] == "79.60 ± 0.46 [78.46, 80.74]"
    texts = [table.drop(columns=["Subset", "Metric", "Data (SHA-256)"]) for table in full_report.scores.values()]
    distinct = pd.DataFrame(all_rows()).drop_duplicates(["method", "sweep", "task", "subset", "metric"])
    assert sum(table.ne("").sum().sum() for table in texts) == len(distinct)
