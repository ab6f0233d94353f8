"""The hand-written templates: complete, with the right slots."""

from __future__ import annotations

import string

import pytest

from ease.sample.world import FRAMES, KINDS, read_templates
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
def test_words_headings_and_notes_are_complete(language: str) -> None:
    english, own = read_templates("en"), read_templates(language)
    assert tuple(own["words"]) == KINDS
    assert all(set(forms) == {"one", "many", "short"} for forms in own["words"].values())
    for part in ("headings", "notes"):
        assert own[part].keys() == english[part].keys()
        for name, text in own[part].items():
            assert text.count("{X}") == english[part][name].count("{X}"), (part, name)
