"""A local mirror with the layouts of dumps.wikimedia.org and of the Internet Archive."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from tests.file_server import FileServer

JOBS = ("articlesmultistreamdump", "articlesmultistreamdumprecombine")


def facts(path: str, content: bytes) -> dict[str, object]:
    """Return a file's entry in `dumpstatus.json`."""
    sums = {name: hashlib.new(name, content).hexdigest() for name in ("md5", "sha1")}
    return {"size": len(content), "url": path, **sums}


def add_dump(
    server: FileServer,
    wiki: str,
    date: str,
    content: bytes,
    status: str = "done",
    parts: Mapping[str, bytes] | None = None,
) -> None:
    """Add a wiki's dump to a mirror: one file and, for a large wiki, its parts."""
    folder, stem = f"/{wiki}/{date}", f"{wiki}-{date}-pages-articles-multistream"
    whole = {f"{stem}.xml.bz2": content, f"{stem}-index.txt.bz2": b"index"}
    cut = {f"{stem}{name}.bz2": part for name, part in (parts or {}).items()}
    first, second = JOBS
    jobs = {first: ("done", cut), second: (status, whole)} if parts else {first: (status, whole)}
    path = f"{folder}/dumpstatus.json"
    status_of = json.loads(server.files[path])["jobs"] if path in server.files else {}
    for job, (state, files) in jobs.items():
        status_of[job] = {"status": state, "updated": ""}
        if state == "done":
            status_of[job]["files"] = {name: facts(f"{folder}/{name}", content) for name, content in files.items()}
        server.files |= {f"{folder}/{name}": content for name, content in files.items()}
    every = {**status_of, "metahistory7zdump": {"status": "in-progress"}}
    server.files[path] = json.dumps({"version": "0.8", "jobs": every}).encode()


def add_page_props(server: FileServer, wiki: str, date: str, content: bytes, status: str = "done") -> None:
    """Add a wiki's table page_props beside its existing dump of pages."""
    folder, name = f"/{wiki}/{date}", f"{wiki}-{date}-page_props.sql.gz"
    server.files[f"{folder}/{name}"] = content
    path = f"{folder}/dumpstatus.json"
    dump_status = json.loads(server.files[path])
    files = {name: facts(f"{folder}/{name}", content)} if status == "done" else {}
    dump_status["jobs"]["pagepropstable"] = {"status": status, "updated": "", "files": files}
    server.files[path] = json.dumps(dump_status).encode()


def add_wikidata(server: FileServer, date: str, content: bytes, summed: bool = True, form: str = "all.json") -> None:
    """Add a Wikidata dump to a mirror; the checksums of a finished dump are listed."""
    folder, name = f"/wikidatawiki/entities/{date}", f"wikidata-{date}-{form}.bz2"
    server.files[f"{folder}/{name}"] = content
    path = f"{folder}/wikidata-{date}-sha1sums.txt"
    lexemes = f"{hashlib.sha1(b'').hexdigest()}  wikidata-{date}-lexemes.json.bz2\n"
    line = f"{hashlib.sha1(content).hexdigest()}  {name}\n" if summed else ""
    server.files[path] = server.files.get(path, b"") + (lexemes + line).encode()


def add_export(server: FileServer, wiki: str, date: str, parts: Mapping[str, bytes], complete: bool = True) -> None:
    """Add a content export; its list of checksums is written last."""
    folder = f"/other/mediawiki_content_current/{wiki}/{date}/xml/bzip2"
    contents = {f"{wiki}-{date}-{pages}.xml.bz2": content for pages, content in parts.items()}
    server.files |= {f"{folder}/{name}": content for name, content in contents.items()}
    if complete:
        sums = "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in contents.items())
        server.files[f"{folder}/SHA256SUMS"] = sums.encode()
        server.files[f"{folder}/_SUCCESS"] = b""


def add_item(server: FileServer, wiki: str, date: str, files: Mapping[str, bytes]) -> None:
    """Add an item of the Internet Archive, whose search finds it."""
    item = f"{wiki}-{date}"
    server.files |= {f"/download/{item}/{name}": content for name, content in files.items()}
    described = [{**facts(name, content), "name": name, "size": str(len(content))} for name, content in files.items()]
    other = {"name": f"{item}_meta.xml", "source": "original"}
    server.files[f"/metadata/{item}"] = json.dumps({"files": [*described, other]}).encode()
    path = f"/advancedsearch.php?q=identifier:{wiki}-2*&fl%5B%5D=identifier&rows=500&output=json"
    answer = json.loads(server.files.get(path, b'{"response": {"docs": []}}'))
    answer["response"]["docs"] += [{"identifier": item}, {"identifier": f"{item}-extra"}]
    server.files[path] = json.dumps(answer).encode()
