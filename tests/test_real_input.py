"""The documented run on slices of real dumps: the article Berlin in six languages, with 49 Wikidata items."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pandas as pd
import pytest
from huggingface_hub import ModelCard

from ease.reporting.markdown_tables import format_losses
from tests.project import ROOT, SMALL, Project, make_project

pytestmark = pytest.mark.slow

SECTION = (ROOT / "docs" / "real_input.md").read_text(encoding="utf-8").replace("\\\n", "")
"""The documented command of this run and its output."""


@pytest.fixture(scope="module")
def done(test_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project in which the documented command has run with a smaller encoder, to the first of its training runs."""
    made = make_project(tmp_path_factory.mktemp("real"))
    command = re.search(r"```sh\nkedro (run .*)\n```", SECTION)
    assert command
    arguments = shlex.split(command[1].replace("DUMPS", str(test_data / "dumps")))
    small = [f"{name}={value}" for name, value in SMALL.items() if "encoder" in name or "sample" in name]
    arguments[-1] = ",".join([arguments[-1], *small])
    last = ("ease.train_encoder", "ingest.summarize_ingest", "hard_negatives.report_hard_negatives")
    arguments.append(f"--to-nodes={','.join(f'multilingual.{node}' for node in last)}")
    made.log.write_text(made.kedro(*arguments, start=False).stderr, encoding="utf-8")
    return made


def test_document_shows_the_output_of_the_run(done: Project) -> None:
    said = done.log.read_text(encoding="utf-8")
    shown = [line for line in SECTION.splitlines() if line.startswith("|")]
    assert len(shown) == 2 + 6
    assert [line for line in shown if line not in said] == []
    summary = pd.DataFrame(done.json("08_reporting/multilingual/hard_negative_summary.json"))
    coverage = done.json("08_reporting/multilingual/embedding_coverage.json")
    document = " ".join(SECTION.split())
    assert f"The {summary['pairs'].sum()} pairs match a list" in document
    assert f"Of these pairs, {summary['with_negative'].sum()} have a hard negative" in document
    assert f"{coverage['found']} of the {coverage['total']} entities have a vector" in document
    assert format_losses(summary, "pairs", "with_negative") in said


def test_warning_names_the_truncated_file(done: Project) -> None:
    warnings = [line for line in done.log.read_text(encoding="utf-8").splitlines() if "WARNING" in line]
    assert any("wikidata-49-items.json" in line and "truncated" in line for line in warnings), warnings


def test_model_card_lists_the_dumps_and_their_licences(done: Project) -> None:
    card = ModelCard.load(done.latest("06_models/multilingual/ease/encoder") / "README.md")
    assert sorted(card.data.language) == ["en", "es", "ko", "pl", "pt", "tr"]
    for language in card.data.language:
        assert re.search(rf"^\| Wikipedia \({language}\) \|.*CC BY-SA 4\.0", card.text, re.MULTILINE)
    assert re.search(r"^\| Wikidata \|.*CC0 1\.0", card.text, re.MULTILINE)
