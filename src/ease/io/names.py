"""Names that several packages use, and names chosen by users, made safe for MLflow, file names and namespaces."""

from __future__ import annotations

import hashlib
import re

RUN_FILE = "training/mlflow_run.json"
"""The place, in an encoder's folder, of the file that says from what and by which run of MLflow it was trained."""

BASELINES = "baselines"
"""Name, in place of a setting, of encoders that are scored but not trained here"""

UNTRAINED = "untrained"
"""Name, in place of a method, of the encoder that methods start from"""

DEVELOPMENT = "development"
"""Name of scores on development tasks; those of a task's subsets are named `development/<task>/<subset>`."""

PREPARATION = "acquire,acquire_evaluation,ingest,entity_pairs,hard_negatives,entity_embeddings"
"""Tags of the stages before a training"""

_SAFE = re.compile(r"[\w-]([\w .-]*[\w-])?")
_LONGEST = 100
"""Bytes. MLflow accepts 250 characters for a complete dotted name, file systems 255 bytes for a file name."""


def safe_name(name: str) -> str:
    """Return a name of letters, digits, inner spaces and `_ . -` only, of at most 100 bytes.

    A safe name is unchanged. A changed one ends with six digits of the original's hash, which keeps distinct names
    distinct.
    """
    if _SAFE.fullmatch(name) and len(name.encode()) <= _LONGEST:
        return name
    digits = hashlib.sha256(name.encode()).hexdigest()[:6]
    replaced = re.sub(r"\s*[^\w .-]+\s*", "_", name).strip("_. ")
    kept = replaced.encode()[: _LONGEST - len(digits) - 1].decode(errors="ignore")
    return f"{kept}-{digits}"
