"""The compiled functions give what the Python functions give, and are replaced by these where they are missing."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from ease.io.data_files import read_data_file
from ease.io.result_versions import WIKIPEDIA_PARTS
from ease.wikimedia.dumps.files import Shard, recognise_dump
from ease.wikimedia.dumps.pages import iterate_pages
from ease.wikimedia.wikitext.link_trails import link_trail
from ease.wikimedia.wikitext.sentences import SentenceSplitter
from ease.wikimedia.wikitext.titles import SiteInfo
from tests.wikimedia.wikitext.fuzzed_texts import compare_forms, compare_passes, parse_with

NAME = "ease.wikimedia.wikitext.compiled._scanner"
CHOICE = f"""
import sys, types
sys.modules["{NAME}"] = MODULE
from ease.wikimedia.wikitext import compiled
print(compiled.IS_COMPILED, compiled.cut_templates.__module__, compiled.skip_plain_links.__module__)
"""


@pytest.fixture(scope="module")
def scanner() -> ModuleType:
    """The compiled functions of this installation."""
    try:
        return importlib.import_module(NAME)
    except ImportError:
        pytest.skip(
            "The scanner is not compiled: install the package anew where a C++ compiler works (pip -v)"
        )


def test_both_forms_are_equal_on_random_texts(scanner: ModuleType) -> None:
    changed = compare_forms(3000, scanner, seed=1)
    assert min(changed.values()) > 300
    assert len(changed) == 5


def test_both_forms_are_equal_on_real_pages(scanner: ModuleType, test_data: Path) -> None:
    paths = sorted((test_data / "dumps" / "wikipedia").glob("*-mini-*"))
    assert paths
    for path in paths:
        dump = recognise_dump(path)[1]
        site, splitter = SiteInfo(dump.language), SentenceSplitter(dump.language, "icu")
        for page in iterate_pages(Shard(dump, 0, path.stat().st_size)):
            compare_passes(page.text, scanner)
            expected = parse_with(None, page.text, site, splitter)
            assert parse_with(scanner, page.text, site, splitter) == expected, page.title


def test_no_trail_begins_with_an_ascii_character_that_the_scanner_ignores() -> None:
    trails = read_data_file("ease.wikimedia.wikitext", "link_trails.yml")
    for language in " ".join(("other", *trails["after"], *trails["with_marks"])).split():
        trail = re.compile(rf"^{link_trail(language)}")
        for character in map(chr, range(128)):
            texts = [character + letter for letter in ("", "a", "é", "я", "ا")]
            follows = any(trail.sub("", text, count=1) != text for text in texts)
            assert not follows or character.isalpha() or character in "'-:", (language, character)


def choose(module: str) -> list[str]:
    """Return whether compiled functions are used, and the modules of two functions, where a module is compiled."""
    done = subprocess.run(
        [sys.executable, "-c", CHOICE.replace("MODULE", module)], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


@pytest.mark.parametrize("module", ["None", "types.SimpleNamespace(WIKIPEDIA_PARTS=0)"])
def test_python_functions_replace_a_missing_or_outdated_scanner(module: str) -> None:
    assert choose(module) == ["False", "ease.wikimedia.wikitext.markup", "ease.wikimedia.wikitext.spans"]


def test_scanner_has_the_version_of_the_rows(scanner: ModuleType) -> None:
    assert scanner.WIKIPEDIA_PARTS == WIKIPEDIA_PARTS
