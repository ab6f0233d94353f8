"""The model card of a saved encoder: training data, scores, parameters and usage."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml
from pydantic import Field

from ease import __version__
from ease.options import StrictModel, dotted

WIKIPEDIA_LICENCE = "CC BY-SA 4.0 (until June 2023: 3.0) and GFDL"
WIKIDATA_LICENCE = "CC0 1.0"
SAMPLE_LICENCE = "Apache-2.0; names and facts of CLDR: Unicode License v3"
TEST_SCORES = "Test scores"
"""Title of the section that evaluation adds."""
USAGE = """```python
from sentence_transformers import SentenceTransformer

model = SentenceTransformer("path/to/this/folder")
embeddings = model.encode(["A sentence.", "Another one."])
similarities = model.similarity(embeddings, embeddings)
```

This needs sentence-transformers 5.4 or later. The folder also loads with `transformers.AutoModel` (token embeddings, \
to be pooled). `training/`, where present, holds training-only parts, which are not needed for use."""


class DataSource(StrictModel):
    """Training data of a model."""

    name: str = Field(description="name on the card, such as `Wikipedia (en)`")
    date: str | None = Field(None, description="date of the dump: YYYYMMDD")
    licence: str = Field(WIKIPEDIA_LICENCE, description="licence of the data")


class ModelCardData(StrictModel):
    """Information for a model card that is not known from the training run."""

    name: str = Field("EASE sentence embeddings", description="title of the card")
    languages: tuple[str, ...] = Field((), description="codes of the training languages")
    sources: tuple[DataSource, ...] = Field((), description="training data, for attribution")
    base_model: str | None = Field(None, description="hub name of the encoder it started from")
    start: str | None = Field(None, description="that encoder in words, without a path")
    licence: str = Field("cc-by-sa-4.0", description="licence of the model, as a hub identifier")


def model_card(
    data: ModelCardData,
    *,
    method: str,
    summary: str,
    parameters: Mapping[str, Any],
    scores: Mapping[str, float] | None = None,
    start_scores: Mapping[str, float] | None = None,
    embedding: str = "",
) -> str:
    """Return the card: YAML metadata of the hub, then Markdown.

    Args:
        data: Name, languages, sources, licence.
        method: Name of the training method.
        summary: One sentence on the method.
        parameters: Parameters of method and training; nested ones get dotted names.
        scores: Development scores by name, in points.
        start_scores: Development scores of the encoder that training started from.
        embedding: One line on dimension and pooling.
    """
    fields: dict[str, Any] = {
        "language": list(data.languages),
        "license": data.licence,
        "library_name": "sentence-transformers",
        "pipeline_tag": "sentence-similarity",
        "tags": ["sentence-transformers", "sentence-similarity", "feature-extraction", method],
        "base_model": data.base_model,
    }
    present = {name: value for name, value in fields.items() if value}
    front = yaml.safe_dump(present, sort_keys=False, allow_unicode=True)
    start = ""
    if data.start:
        start = f"Training started from {data.start}."
    parameter_rows = [(f"`{name}`", str(value)) for name, value in dotted(parameters).items()]
    sources = [(source.name, source.date or "", source.licence) for source in data.sources]
    sections = [
        f"# {data.name}",
        f"A [sentence-transformers](https://www.sbert.net) model trained with the method `{method}`. {summary}",
        start,
        embedding,
        _section("Use", USAGE),
        _section("Training data", _table(("data", "dump date", "licence"), sources)),
        _section("Languages", ", ".join(data.languages)),
        _section("Development scores", _development_scores(scores or {}, start_scores or {})),
        _section("Parameters", _table(("parameter", "value"), parameter_rows)),
        _section("Openness", _openness(data.licence)),
    ]
    return f"---\n{front}---\n\n" + "\n\n".join(filter(None, sections)) + "\n"


def _openness(licence: str) -> str:
    """Return what there is for each point of MTEB's `ModelMeta.openness`, for whoever adds the model to MTEB."""
    points = [
        ("open weights", "this folder"),
        ("open license", f"`{licence}`"),
        ("open training code", f"EASE {__version__}, Apache-2.0; the parameters are above"),
        ("open training data", "the sources above, under their licences"),
        ("paper", "that of the method, if it has one"),
        ("model card", "this text"),
    ]
    return _table(("MTEB asks for", "here"), points)


def _development_scores(scores: Mapping[str, float], start_scores: Mapping[str, float]) -> str:
    """Return a table of scores, beside those before training if there are any, and a warning of lower ones."""
    if not start_scores:
        return _table(("score", "points"), [(name, f"{value:.2f}") for name, value in scores.items()])
    rows = []
    lower = []
    for name, value in scores.items():
        before = ""
        if name in start_scores:
            before = f"{start_scores[name]:.2f}"
        if value < start_scores.get(name, value):
            lower.append(f"`{name}`")
        rows.append((name, f"{value:.2f}", before))
    table = _table(("score", "points", "before training"), rows)
    if not lower:
        return table
    return f"{table}\n\n**Training lowered the model's score on {', '.join(lower)}.**"


def with_test_scores(card: str, scores: Mapping[str, float], dev_tasks: Sequence[str] = ()) -> str:
    """Return a card with test scores, in points by `task/subset`, added to its section of test scores.

    A line below the scores names those of `dev_tasks` (`task` or `task:subset`), which chose the checkpoint.
    """
    points: dict[str, str] = {}
    section = re.search(_section_pattern(TEST_SCORES), card)
    if section is not None:
        # Scores of an earlier evaluation of other tasks stay.
        points = dict(re.findall(r"(?m)^\| (`.+`) +\| +(\S+) +\|$", section[0]))
    points |= {f"`{name}`": f"{value:.2f}" for name, value in scores.items()}
    rows = sorted(points.items())
    if not rows:
        return card
    dev_scores = {reference.replace(":", "/") for reference in dev_tasks}
    chose = [name for name, _ in rows if {name.strip("`"), name.strip("`").partition("/")[0]} & dev_scores]
    note = ""
    if chose:
        note = f"\n\nNot held out, since it chose the checkpoint: {', '.join(chose)}."
    return with_section(card, TEST_SCORES, _table(("score", "points"), rows) + note, before="Parameters")


def with_section(card: str, title: str, text: str, before: str | None = None) -> str:
    """Return a card with a section of the second level, which replaces one of the same title.

    A new one precedes the section with the title `before`, or else is the last.
    """
    place = _section_pattern(title)
    if not re.search(place, card):
        place = r"\Z"
        if before:
            place = rf"(?m)(?=^## {re.escape(before)}$)|\Z"
    section = f"{_section(title, text.strip())}\n\n"
    return re.sub(place, lambda _: section, f"{card.rstrip()}\n\n", count=1).rstrip("\n") + "\n"


def _section_pattern(title: str) -> str:
    return rf"(?ms)^## {re.escape(title)}\n.*?(?=^## |\Z)"


def _section(title: str, body: str) -> str:
    if not body:
        return ""
    return f"## {title}\n\n{body}"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table, or an empty string without rows."""
    if not rows:
        return ""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
