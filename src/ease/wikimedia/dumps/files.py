"""Finding the dump files of Wikipedias or Wikinews, and cutting them into shards that many processes read."""

from __future__ import annotations

import glob
import logging
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Literal

from ease.errors import EaseError
from ease.io.addresses import files_below, files_matching, is_remote, kind_of, located
from ease.wikimedia.dumps.siteinfo import read_header
from ease.wikimedia.dumps.streams import Compression, compression_of
from ease.wikimedia.languages import Language, check_languages
from ease.wikimedia.wikitext.titles import SiteInfo

logger = logging.getLogger(__name__)

_NAME = re.compile(
    r"(?P<wiki>[a-z][a-z0-9_]*?)(?P<project>wiki|wikinews)-(?:(?P<edition>.+?)-)?"
    r"pages-articles(?P<multistream>-multistream)?(?P<part>\d*)\.xml(?P<pages>-p\d+p\d+)?(?P<rest>-[\w-]+)?(?:\.(?:bz2|gz))?"
)
_DUMP = re.compile(r".*-pages-articles.*\.xml[^.]*(?:\.(?:bz2|gz))?")
Project = Literal["wiki", "wikinews"]
_IN_WORDS: dict[Project, str] = {"wiki": "", "wikinews": " of Wikinews"}
_MOST_GZIP_SHARDS = 16
"""All shards together unpack a file eight times, which costs about a fifth of parsing it once."""


@dataclass(frozen=True)
class DumpFile:
    """A dump file of one wiki; `dump_date` is YYYYMMDD, None where neither name nor folder tells it."""

    path: Path
    language: str
    dump_date: str | None
    kind: Compression


@dataclass(frozen=True)
class Shard:
    """The pages that begin in what bytes `start` to `end` of a file unpack to; in bz2, the blocks that begin there."""

    dump: DumpFile
    start: int
    end: int


def find_dumps(source: str | Path, languages: Sequence[str], project: Project = "wiki") -> list[DumpFile]:
    """The dump files of some languages' Wikipedias in a folder (searched through), a glob, or one file.

    Of the same dump as one file and in parts, as multistream and plain, packed and unpacked, one form is
    taken: one file before parts, multistream before plain. Of several dated dumps of a language the newest is
    taken, and the log says so; dumps without a date (`latest`, slices) are taken together.

    Args:
        source: The folder, glob or file, of this machine or at an address that fsspec reaches.
        languages: Their codes.
        project: Which wikis to take: as their names end after the language.

    Raises:
        EaseError: Nothing is there, a language has no dump there, or some with a date and some without, or a
            file is no MediaWiki export.
    """
    found: dict[str, list[DumpFile]] = defaultdict(list)
    asked = {Language(language).database: language for language in languages}
    for path in list_files(source, _DUMP.fullmatch, "*-pages-articles*.xml, .xml.bz2 or .xml.gz"):
        of, dump = recognise_dump(path)
        if of == project:
            language = asked.get(Language(dump.language).database, dump.language)
            found[language].append(replace(dump, language=language))
    missing = [language for language in languages if language not in found]
    if missing or not languages or len(set(languages)) < len(languages):
        check_languages(missing or languages)
        raise EaseError(
            f"{source} has no dump of {', '.join(missing)}; it has {', '.join(sorted(found)) or 'none'}"
            f"{_IN_WORDS[project]}. Add the dumps, or take the languages out of `languages`."
        )
    dumps = [dump for language in languages for dump in _choose_forms(choose_date(found[language]))]
    for dump in dumps:
        read_siteinfo(dump)
    return dumps


def list_files(source: str | Path, wanted: Callable[[str], object], pattern: str) -> list[Path]:
    """The files that a folder, a glob or one file's path names, sorted.

    Args:
        source: The folder is searched through.
        wanted: Called with the name of each file of a folder; true for the files to list.
        pattern: What `wanted` accepts, in words for the message.

    Raises:
        EaseError: The path does not exist, or no file fits.
    """
    path = located(source)
    kind = kind_of(path)
    if kind == "file":
        return [path]
    if kind == "directory":
        files = sorted(file for file in files_below(path) if wanted(file.name))
        if not files:
            raise EaseError(f"The folder {path} holds no dump: no file in it is named {pattern}.")
        return files
    if not glob.has_magic(str(source)):
        raise EaseError(f"{path} does not exist: set the source to a folder, a glob or a file of dumps.")
    if is_remote(path):
        files = sorted(files_matching(path))
    else:
        files = sorted(Path(name) for name in glob.glob(str(source), recursive=True) if Path(name).is_file())
    files = [file for file in files if "index" not in file.name]
    if not files:
        raise EaseError(f"No file fits the glob {source}: dumps are named {pattern}.")
    return files


def dump_date(path: Path) -> str | None:
    """The date YYYYMMDD in a dump's name, else in the nearest folder above it that is named by a date."""
    in_name = re.findall(r"(?<!\d)\d{8}(?!\d)", re.sub(r"-p\d+p\d+", "", path.name))
    for text in (*in_name, *(parent.name for parent in path.absolute().parents)):
        if re.fullmatch(r"(19|20)\d{6}", text):
            try:
                datetime.strptime(text, "%Y%m%d")
            except ValueError:
                continue
            return text
    return None


def read_siteinfo(dump: DumpFile) -> SiteInfo:
    """What a dump says about its wiki, under the language that its name says.

    Raises:
        EaseError: The file is no MediaWiki export, or declares entities.
    """
    header = read_header(dump.path)
    return SiteInfo(
        language=dump.language,
        dbname=header.dbname or "",
        case=header.case,
        namespaces=dict(header.namespaces),
    )


def split_into_shards(dump: DumpFile, bytes_per_shard: int) -> list[Shard]:
    """Cut a file into shards of so many bytes; a .gz into few, since each unpacks the file from its beginning."""
    size = dump.path.stat().st_size
    step = max(bytes_per_shard, -(-size // _MOST_GZIP_SHARDS)) if dump.kind == "gz" else bytes_per_shard
    starts = range(0, max(1, size), step)
    return [Shard(dump, start, min(size, start + step)) for start in starts]


def recognise_dump(path: Path) -> tuple[str, DumpFile]:
    """A dump file with its project and language: from its name, else from the wiki that it says it is of."""
    match = _NAME.fullmatch(path.name)
    if match:
        project, database = match["project"], match["wiki"]
    else:
        header = read_header(path)
        dbname = header.dbname or ""
        project = "wikinews" if dbname.endswith("wikinews") else "wiki"
        database = dbname.removesuffix(project) or header.language or ""
        if not database:
            raise EaseError(
                f"{path} tells its language neither by name nor inside: name it as enwiki-pages-articles.xml."
            )
    language = Language.from_database(database).code
    return project, DumpFile(path, language, dump_date(path), compression_of(path))


def choose_date(dumps: Sequence[DumpFile]) -> list[DumpFile]:
    """The dumps of the newest date; all of them where none has a date.

    Raises:
        EaseError: Some have a date and some have none.
    """
    undated = next((dump for dump in dumps if dump.dump_date is None), None)
    newest = max(dumps, key=lambda dump: dump.dump_date or "")
    if newest.dump_date is None:
        return list(dumps)
    if undated:
        raise EaseError(
            f"Of {newest.language} there is a dump with a date, {newest.path}, and one without, "
            f"{undated.path}, which may be newer or older: take one of them away, put the undated one into a "
            "folder named by its date (YYYYMMDD), or name the dumps to take by a glob."
        )
    others = sorted({str(dump.dump_date) for dump in dumps} - {newest.dump_date})
    if others:
        logger.info(
            "%s: the dump of %s is taken, not %s", newest.language, newest.dump_date, ", ".join(others)
        )
    return [dump for dump in dumps if dump.dump_date == newest.dump_date]


def _choose_forms(dumps: Iterable[DumpFile]) -> list[DumpFile]:
    """One form of each edition (`20240101`, `latest`, `mini`), its parts in their order."""
    editions: dict[str, dict[tuple[bool, bool], list[tuple[DumpFile, re.Match[str]]]]] = defaultdict(dict)
    chosen = []
    for dump in dumps:
        match = _NAME.fullmatch(dump.path.name)
        if match is None:
            chosen.append(dump)
            continue
        form = (bool(match["part"] or match["pages"]), not match["multistream"])
        editions[match["edition"] or ""].setdefault(form, []).append((dump, match))
    for _, forms in sorted(editions.items()):
        parts: dict[tuple[int, int, str], tuple[int, DumpFile]] = {}
        for dump, match in forms[min(forms)]:
            first_page = int(re.findall(r"\d+", match["pages"])[0]) if match["pages"] else 0
            # Of a part in several packings: the one that Wikimedia publishes, else the one that is unpacked fastest.
            speed = {"bz2": 0 if match["multistream"] else 3, "plain": 1, "gz": 2}[dump.kind]
            key = (int(match["part"] or 0), first_page, match["rest"] or "")
            parts[key] = min(parts.get(key, (speed, dump)), (speed, dump), key=lambda choice: choice[0])
        chosen.extend(dump for _, (_, dump) in sorted(parts.items(), key=lambda item: item[0]))
    return chosen
