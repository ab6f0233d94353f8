"""Load encoders that a project has trained, or published ones, without Kedro."""

from __future__ import annotations

from pathlib import Path

from sentence_transformers import SentenceTransformer

from ease.arguments import checked
from ease.encoders.encoder import load_encoder
from ease.encoders.saved import MODELS, current_encoder, trained_methods
from ease.errors import EaseError
from ease.io.files import GLOBALS, read_globals, read_json
from ease.names import suggest

PUBLISHED = Path(__file__).with_name("published.json")
"""The published models; `make release` writes it, and docs/models.md from it."""


@checked
def load(setting: str = "multilingual", method: str = "ease", project: str | Path = ".") -> SentenceTransformer:
    """Load an encoder that a project has trained (`latest`), or a published one from the Hugging Face hub.

    Args:
        setting: Name of the setting, such as `multilingual` or `monolingual`; or of a published model
            (docs/models.md), which goes before the project's.
        method: Name of the method; `untrained` is the encoder that all methods of the setting start from.
        project: Folder of the project; `conf/base/globals.yml` there names the data folder, by default `data`.

    Raises:
        EaseError: If there is no such encoder.

    Example:
        >>> import ease
        >>> ease.load("multilingual", "ease").encode(["Ein Satz.", "A sentence."]).shape
    """
    published = {row["name"]: row["repository"] for row in read_json(PUBLISHED) or ()}
    if setting in published:
        return load_encoder(published[setting])
    data_folder = "data"
    if (Path(project) / GLOBALS).is_file():
        data_folder = str(read_globals(Path(project)).get("data", data_folder))
    models = Path(project) / data_folder / MODELS
    if encoder := current_encoder(models, setting, method):
        return load_encoder(str(encoder))
    names = ["/".join(parts) for parts in trained_methods(models)] + list(published)
    if setting not in names:
        _refuse_place(setting)
    hint = "train one, or give the `project` that did."
    if names:
        hint = suggest(f"{setting}/{method}", names)
    raise EaseError(
        f"No encoder of the setting {setting!r} and the method {method!r} in {models}, and no such published model: "
        f"{hint}"
    )


def _refuse_place(setting: str) -> None:
    """Refuse an encoder's folder or its name on the hub."""
    place = ""
    if (Path(setting) / "config.json").is_file() or (Path(setting) / "modules.json").is_file():
        place = "a folder"
    elif "/" in setting:
        place = "a folder or a hub name"
    if place:
        raise EaseError(f"{setting!r} is {place}, not a setting: load it with `SentenceTransformer({setting!r})`.")
