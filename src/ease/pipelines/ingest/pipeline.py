"""Parse the dumps of a setting into tables."""

from __future__ import annotations

from kedro.pipeline import Pipeline

from ease.pipelines.ingest.nodes import make_links, parse_wikipedia, read_wikidata, summarize_ingest
from ease.pipelines.wiring import namespaced, step


def create_pipeline(setting: str) -> Pipeline:
    """Create `ingest` for one setting."""
    parsed = ["sentences", "redirects", "pages", "page_counts"]
    nodes = [
        step(parse_wikipedia, parsed, options="params:ingest"),
        step(read_wikidata, ["sitelinks", "entity_types", "wikidata_counts"], options="params:ingest"),
        step(make_links, "links"),
        step(summarize_ingest, ["ingest_summary", "ingest_plot"]),
    ]
    return namespaced(nodes, setting, "ingest")
