"""The hand-written templates: complete, with the right slots."""

from __future__ import annotations

import re
import string

import pytest

from ease.sample.facts import KINDS
from ease.sample.phrases import FRAMES, read_templates
from ease.wikimedia.languages import PAPER_LANGUAGES

WORDS = {"one", "many"}


@pytest.mark.parametrize("language", PAPER_LANGUAGES)
def test_each_frame_has_at_least_four_templates_with_its_slots(language: str) -> None:
    frames = read_templates(language)["frames"]
    assert list(frames) == list(FRAMES)
    for frame, lines in frames.items():
        templates = lines.splitlines()
        assert len(set(templates)) == len(templates) >= 4, frame
        for template in templates:
            slots = [name for _, name, _, _ in string.Formatter().parse(template) if name]
            own = [slot for slot in slots if slot not in WORDS]
            assert sorted(own) == sorted(FRAMES[frame]), template
            assert set(slots) - set(own) <= (WORDS if frame in ("define", "several") else set()), template


@pytest.mark.parametrize("language", PAPER_LANGUAGES)
def test_each_template_is_one_sentence(language: str) -> None:
    stop = "。" if language == "ja" else "."
    for lines in read_templates(language)["frames"].values():
        for template in lines.splitlines():
            assert template.endswith(stop)
            assert not re.search(r"[.。!?؟]", template[:-1]), template


def test_languages_have_the_same_templates_by_number() -> None:
    counts = {
        language: {
            frame: len(lines.splitlines()) for frame, lines in read_templates(language)["frames"].items()
        }
        for language in PAPER_LANGUAGES
    }
    assert all(count == counts["en"] for count in counts.values())


@pytest.mark.parametrize("language", PAPER_LANGUAGES)
def test_words_headings_and_notes_are_complete(language: str) -> None:
    english, own = read_templates("en"), read_templates(language)
    assert tuple(own["words"]) == KINDS
    assert all(set(forms) == {"one", "many", "short"} for forms in own["words"].values())
    for part in ("headings", "notes"):
        assert own[part].keys() == english[part].keys()
        for name, text in own[part].items():
            assert text.count("{X}") == english[part][name].count("{X}"), (part, name)
