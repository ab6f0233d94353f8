"""A folder is pushed to a hub, and a hub's refusal is one line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants

from ease.errors import EaseError
from ease.io.hub import push_folder, require_token
from tests.hub_server import WRITER, HubServer, running_hub


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with running_hub() as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "README.md").write_text("# A model\n", encoding="utf-8")
    return tmp_path


def fault_of(folder: Path, hub: HubServer, name: str = "owner/made") -> str:
    with pytest.raises(EaseError) as error:
        push_folder(folder, name, WRITER, endpoint=hub.address)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_model_is_private_and_a_refusal_is_one_line(hub: HubServer, folder: Path) -> None:
    push_folder(folder, "owner/made", WRITER, endpoint=hub.address)
    assert hub.private["models/owner/made"]
    hub.refuses = (422, "The repository is full.")
    said = f"The hub at {hub.address} refused owner/made with HTTP status 422 (The repository is full.): the folder is"
    assert fault_of(folder, hub).startswith(said)


def test_a_wrong_name_and_a_hub_that_cannot_be_reached_are_named(hub: HubServer, folder: Path) -> None:
    assert fault_of(folder, hub, name="a/b/c") == "'a/b/c' is not a name on the hub: write OWNER/NAME."
    with running_hub() as gone:
        pass
    assert f"The hub at {gone.address} cannot be reached" in fault_of(folder, gone)


def test_a_push_without_a_token_says_how_to_give_one(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "")
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", "/nowhere")
    with pytest.raises(EaseError, match="set HF_TOKEN to one that may write"):
        require_token("owner/made")
    monkeypatch.setenv("HF_TOKEN", WRITER)
    assert require_token("owner/made") == WRITER
