"""Find dumps and split them into shards."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import tarfile
import zipfile
from pathlib import Path

import pytest

from ease.errors import EaseError
from ease.wikimedia.dumps.files import find_dumps, read_siteinfo
from tests.wikimedia.made_dumps import TAIL, article, as_dump, as_streams, as_zstd, cut, make_export, read_all

EXPORT = make_export([article(1)]).encode()


def zipped(content: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("dump.xml", content)
    return packed.getvalue()


def tarred(content: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        member = tarfile.TarInfo("dump.xml")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def place(folder: Path, *names: str) -> None:
    for name in names:
        export = EXPORT
        if wiki := re.match(r"(\w+)wiki-", Path(name).name):
            export = make_export([article(1)], language=wiki[1]).encode()
        content = bz2.compress(export) if name.endswith("bz2") else gzip.compress(export)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(export if name.endswith("xml") else content)


def names(source: Path | str, *languages: str) -> list[str]:
    return [dump.path.name for dump in find_dumps(source, languages)]


def test_the_header_has_namespaces_and_the_language(tmp_path: Path) -> None:
    elements = '<namespace key="-1" case="first-letter">Istimewa</namespace>\n<namespace key="102">P A</namespace>'
    export = make_export([article(1)], language="simple")
    path = tmp_path / "simplewiki-pages-articles.xml"
    path.write_text(export.replace("    </namespaces>", f"{elements}\n    </namespaces>"))
    namespaces = read_siteinfo(path, "simple").namespaces
    assert [namespaces.get(name) for name in ("istimewa", "berkas", "p a")] == [-1, 6, 102]
    unnamed = path.rename(tmp_path / "my-copy-pages-articles.xml")
    assert [dump.language for dump in find_dumps(tmp_path, ["simple"])] == ["simple"]
    unnamed.write_text(make_export([]).replace("<dbname>enwiki</dbname>", ""))
    assert [dump.language for dump in find_dumps(tmp_path, ["en"])] == ["en"]


def test_uses_one_form_of_a_dump(tmp_path: Path) -> None:
    english = [".xml.bz2", "-multistream.xml.bz2", "1.xml-p1p41242.bz2", "-multistream-index.txt.bz2"]
    place(tmp_path, *(f"enwiki-20240101-pages-articles{form}" for form in english))
    german = ["articles.xml", "articles.xml.gz", "meta-current.xml.bz2"]
    place(tmp_path, *(f"dewiki-20240101-pages-{form}" for form in german))
    assert names(tmp_path, "en") == ["enwiki-20240101-pages-articles-multistream.xml.bz2"]
    assert names(tmp_path, "de") == ["dewiki-20240101-pages-articles.xml"]


@pytest.mark.parametrize(
    ("files", "dates", "message"),
    [
        (["2026-10-01 p1p9", "2026-11-01 p1p5"], ["2026-11-01"], "not the content export of 20261001"),
        (["2026-04-01 p1p9", "20260401"], ["20260401"], "not the content export of 20260401"),
        (["2026-10-01 p1p9", "2026-11-01 p1p50", "2026-11-01 p101p150"], ["2026-10-01"], "Pages 51 to 100 are missing"),
        (["2026-11-01 p1p50", "2026-11-01 p41p90"], ["2026-11-01"] * 2, "overlap: pages 41 to 50 are in both"),
        (["2026-10-01 p1p9000", "2026-11-01 p5000p9000"], ["2026-10-01"], "Pages 1 to 4999 are missing"),
    ],
)
def test_the_newest_complete_date_or_layout_is_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, files: list[str], dates: list[str], message: str
) -> None:
    for name in files:
        date, _, pages = name.partition(" ")
        place(tmp_path, f"dewiki-{date}-{pages or 'pages-articles'}.xml.bz2")
    with caplog.at_level("INFO"):
        dumps = find_dumps(tmp_path, ["de"])
    assert [dump.dump_date for dump in dumps][: len(dates)] == [date.replace("-", "") for date in dates]
    assert message in caplog.text


def test_dumps_with_any_name_are_recognised_by_their_header(tmp_path: Path) -> None:
    place(tmp_path, "part one.xml.bz2", "2.xml", "de/dewiki-latest-pages-articles.xml")
    (tmp_path / "feed.xml").write_text("<rss/>")
    assert names(tmp_path, "en") == ["2.xml", "part one.xml.bz2"]
    with pytest.raises(EaseError, match=r"no dump of fr; it has de, en\. .*feed\.xml is not a MediaWiki export"):
        find_dumps(tmp_path, ["fr"])


def test_other_files_beside_the_dumps_are_ignored(tmp_path: Path) -> None:
    dump = "enwiki-latest-pages-articles.xml.bz2"
    place(tmp_path, dump)
    for name in (f"{dump}-rss.xml", f"._{dump}", f"{dump}.md5", f"{dump}.part", "SHA256SUMS", "_SUCCESS"):
        (tmp_path / name).write_text("other")
    for source in (tmp_path, f"{tmp_path}/*"):
        assert names(source, "en") == [dump]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (".xml", b"this is no XML", r"is not a MediaWiki export .*: it begins with b'this is no XML'"),
        (".xml", EXPORT.decode().encode("utf-16"), r"is encoded in UTF-16, .*iconv -f UTF-16 -t UTF-8"),
        (".xml", EXPORT.decode().encode("utf-16-be"), "is encoded in UTF-16"),
        (".xml.gz", gzip.compress(EXPORT.decode().encode("utf-16")), "is encoded in UTF-16"),
        (".xml", EXPORT.decode().encode("utf-32"), "is encoded in UTF-32"),
        (".xml", b'<?xml version="1.0" encoding="ISO-8859-1"?>\n' + EXPORT, "is encoded in ISO-8859-1"),
        (".xml", b"<?xml version='1.0' encoding = 'windows-1252'?>\n" + EXPORT, "is encoded in windows-1252"),
        (".xml", b"<mediawiki><siteinfo></wrong>", "is broken before its first page: Opening and ending tag"),
        (".xml", b"", r"is empty \(0 bytes\)"),
        (".xml.gz", bz2.compress(EXPORT), r"gz is bz2-compressed: rename it so that it ends in .bz2"),
        (".xml.bz2", bz2.compress(EXPORT)[:200], "is truncated before the end of its first bz2 block"),
        (".xml", EXPORT[:200], "is truncated before its first page"),
        (".xml", b"7z\xbc\xaf\x27\x1c" + bytes(99), "is a 7z archive, which is not read: unpack it"),
        (".xml", zipped(EXPORT), "is a zip archive, which is not read: unpack it"),
        (".xml", tarred(EXPORT), "is a tar archive, which is not read: unpack it"),
        (".xml.gz", gzip.compress(tarred(EXPORT)), "is a tar archive"),
        (".xml.bz2", bz2.compress(tarred(EXPORT)), "is a tar archive"),
        (".xml.gz", gzip.compress(gzip.compress(EXPORT)), "is compressed twice"),
        (".xml.bz2", b"version https://git-lfs.github.com/spec/v1\n", "is a pointer of Git LFS"),
        (".xml", EXPORT.replace(b"<dbname>en", b"<dbname>fr"), "is a dump of frwiki by its header, not of enwiki"),
        (".xml", EXPORT.replace(b"wiki<", b"_copy<").replace(b'"en"', b'"fr"'), "is a dump of en_copy by its header"),
        (
            ".xml",
            EXPORT.replace(b"<dbname>enwiki", b"<dbname>enwikivoyage"),
            "of enwikivoyage by its header, not of",
        ),
        (".xml", EXPORT.replace(b"<dbname>enwiki", b"<dbname>commonswiki"), "is a dump of commonswiki by its header"),
        (".xml", b"ZIM\x04" + bytes(99), "is a ZIM archive of rendered pages: download the wiki's dump"),
        (".xml.bz2", bz2.compress(b"\0\1\2\3" * 99), "is not a MediaWiki export .*: it begins with b'.x00"),
        (".xml", b'{"index":{"_id":"1"}}\n{"title":"A"}\n', "is not a MediaWiki export .*: it begins with b'{"),
        (".xml", b"-- MySQL dump 10.19\nDROP TABLE", "is not a MediaWiki export .*: it begins with b'-- MySQL"),
        (".xml", b'<doc id="1" title="A">\nA.\n</doc>', "is not a MediaWiki export .*: its root is <doc>"),
        (".xml", lzma.compress(EXPORT), "is xz-compressed: rename it so that it ends in .xz"),
        (".xml.xz", EXPORT, "is not a xz file"),
        (".xml.xz", lzma.compress(EXPORT)[:50] + b"\xff" * 400, "is broken: its xz data"),
        (".xml.bz2", b"BZh9garbage" * 100, "is broken: its bz2 data at byte 0 do not decode"),
        (".xml.gz", gzip.compress(EXPORT)[:20] + b"\xff" * 400, "is broken: its gz data"),
    ],
)
def test_refuses_files_that_are_not_dumps(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = tmp_path / f"enwiki-20240101-pages-articles{name}"
    path.write_bytes(content)
    with pytest.raises(EaseError, match=message) as caught:
        find_dumps(tmp_path, ["en"])
    assert str(path) in str(caught.value)


def test_a_slice_with_the_header_of_another_wiki_is_read_by_its_name(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Collections of test data publish such slices, such as DBpedia's minidumps."""
    path = tmp_path / "ptwiki-mini-pages-articles.xml"
    path.write_bytes(EXPORT)
    (tmp_path / "feed.xml").write_text("<rss/>")
    assert [dump.language for dump in find_dumps(tmp_path, ["pt"])] == ["pt"]
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert [text.partition(": its root")[0] for text in warnings] == [
        f"Not read: {tmp_path}/feed.xml is not a MediaWiki export (XML with the root <mediawiki>)",
        f"{path} has the header of enwiki; it is read as ptwiki, by its name",
    ]


@pytest.mark.parametrize(
    "head", [b"\xef\xbb\xbf", b'<?xml version="1.0" encoding="UTF-8"?>\n', b"<?xml version='1.0'?>"]
)
def test_utf_8_may_be_declared(tmp_path: Path, head: bytes) -> None:
    (tmp_path / "my export.xml").write_bytes(head + EXPORT)
    (dump,) = find_dumps(tmp_path, ["en"])
    assert [page.page_id for page in read_all(dump)[0]] == [1]


@pytest.mark.parametrize(
    ("database", "tag", "language"),
    [
        ("dewikivoyage", "de", "de"),
        ("zhwikivoyage", "zh", "zh"),
        ("meinwiki", "de", "de"),
        ("meinwiki", "de-AT", "de"),
        ("mywiki", "en-GB", "en"),
        ("my_db", "pt-BR", "pt"),
        ("commonswiki", "en", "en"),
        ("zh_yuewiki", "yue", "zh-yue"),
        ("nowiki", "nb", "no"),
        ("simplewiki", "en", "simple"),
        ("be_x_oldwiki", "be-tarask", "be-x-old"),
        ("xyzwiki", "xyz-latn", "xyz"),
        ("", "zh-Hans", "zh"),
    ],
)
@pytest.mark.parametrize("name", ["slice.xml", "{}-20240101-pages-articles.xml"])
def test_the_language_of_another_projects_dump_is_its_xml_lang(
    tmp_path: Path, database: str, tag: str, language: str, name: str
) -> None:
    path = tmp_path / name.format(database)
    path.write_text(
        EXPORT.decode().replace("<dbname>enwiki<", f"<dbname>{database}<").replace('lang="en"', f'lang="{tag}"')
    )
    if not path.name.startswith("mywiki-"):
        assert [dump.language for dump in find_dumps(path, [language])] == [language]


def test_another_projects_dump_is_not_mixed_with_a_wikipedia(tmp_path: Path) -> None:
    place(tmp_path, "dewiki-20240101-pages-articles.xml")
    for database in ("dewikivoyage", "meinwiki"):
        export = EXPORT.replace(b"<dbname>enwiki<", f"<dbname>{database}<".encode()).replace(b'"en"', b'"de"')
        (tmp_path / f"{database}-20240101-pages-articles.xml").write_bytes(export)
    assert names(tmp_path, "de") == ["dewiki-20240101-pages-articles.xml"]
    (tmp_path / "dewiki-20240101-pages-articles.xml").unlink()
    with pytest.raises(EaseError, match=r"no dump of de; .* dumps of dewikivoyage, meinwiki, not of one Wikipedia"):
        find_dumps(tmp_path, ["de"])
    with pytest.raises(EaseError, match=r"no dump of fr; it has de \(dewikivoyage\), de \(meinwiki\)\. "):
        find_dumps(tmp_path, ["fr"])


@pytest.fixture(scope="module")
def many_pages() -> list[str]:
    return [article(number) for number in range(1, 400)]


def pack(export: str, pages: list[str], form: str) -> tuple[str, bytes]:
    """Return a dump's suffix and content: multistream dumps are split at pages, pbzip2 splits anywhere."""
    content = export.encode()
    if form == "multistream":
        groups = ["".join(pages[start : start + 25]) for start in range(0, len(pages), 25)]
        return ".xml.bz2", as_streams([part.encode() for part in (export[: export.index("  <page>")], *groups, TAIL)])
    if form.isdecimal():
        return ".xml.bz2", as_streams(cut(content, int(form)))
    if form == "members":
        return ".xml.gz", b"".join(gzip.compress(part) for part in cut(content, 30_000)) + bytes(70_000)
    packed = {
        "one stream": (".xml.bz2", bz2.compress(content, 1)),
        "gz": (".xml.gz", gzip.compress(content)),
        "zst": (".xml.zst", b"".join(map(as_zstd, cut(content, 30_000)))),
        "plain": (".xml", content),
    }
    return packed[form]


@pytest.mark.slow
@pytest.mark.parametrize("bytes_per_shard", [500, 3000])
@pytest.mark.parametrize("form", ["multistream", "1000", "one stream", "members", "zst", "plain"])
def test_shards_read_each_page_once(tmp_path: Path, many_pages: list[str], form: str, bytes_per_shard: int) -> None:
    export = make_export(many_pages)
    ending, content = pack(export, many_pages, form)
    expected, _ = read_all(as_dump(tmp_path / "plain.xml", export.encode()))
    pages, tallies = read_all(as_dump(tmp_path / f"packed{ending}", content), bytes_per_shard)
    assert pages == expected
    assert len(expected) == len(many_pages)
    assert not any(tally.truncated or tally.skipped for tally in tallies)
    assert sum(tally.seen for tally in tallies) == len(many_pages)
    if bytes_per_shard == 500:
        assert sum(tally.seen > 0 for tally in tallies) > 1, "several shards have pages"


@pytest.mark.parametrize("form", ["multistream", "one stream", "gz", "zst", "plain"])
@pytest.mark.parametrize("lost", [0.6, 1])
def test_exactly_one_shard_reports_truncation(tmp_path: Path, many_pages: list[str], form: str, lost: float) -> None:
    ending, content = pack(make_export(many_pages), many_pages, form)
    size = len(content) - int(lost if lost >= 1 else lost * len(content))
    if form == "plain" and lost == 1:
        size -= 2  # ">" and the line's end alone are no loss
    dump = as_dump(tmp_path / f"cut{ending}", content[:size])
    if (form, lost) == ("one stream", 0.6):
        with pytest.raises(EaseError, match="is truncated before the end of its first bz2 block"):
            read_all(dump)
        return
    expected, [tally] = read_all(dump)
    pages, tallies = read_all(dump, 3000)
    assert tally.truncated
    assert sum(tally.truncated for tally in tallies) == 1
    assert pages == expected
