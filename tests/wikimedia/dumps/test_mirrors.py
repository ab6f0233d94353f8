from __future__ import annotations

import bz2
import json
import re
from pathlib import Path
from typing import Any

import pytest

from ease.errors import EaseError
from ease.io.downloads import DownloadOptions
from ease.wikimedia.dumps.files import find_dumps
from ease.wikimedia.dumps.mirrors import FetchedDumps, MirrorOptions, fetch_dumps, fetch_wikidata
from ease.wikimedia.wikidata import find_page_props
from tests.file_server import FileServer
from tests.wikimedia.made_dumps import make_export, make_page
from tests.wikimedia.made_mirrors import add_dump, add_export, add_item, add_page_props, add_wikidata

QUICK = DownloadOptions(attempts=2, first_pause=0.01, timeout=5)


def dump(language: str, title: str = "Page") -> bytes:
    return bz2.compress(make_export([make_page(1, title, "Text.")], language=language).encode())


def options(folder: Path, **fields: Any) -> MirrorOptions:
    return MirrorOptions(folder=folder, download=QUICK, **fields)


def names(paths: Any) -> list[str]:
    return [path.name for path in paths]


def files_of(fetched: FetchedDumps) -> list[Path]:
    return [path for paths in fetched.pages.values() for path in paths]


def test_downloads_the_newest_date_finished_for_all_languages(server: FileServer, tmp_path: Path) -> None:
    for date in ("20240101", "20240120", "20240201"):
        for language in ("en", "de"):
            add_dump(server, f"{language}wiki", date, dump(language, date))
    add_dump(server, "enwiki", "20240301", dump("en"))
    add_dump(server, "enwiki", "20240220", dump("en"))
    add_dump(server, "dewiki", "20240220", dump("de"), status="in-progress")
    del server.files["/dewiki/20240201/dumpstatus.json"]
    fetched = fetch_dumps(f"{server.address}/", ["en", "de"], options(tmp_path))
    assert fetched.date == "20240120"
    stem = "wiki-20240120-pages-articles-multistream.xml.bz2"
    paths = [tmp_path / f"{language}wiki" / "20240120" / f"{language}{stem}" for language in ("en", "de")]
    assert fetched.pages == {"en": (paths[0],), "de": (paths[1],)}
    assert [file.path for file in find_dumps(files_of(fetched), ["en", "de"])] == paths
    asked = len(server.asked)
    assert fetch_dumps(server.address, ["en", "de"], options(tmp_path)) == fetched
    assert not [path for path, _ in server.asked[asked:] if path.endswith("bz2")]


PARTS = {"1.xml-p1p9": dump("en", "One"), "2.xml-p10p20": dump("en", "Two")}


def test_downloads_parts_until_they_are_joined(server: FileServer, tmp_path: Path) -> None:
    add_dump(server, "enwiki", "20240101", dump("en"), status="waiting", parts=PARTS)
    cut = fetch_dumps(server.address, ["en"], options(tmp_path))
    stem = "enwiki-20240101-pages-articles-multistream"
    assert names(cut.pages["en"]) == [f"{stem}{part}.bz2" for part in PARTS]
    assert names(file.path for file in find_dumps(files_of(cut), ["en"])) == names(cut.pages["en"])
    add_dump(server, "enwiki", "20240101", dump("en"), parts=PARTS)
    joined = fetch_dumps(server.address, ["en"], options(tmp_path / "new"))
    assert names(joined.pages["en"]) == [f"{stem}.xml.bz2"]


def test_the_newest_finished_wikidata(server: FileServer, tmp_path: Path) -> None:
    server.files["/other/wikibase/wikidatawiki/latest-all.json.bz2"] = b"items"
    path = fetch_wikidata(server.address, options(tmp_path / "undated"))
    assert (path.name, path.read_bytes()) == ("latest-all.json.bz2", b"items")
    for date in ("20240101", "20240108"):
        add_wikidata(server, date, date.encode())
    add_wikidata(server, "20240115", b"half", summed=False)
    server.files["/wikidatawiki/entities/20240117/wikidata-20240117-truthy-BETA.nt.bz2"] = b"other"
    path = fetch_wikidata(server.address, options(tmp_path))
    assert path == tmp_path / "wikidatawiki/entities/20240108/wikidata-20240108-all.json.bz2"
    assert path.read_bytes() == b"20240108"
    assert fetch_wikidata(server.address, options(tmp_path)) == path
    assert re.search(r"/wikidata-20240108-all\.json", server.asked[-1][0])  # its size alone
    older = fetch_wikidata(server.address, options(tmp_path, date="20240101"))
    assert older.read_bytes() == b"20240101"
    add_wikidata(server, "20240103", b"statements", form="truthy-BETA.nt")
    path = fetch_wikidata(server.address, options(tmp_path, wikidata_form="truthy"))
    assert path == tmp_path / "wikidatawiki/entities/20240103/wikidata-20240103-truthy-BETA.nt.bz2"


def test_page_props_are_of_the_nearest_date(server: FileServer, tmp_path: Path) -> None:
    for date, status in (("20240101", "done"), ("20240120", "done"), ("20240201", "waiting")):
        add_dump(server, "enwiki", date, dump("en"))
        add_page_props(server, "enwiki", date, f"table {date}".encode(), status)
    for date, nearest in (("20240201", "20240120"), ("20240101", "20240101")):
        fetched = fetch_dumps(server.address, ["en"], options(tmp_path, page_props=True, date=date))
        assert fetched.tables["en"].read_bytes() == f"table {nearest}".encode()
        (table,) = find_page_props(list(fetched.tables.values()), {"en": date})
        assert (table.path, table.dump_date) == (fetched.tables["en"], nearest)
    add_export(server, "enwiki", "2023-12-01", {"p1p9": dump("en")})
    older = fetch_dumps(server.address, ["en"], options(tmp_path, page_props=True, date="20231201"))
    assert older.tables["en"].read_bytes() == b"table 20240101"
    (table,) = find_page_props([tmp_path], {"en": older.date})
    assert table.dump_date == "20240101"


CONTENT = "other/mediawiki_content_current"


def test_the_newest_export_complete_for_all_languages(server: FileServer, tmp_path: Path) -> None:
    parts = {"p10p99": dump("en", "One"), "p101p300": dump("en", "Two"), "p301r1r70": dump("en", "Three")}
    for date in ("2026-09-01", "2026-10-01", "2026-11-01"):
        add_export(server, "enwiki", date, parts)
        add_export(server, "dewiki", date, {"p1p5": dump("de", date)}, complete=date != "2026-11-01")
    add_dump(server, "enwiki", "20261120", dump("en"))
    add_dump(server, "dewiki", "20261120", dump("de"))
    fetched = fetch_dumps(server.address, ["en", "de"], options(tmp_path))
    assert fetched.date == "20261001"
    assert names(fetched.pages["en"]) == [f"enwiki-2026-10-01-{pages}.xml.bz2" for pages in parts]
    assert [path.read_bytes() for path in fetched.pages["en"]] == list(parts.values())
    asked = len(server.asked)
    assert fetch_dumps(server.address, ["en", "de"], options(tmp_path, date="20261001")) == fetched
    again = [path for path, _ in server.asked[asked:]]
    assert not [path for path in again if server.requests(path)[-1]["Range"]]
    assert server.most_at_once <= 3
    dumps = find_dumps(tmp_path, ["en", "de"])
    assert names(dump.path for dump in dumps) == names(files_of(fetched))
    assert {dump.dump_date for dump in dumps} == {"20261001"}
    articles = fetch_dumps(server.address, ["en", "de"], options(tmp_path, layout="articles"))
    assert articles.date == "20261120"


ARTICLES = [
    (["en", "sw"], {}, r"lists no dumps of swwiki, .* remove the language from `languages`"),
    (["en"], {"date": "20230101"}, r"no dump \(dumpstatus\.json\)\. The nearest complete date there is 2024"),
    (["de"], {}, r"no date with a complete dump of dewiki\. .*articlesmultistreamdump is waiting"),
    (["fr"], {}, r"20240101/dumpstatus\.json is damaged"),
    (["es"], {}, r"dumpstatus\.json names no file of the dump of articles"),
]
EXPORTS = [
    (["en"], {"date": "20260901"}, r"has no complete export .* The nearest complete date there is 20261001"),
    (["sw"], {}, r"SHA256SUMS names no export of swwiki"),
    (["io"], {}, r"iowiki-2026-10-01-p7p9\.xml\.bz2 does not exist"),
    (["eo"], {}, r"eowiki-2026-10-01-p1p9\.xml\.bz2 is wrong, twice: .* has the sha256"),
]


@pytest.mark.parametrize(
    ("layout", "languages", "fields", "words"),
    [*(("articles", *case) for case in ARTICLES), *(("content", *case) for case in EXPORTS)],
)
def test_errors(server: FileServer, tmp_path: Path, layout: str, languages: list[str], fields: Any, words: str) -> None:
    add_dump(server, "enwiki", "20240101", dump("en"))
    add_dump(server, "dewiki", "20240101", dump("de"), status="waiting")
    server.files["/frwiki/20240101/dumpstatus.json"] = b"<html>"
    empty = {"jobs": {"articlesmultistreamdump": {"status": "done", "files": {"../../evil.bz2": {}}}}}
    server.files["/eswiki/20240101/dumpstatus.json"] = json.dumps(empty).encode()
    for wiki in ("enwiki", "iowiki"):
        add_export(server, wiki, "2026-10-01", {"p1p6": dump("en"), "p7p9": b"more"})
    add_export(server, "enwiki", "2026-09-01", {"p1p9": dump("en")}, complete=False)
    evil = f"{'0' * 64}  ../../evil.xml.bz2\n".encode()
    server.files[f"/{CONTENT}/swwiki/2026-10-01/xml/bzip2/SHA256SUMS"] = evil
    del server.files[f"/{CONTENT}/iowiki/2026-10-01/xml/bzip2/iowiki-2026-10-01-p7p9.xml.bz2"]
    add_export(server, "eowiki", "2026-10-01", {"p1p9": dump("eo")})
    server.files[f"/{CONTENT}/eowiki/2026-10-01/xml/bzip2/eowiki-2026-10-01-p1p9.xml.bz2"] = b"?"
    with pytest.raises(EaseError, match=words):
        fetch_dumps(server.address, languages, options(tmp_path, layout=layout, **fields))
    downloads = names(path for path in tmp_path.rglob("*") if path.is_file() and path.name != "SHA256SUMS")
    assert downloads == (["iowiki-2026-10-01-p1p6.xml.bz2"] if languages == ["io"] else [])


def test_the_archive_has_old_dumps(server: FileServer, tmp_path: Path) -> None:
    archive = f"{server.address}/download"
    for wiki in ("enwiki", "dewiki", "enwikinews"):
        for date in ("20190101", "20190120"):
            stem = f"{wiki}-{date}"
            content = {f"{stem}-pages-articles.xml.bz2": dump(wiki[:2]), f"{stem}-stub.xml.gz": b"other"}
            add_item(server, wiki, date, {**content, f"{stem}-page_props.sql.gz": b"table"})
    add_item(server, "enwiki", "20190301", {"enwiki-20190301-stub.xml.gz": b"no articles"})
    fetched = fetch_dumps(archive, ["en", "de"], options(tmp_path, date="20190101", page_props=True))
    assert names(files_of(fetched)) == [f"{wiki}-20190101-pages-articles.xml.bz2" for wiki in ("enwiki", "dewiki")]
    assert names(fetched.tables.values()) == [f"{wiki}-20190101-page_props.sql.gz" for wiki in ("enwiki", "dewiki")]
    assert fetch_dumps(archive, ["en"], options(tmp_path)).date == "20190120"
    assert fetch_dumps(archive, ["en"], options(tmp_path), project="wikinews").date == "20190120"
    with pytest.raises(EaseError, match=r"enwiki of 20190222\. The nearest complete date there is 20190120"):
        fetch_dumps(archive, ["en"], options(tmp_path, date="20190222"))
    nothing = "/advancedsearch.php?q=identifier:swwiki-2*&fl%5B%5D=identifier&rows=500&output=json"
    server.files[nothing] = b'{"response": {"docs": []}}'
    with pytest.raises(EaseError, match="lists no dumps of swwiki"):
        fetch_dumps(archive, ["sw"], options(tmp_path))
    for item in ("wikidata-json", "wikidatawiki"):
        add_item(server, item, "20150105", {})
    name = "wikidata-20200330-all.json"
    add_item(server, "wikibase-wikidatawiki", "20200330", {f"{name}.gz": b"gz", f"{name}.bz2": b"bz2"})
    path = fetch_wikidata(archive, options(tmp_path, date="20200330"))
    assert path == tmp_path / f"wikidatawiki/entities/20200330/{name}.bz2"
    with pytest.raises(EaseError, match=r"date there is 20200330\. Set another `wikidata_date`"):
        fetch_wikidata(archive, options(tmp_path, date="20200301"))
