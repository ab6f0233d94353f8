"""Nodes of `publish`."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

from ease.errors import EaseError
from ease.io.atomic import finish_replacement
from ease.io.lazy import ibis
from ease.io.names import suggest
from ease.io.versions import setting_and_method
from ease.methods import method_names
from ease.pipelines.mlflow_runs import set_alias
from ease.pipelines.publish.options import PublishOptions

logger = logging.getLogger(__name__)

MANIFEST = "publish.json"
"""File of a written folder that lists its forms; it marks a folder that may be replaced."""

REPLACED = (
    ".eval_results/*",
    "entities/*",
    "onnx/*",
    "openvino/*",
    "static/*",
    "*.parquet",
    "*.txt",
    "croissant.json",
)
"""Files of an earlier push that are removed if the new folder lacks them."""

Rows = list[dict[str, Any]]


def write_folder(
    options: PublishOptions,
    encoder: Path | None,
    student: Path | None,
    scores: Rows,
    vocabulary: Path | None,
    training_pairs: ibis.Table | None,
    mewsc16: Path | None,
) -> dict[str, Any]:
    """Write the folder for the hub, atomically.

    Returns:
        `folder`, `what`, `version`, `files` (bytes by path) and `forms` with their cosines to torch.
    """
    from ease.io.atomic import atomic_folder
    from ease.pipelines.publish.contents import write_data_set, write_model

    target = free_folder(options.folder)
    check_token(options)
    with atomic_folder(target) as folder:
        if options.what == "mewsc16":
            about = write_data_set(folder, mewsc16)
        else:
            chosen = _chosen(options, encoder)
            about = write_model(folder, options, chosen, student, scores, vocabulary, training_pairs)
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        about["files"] = {path.relative_to(folder).as_posix(): path.stat().st_size for path in files}
        text = json.dumps(about, indent=2, ensure_ascii=False)
        (folder / MANIFEST).write_text(text, encoding="utf-8")
    logger.info("%s is ready for the hub: %d files", target, len(about["files"]))
    return {"folder": str(target.absolute()), **about}


def announce(options: PublishOptions, summary: dict[str, Any], encoder: Path | None) -> dict[str, Any]:
    """Push the written folder if a repository is given, and give the encoder's version its alias in MLflow.

    Returns:
        `commit`, the address of the hub's commit, and `registered`, the address of the version; None without them.
    """
    from ease.io.atomic import write_text_atomically
    from ease.io.hub import push_folder, require_token

    commit = registered = None
    if options.repository is not None:
        folder = Path(summary["folder"])
        commit = push_folder(
            folder,
            options.repository,
            require_token(options.repository),
            "dataset" if options.what == "mewsc16" else "model",
            endpoint=options.endpoint,
            private=options.private,
            replaced=REPLACED,
        )
        pushed = json.loads((folder / MANIFEST).read_text(encoding="utf-8")) | {"commit": commit}
        write_text_atomically(folder / MANIFEST, json.dumps(pushed, indent=2, ensure_ascii=False))
        logger.info("Pushed to %s", commit)
    if options.alias is not None and options.what == "model" and encoder is not None:
        registered = set_alias(encoder, f"{options.setting}.{options.method}", options.alias)
    return {"commit": commit, "registered": registered}


def free_folder(target: Path) -> Path:
    """Return the folder to write, put back if a kill has interrupted its replacement."""
    finish_replacement(target)
    if target.exists() and not target.is_dir():
        raise EaseError(f"{target} is a file: give a folder as `publish.to`.")
    if target.is_dir() and any(target.iterdir()) and not (target / MANIFEST).is_file():
        raise EaseError(
            f"{target} has files that `publish` did not write: remove it, or give another `publish.to`."
        )
    return target


def check_token(options: PublishOptions) -> None:
    """Refuse a push without a token before the work is done."""
    if options.repository is not None:
        from ease.io.hub import require_token

        require_token(options.repository)


def _chosen(options: PublishOptions, encoder: Path | None) -> Path:
    """Return the encoder."""
    chosen = (options.setting, options.method)
    if encoder is None and options.method not in method_names():
        raise EaseError(
            f"There is no trained encoder {'.'.join(chosen)} to publish, and {options.method!r} is no training method "
            f"(`kedro run --pipelines=distill` makes students): {suggest(options.method, method_names())}"
        )
    if encoder is None:
        raise EaseError(
            f"There is no trained encoder {'.'.join(chosen)} to publish: train it by `kedro run --pipelines=train "
            f"--namespaces={'.'.join(chosen)}`, or choose one by --params publish.setting=…,publish.method=…."
        )
    found = setting_and_method(encoder)
    if found != chosen:
        raise EaseError(
            f"The parameters name the encoder {'.'.join(chosen)}, but the catalog reads {'.'.join(found)}: give "
            "`publish.setting` and `publish.method` by --params, not in a file."
        )
    return encoder
