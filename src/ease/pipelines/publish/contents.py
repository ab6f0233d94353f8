"""Contents of the published folders."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ease.encoders.check import start_of
from ease.encoders.encoder import load_encoder
from ease.encoders.exports import Exported, export_encoder
from ease.encoders.options import RANDOM
from ease.entities.links import distinct_sentences
from ease.errors import EaseError
from ease.evaluation.tasks import AVERAGE, get_task
from ease.io.files import read_json
from ease.io.lazy import ibis
from ease.io.names import RUN_FILE, safe_name
from ease.io.versions import provenance_of
from ease.pipelines.publish.options import PublishOptions
from ease.reporting.exports import hub_card, main_rows, write_eval_results
from ease.reporting.markdown_tables import format_table
from ease.reporting.own import gather_models
from ease.training.entity_files import LABELS, TENSORS, has_entities, write_entity_table
from ease.wikimedia.wikinews.editions import SPLITS, UNKNOWN

logger = logging.getLogger(__name__)

CARD = "README.md"
TRAINING = "training"
"""Folder of training-only parts in a saved encoder; what is useful in it is published as `entities`."""

STATIC = "static"
ENTITIES = "entities"
FIXED = (
    "A sentence.",
    "No",
    "The weather in the north will be cold tomorrow, with some rain in the afternoon and a clear sky at night.",
    "¿Dónde está la biblioteca?",
    "日本の首都は東京です。",
    "Das ist ein deutscher Satz mit einigen Wörtern mehr.",
)
"""Texts that every form is compared on: one word, several scripts, several lengths"""


def write_model(
    folder: Path,
    options: PublishOptions,
    encoder: Path,
    student: Path | None,
    scores: Sequence[dict[str, Any]],
    vocabulary: Path | None,
    training_pairs: ibis.Table | None,
) -> dict[str, Any]:
    """Write an encoder with its card, entities, exported forms and static student; return what was written."""
    shutil.copytree(encoder, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(TRAINING))
    version = encoder.parent.name
    sections = {}
    if has_entities(encoder):
        count = write_entity_table(encoder, _labels(encoder, options.setting, vocabulary), folder / ENTITIES)
        sections["Entities"] = _entities_text(count)
    texts = list(FIXED)
    if options.forms and training_pairs is not None:
        texts += distinct_sentences(training_pairs, options.check_sentences, options.seed)
    forms = export_encoder(load_encoder(str(encoder)), folder, texts, options.forms)
    if forms:
        sections["Other forms"] = _forms_text(forms, len(texts))
    if student is not None and options.method != "static_student" and _is_of(student, encoder, options):
        shutil.copytree(student, folder / STATIC, ignore=shutil.ignore_patterns(TRAINING))
        sections["Static student"] = (
            f"`{STATIC}` is a small encoder that reproduces this one by one vector per token."
        )
    rows = _write_card(folder, options, version, scores, sections)
    return {
        "what": "model",
        "listed": _listed(folder / CARD, options, encoder, rows),
        "setting": options.setting,
        "method": options.method,
        "version": version,
        "forms": [form._asdict() for form in forms],
    }


def write_data_set(folder: Path, made: Path | None) -> dict[str, Any]:
    """Copy MewsC-16, whose folder is in the form of the hub; return what was written."""
    if made is None:
        raise EaseError("There is no MewsC-16 to publish: make it by `kedro run --pipelines=mewsc16`.")
    unknown = {}
    splits = {file for split in SPLITS for file in made.glob(f"*_{split}.parquet")}
    for file in sorted(set(made.glob("*.parquet")) - splits):
        licences = pq.read_table(file, columns=["licence"])["licence"]
        if rows := pc.sum(pc.equal(licences, UNKNOWN)).as_py():
            unknown[file.stem] = rows
    if unknown:
        listed = ", ".join(f"{language}: {rows}" for language, rows in unknown.items())
        raise EaseError(
            f"The licence of some sentences is not known ({listed}), so they cannot be published: make the data set "
            "from dumps, with `mewsc16.for_publishing`."
        )
    shutil.copytree(made, folder, dirs_exist_ok=True)
    return {"what": "mewsc16", "version": made.parent.name, "forms": []}


def _labels(encoder: Path, setting: str, newest: Path | None) -> pd.DataFrame:
    """Return the entity vocabulary that an encoder was trained with, or the newest if that one is not recorded."""
    made_from = provenance_of(encoder.parent).get("inputs", {})
    recorded = made_from.get(f"{setting}.entity_vocabulary")
    path = newest
    if newest is not None and recorded is not None:
        path = newest.parent.parent / recorded / newest.name
    if path is None or not path.exists():
        raise EaseError(
            f"The entity vocabulary of {setting} that {encoder} was trained with is gone: train the encoder again."
        )
    return pd.read_parquet(path)


def _is_of(student: Path, encoder: Path, options: PublishOptions) -> bool:
    """Return whether a student was distilled from this very encoder."""
    made = provenance_of(student.parent)
    given = made.get("parameters", {}).get(f"params:{options.setting}.static_student", {})
    own = made.get("inputs", {}).get(f"{options.setting}.{options.method}.encoder")
    # The setting's encoder is an input of the student's node even if the parameters name another teacher.
    if own == encoder.parent.name and given.get("teacher") is None:
        return True
    logger.warning(
        "The static student is of another encoder and is not published: run `kedro run --pipelines=distill`"
    )
    return False


def _write_card(
    folder: Path,
    options: PublishOptions,
    version: str,
    scores: Sequence[dict[str, Any]],
    sections: dict[str, str],
) -> pd.DataFrame:
    """Complete the card of the training, and write the results in the hub's newer form; return all test scores."""
    own = [row for row in scores if row.get("model") in (None, version) and row.get("dimension") is None]
    if not own:
        logger.warning(
            "There are no test scores of %s.%s, version %s: run `kedro run --pipelines=evaluate --namespaces=%s.%s`",
            *(options.setting, options.method, version, options.setting, options.method),
        )
    about = {"setting": options.setting, "method": options.method, "base": ""}
    models = gather_models([{**about, **row, "model": version} for row in own])
    rows = pd.concat([main_rows(model) for model in models]) if models else pd.DataFrame()
    name = options.repository or safe_name(f"ease-{options.setting}-{options.method}")
    if not rows.empty:
        write_eval_results(folder / ".eval_results", rows)
    card = folder / CARD
    text = card.read_text(encoding="utf-8") if card.is_file() else f"# {name}\n"
    card.write_text(hub_card(text, name, rows, sections), encoding="utf-8")
    return pd.concat([model.rows for model in models]) if models else pd.DataFrame()


def _listed(card: Path, options: PublishOptions, encoder: Path, scores: pd.DataFrame) -> dict[str, Any]:
    """Return the row of the model in the list of published models, with the average of each task that has one."""
    from huggingface_hub import RepoCard

    about, made = RepoCard.load(card).data.to_dict(), read_json(encoder / RUN_FILE) or {}
    listed = []
    for task, rows in scores.groupby("task", sort=False) if len(scores) else ():
        main = rows[(rows["metric"] == get_task(task).METRIC) & rows["value"].notna()]
        average = main[main["subset"] == AVERAGE]
        chosen = average if len(average) else main[~main["subset"].str.startswith(AVERAGE)]
        columns = ["task", "subset", "metric", "value", "low", "high", "note"]
        listed += chosen[columns].drop_duplicates(["task", "subset"], keep="last").to_dict("records")
    seconds = made.get("seconds")
    return {
        "name": (options.repository or safe_name(f"ease-{options.setting}-{options.method}")).rpartition("/")[
            2
        ],
        "repository": options.repository,
        "method": options.method,
        "base": start_of(made.get("base") or RANDOM),
        "languages": about.get("language", []),
        "licence": about.get("license"),
        "hours": None if seconds is None else round(seconds / 3600, 2),
        "scores": [
            {name: None if pd.isna(value) else value for name, value in row.items()} for row in listed
        ],
    }


def _forms_text(forms: Sequence[Exported], sentences: int) -> str:
    rows = [
        {
            "file": f"`{form.file}`",
            "MB": form.megabytes,
            "lowest cosine to torch": f"{form.lowest_cosine:.5f}",
            "mean": f"{form.mean_cosine:.5f}",
        }
        for form in forms
    ]
    return (
        "The same encoder for ONNX Runtime and OpenVINO. Inputs: `input_ids` and `attention_mask` of this folder's "
        "tokenizer, (n, length) int64. Output: `sentence_embedding`, (n, dimension) float32; pooling is included.\n\n"
        f"{format_table(pd.DataFrame(rows))}\n\n"
        f"The cosines are over {sentences} sentences. `int8` has weights of 8 bits."
    )


def _entities_text(count: int) -> str:
    return (
        f"`{ENTITIES}/{TENSORS}` has the trained embeddings of {count:,} entities and the projection into the space of "
        f"the sentences: `embeddings @ projection.weight.T`. `{ENTITIES}/{LABELS}` names the entity of each row."
    )
