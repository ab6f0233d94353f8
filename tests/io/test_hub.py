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
    made = tmp_path / "made"
    (made / "onnx").mkdir(parents=True)
    (made / "README.md").write_text("---\nlicense: apache-2.0\n---\n# A model\n", encoding="utf-8")
    (made / "onnx" / "model.onnx").write_bytes(bytes(range(256)))
    return made


def fault_of(folder: Path, hub: HubServer, token: str = WRITER, name: str = "owner/made") -> str:
    with pytest.raises(EaseError) as error:
        push_folder(folder, name, token, endpoint=hub.address)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_the_hub_gets_every_file_and_loses_those_that_are_gone(hub: HubServer, folder: Path) -> None:
    address = push_folder(folder, "owner/made", WRITER, endpoint=hub.address)
    files = hub.repositories["models/owner/made"]
    assert files["onnx/model.onnx"] == bytes(range(256))
    assert files["README.md"] == (folder / "README.md").read_bytes()
    assert hub.private["models/owner/made"]
    assert address == f"{hub.address}/owner/made/commit/{'1' * 40}"
    files["notes.md"] = b"written on the hub"
    (folder / "onnx" / "model.onnx").unlink()
    push_folder(folder, "owner/made", WRITER, endpoint=hub.address, replaced=("onnx/*",))
    assert set(hub.repositories["models/owner/made"]) == {".gitattributes", "README.md", "notes.md"}


@pytest.mark.parametrize(
    ("token", "refuses", "words"),
    [
        ("hf_other", None, "HTTP status 401"),
        (WRITER, (422, "The repository is full."), "status 422 (The repository is full.): the folder is"),
    ],
)
def test_a_refusal_is_one_line(hub: HubServer, folder: Path, token: str, refuses: object, words: str) -> None:
    hub.refuses = refuses  # type: ignore[assignment]
    message = fault_of(folder, hub, token)
    assert message.startswith(f"The hub at {hub.address} refused owner/made with ")
    assert words in message


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
