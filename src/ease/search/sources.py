"""What a project has for a search: tables of a setting, and encoders."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from ease.errors import EaseError
from ease.io.addresses import is_remote, located
from ease.io.files import read_json
from ease.io.names import UNTRAINED
from ease.io.project import read_globals
from ease.io.suggestions import suggest
from ease.io.versions import MODELS, saved_encoders, saved_versions, trained_methods

TRAIN = "kedro run --pipelines=train_multilingual"


@dataclass(frozen=True)
class Model:
    """An encoder that can be searched with."""

    name: str
    """Method of the project, `untrained`, folder or hub name"""
    location: str
    """Folder or hub name"""
    vocabulary: str | None
    """Version of the vocabulary that it was trained with; None: unknown"""

    @property
    def parts(self) -> Path:
        """File of the parameters that were trained beside the encoder, which may not exist."""
        return Path(self.location) / "training" / "parts.safetensors"


@dataclass(frozen=True)
class Sources:
    """The tables and encoders of a setting."""

    data: Path
    tables: Path
    setting: str

    @classmethod
    def of_project(cls, project: str | Path, setting: str) -> Sources:
        """Return those of a project's folder.

        Raises:
            EaseError: If the folder has no configuration, or its tables are on another machine.
        """
        folder = Path(project)
        values = read_globals(folder)
        data = str(values.get("data", "data"))
        tables = located(str(values.get("tables", data)))
        if is_remote(tables):
            raise EaseError(f"The tables are at {tables}: copy them here, and set `tables` to that folder.")
        return cls(folder / data, folder / tables, setting)

    def table(self, stage: str, name: str, version: str | None = None) -> list[Path]:
        """Return the Parquet files of a table's newest version, or of a version if it exists; empty without any.

        Args:
            stage: Folder of the layer, such as `03_primary`.
            name: File or folder name of the table.
            version: Preferred version.
        """
        folder = self.tables / stage / self.setting / name
        if version is not None and (folder / version / name).exists():
            found = folder / version / name
        else:
            versions = saved_versions(folder)
            if not versions:
                return []
            found = versions[-1]
        return sorted(found.glob("*.parquet")) if found.is_dir() else [found]

    def sentences(self) -> list[Path]:
        """Return the files of the sentences.

        Raises:
            EaseError: If there are none.
        """
        files = self.table("02_intermediate", "sentences")
        if not files:
            raise EaseError(
                f"The setting {self.setting!r} has no sentences in {self.tables}: make them and a model by `{TRAIN}`."
            )
        return files

    def models(self) -> list[str]:
        """Return the names of the trained encoders and `untrained`, in the order of their training."""
        names = {method for setting, method in trained_methods(self.data / MODELS) if setting == self.setting}
        order = [UNTRAINED, "simcse", "ease", "ease_plus"]
        return [*(name for name in order if name in names), *sorted(names - set(order))]

    def model(self, name: str) -> Model:
        """Return the newest encoder of a method, or the one in a folder or on the hub.

        Raises:
            EaseError: If there is none.
        """
        if versions := saved_encoders(self.data / MODELS, self.setting, name):
            made = read_json(versions[-1].parent / "provenance.json") or {}
            inputs = made.get("inputs", {})
            return Model(name, str(versions[-1]), inputs.get(f"{self.setting}.entity_vocabulary"))
        if Path(name).is_dir() or name.count("/") == 1:
            return Model(name, name, None)
        known = self.models()
        if not known:
            raise EaseError(f"No model of the setting {self.setting!r} is trained: run `{TRAIN}`.")
        raise EaseError(f"No model {name!r} of the setting {self.setting!r}: {suggest(name, known)}")


def digest_tables(files: list[Path]) -> str:
    """Hash the footers of Parquet files, which have their rows, sizes and extreme values; 32 hexadecimal digits.

    Raises:
        EaseError: If a file is not Parquet.
    """
    digest = hashlib.sha256()
    for file in files:
        try:
            footer = pq.read_metadata(file).to_dict()
        except (OSError, ValueError) as error:
            raise EaseError(f"{file} is not a Parquet file: {error}") from error
        digest.update(json.dumps(footer, sort_keys=True, default=str).encode())
    return digest.hexdigest()[:32]
