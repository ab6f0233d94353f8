"""On the sample, page_props and truthy statements give the same tables as the JSON dump."""

from __future__ import annotations

from typing import Any

import pytest

from tests.project import Project, rows

pytestmark = [pytest.mark.long, pytest.mark.slow]

SHORT = {"acquire__wikidata_titles": "page_props", "acquire__wikidata_types": "truthy"}
TABLES = ("sitelinks", "entity_types", "links.parquet")


def read(project: Project, name: str) -> list[dict[str, Any]]:
    return rows(project.latest(f"02_intermediate/multilingual/{name}"))


def test_page_props_and_truthy_statements_give_the_same_rows_as_the_json_dump(project: Project, copy: Project) -> None:
    copy.run("acquire,ingest", **SHORT)
    for name in TABLES:
        assert len(copy.versions(f"02_intermediate/multilingual/{name}")) == 2
        assert read(copy, name) == read(project, name)
        assert len(read(copy, name)) > 300
    dumps = copy.json("01_raw/multilingual/dumps.json")
    assert [file["language"] for file in dumps["page_props"]] == ["en", "ja", "ar", "de"]
    assert dumps["wikidata"].endswith("truthy-BETA.nt.bz2")
    counts, expected = (one.json("02_intermediate/multilingual/wikidata_counts.json") for one in (copy, project))
    assert counts["sitelinks"] == expected["sitelinks"]
    assert {report["broken_rows"] for report in counts["page_props"].values()} == {0}
    assert (counts["types"]["broken_lines"], counts["types"]["truncated"]) == (0, False)
    done = copy.run("acquire,ingest", **{**SHORT, "acquire__wikidata": "null"})
    assert "items have no types, and there are no hard negatives" in done.stderr
    assert read(copy, "entity_types") == []
    for name in ("sitelinks", "links.parquet"):
        assert read(copy, name) == read(project, name)
