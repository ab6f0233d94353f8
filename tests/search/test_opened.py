"""Models of the page: loaded when chosen, searched while their index grows, stopped without loss."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from ease.errors import EaseError
from ease.search.opened import OpenModels
from ease.search.sources import Sources
from tests.search.made_project import Row, add_model, write_encoder, write_project

ROWS = [
    Row("en", number // 10, "Page", number % 10, f"Sentence number {number}.", [17])
    for number in range(6_000)
]


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    """A project with 6,000 sentences and an untrained encoder."""
    project = write_project(tmp_path / "project", ROWS)
    add_model(project, "untrained", write_encoder(tmp_path / "encoder"))
    return Sources.of_project(project, "multilingual")


@pytest.mark.slow
def test_a_model_is_searched_before_its_index_is_complete_and_closed_without_loss(sources: Sources) -> None:
    models = OpenModels(sources)
    model = models.choose("untrained")
    assert models.choose("untrained") is model, "loaded once"
    model.wait(60)
    assert model.search is not None, model.error
    assert len(model.search.search("Sentence number 7.", k=5)) == 5
    assert model.search.entities is None, "a part of the sentences has no means"
    models.close()
    embedded = model.search.index.embedded()
    time.sleep(0.5)
    assert model.search.index.embedded() == embedded > 0, "the thread has ended"
    again = OpenModels(sources).choose("untrained")
    deadline = time.monotonic() + 60
    while not again.complete:
        assert time.monotonic() < deadline, again.error
        time.sleep(0.1)
    assert again.search is not None
    assert [one.entity for one in again.search.nearest_entities("Sentence number 7.")] == [17]
    assert len(again.search.search("Sentence number 7.", k=6_000)) == 6_000


def test_a_model_that_does_not_load_says_so_and_is_tried_again(sources: Sources) -> None:
    models = OpenModels(sources)
    config = next(sources.data.rglob("encoder/config.json"))
    content = config.read_text(encoding="utf-8")
    config.write_text("{", encoding="utf-8")
    broken = models.choose("untrained")
    broken.wait(60)
    assert broken.search is None
    assert "untrained" in broken.error
    assert "\n" not in broken.error
    config.write_text(content, encoding="utf-8")
    repaired = models.choose("untrained")
    repaired.wait(60)
    assert repaired.search is not None, repaired.error
    models.close()
    with pytest.raises(EaseError, match="Unknown model 'ease': Choose from untrained"):
        models.choose("ease")
