"""Publish an encoder or MewsC-16: write a folder for the hub, push it, and name the version in MLflow's registry."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pyarrow.parquet as pq
from pydantic import Field

from ease.encoders.check import start_of
from ease.encoders.options import RANDOM, Form
from ease.encoders.saved import RUN_FILE, setting_and_method
from ease.errors import EaseError
from ease.evaluation.scores import AVERAGE
from ease.io.atomic import atomic_folder, finish_replacement, write_text_atomically
from ease.io.files import read_json
from ease.io.versions import provenance_of
from ease.lazy import DataFrame, Table, pc, pd
from ease.methods import method_names
from ease.names import check_name, safe_name
from ease.options import Rows, StrictModel
from ease.pipelines.setting import TEACH
from ease.pipelines.tracking import set_alias
from ease.reporting.markdown_tables import format_table
from ease.reporting.own import gather_models
from ease.reporting.score_summaries import by_main_metric
from ease.wikimedia.wikinews.editions import SPLITS, UNKNOWN_LICENCE

logger = logging.getLogger(__name__)

MANIFEST = "publish.json"
"""File of a written folder that lists its forms; it marks a folder that may be replaced."""
REPLACED = ".eval_results/* entities/* onnx/* openvino/* static/* *.parquet *.txt croissant.json".split()
"""Files of an earlier push that are removed if the new folder lacks them."""
COMPARED_SENTENCES = 128
"""Training sentences on which each form is compared with torch"""
CARD = "README.md"
ENTITIES = "entities"
TRAINING = "training"
"""Folder of training-only parts in a saved encoder; what is useful in it is published as `entities`."""
FIXED = (
    "A sentence.",
    "No",
    "The weather in the north will be cold tomorrow, with some rain in the afternoon and a clear sky at night.",
    "¿Dónde está la biblioteca?",
    "日本の首都は東京です。",
    "Das ist ein deutscher Satz mit einigen Wörtern mehr.",
)
"""Texts that every form is compared on: one word, several scripts, several lengths"""


class PublishOptions(StrictModel):
    """What is published, in which forms, and where to."""

    what: Literal["model", "mewsc16"] = Field("model", description="an encoder, or the data set MewsC-16")
    setting: str = Field(description="setting of the encoder; chosen by --params alone")
    method: str = Field(description="method of the encoder; chosen by --params alone")
    to: Path | None = Field(
        None, description="folder to write, in place of an older one; null: `published/SETTING.METHOD`"
    )
    forms: tuple[Form, ...] = Field((), description="forms beside that of sentence-transformers")
    trim_vocabulary: bool = Field(
        False, description="whether pieces of the vocabulary that no training sentence uses are dropped"
    )
    repository: str | None = Field(None, description="OWNER/NAME to push to; the token is that of HF_TOKEN")
    endpoint: str | None = Field(None, description="address of the hub; null: HF_ENDPOINT, or huggingface.co")
    private: bool = Field(True, description="whether a new repository is private")
    alias: str | None = Field(None, description="alias of the encoder's version in MLflow's registry")

    @property
    def encoder(self) -> str:
        """The encoder's name."""
        return f"{self.setting}.{self.method}"

    @property
    def name(self) -> str:
        """The repository, or a name for one."""
        return self.repository or safe_name(f"ease-{self.setting}-{self.method}")

    @property
    def folder(self) -> Path:
        """The folder to write."""
        names = {"model": self.encoder, "mewsc16": "mewsc16"}
        return self.to or Path("published", names[self.what])


def write_folder(
    options: PublishOptions,
    encoder: Path | None,
    scores: Rows,
    vocabulary: Path | None,
    training_pairs: Table | None,
    mewsc16: Path | None,
) -> dict[str, Any]:
    """Write the folder for the hub, atomically; refuse one with other files, and a push without a token.

    Returns:
        `folder`, `what`, `version`, `files` (bytes by path) and `forms` with their cosines to torch.
    """
    target = options.folder
    # A killed run may have stopped between removing the old folder and renaming the new one.
    finish_replacement(target)
    if target.exists() and not target.is_dir():
        raise EaseError(f"{target} is a file: give a folder as `publish.to`.")
    if target.is_dir() and any(target.iterdir()) and not (target / MANIFEST).is_file():
        raise EaseError(f"{target} has files that `publish` did not write: remove it, or give another `publish.to`.")
    # Before anything is exported, which takes minutes.
    if options.repository is not None:
        from ease.io.hub import require_token

        require_token(options.repository)
    with atomic_folder(target) as folder:
        if options.what == "mewsc16":
            manifest = _write_data_set(folder, mewsc16)
        else:
            trained = _require_encoder(options, encoder)
            manifest = _write_model(folder, options, trained, scores, vocabulary, training_pairs)
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        manifest["files"] = {path.relative_to(folder).as_posix(): path.stat().st_size for path in files}
        text = json.dumps(manifest, indent=2, ensure_ascii=False)
        (folder / MANIFEST).write_text(text, encoding="utf-8")
    logger.info("%s is ready for the hub: %d files", target, len(manifest["files"]))
    return {"folder": str(target.absolute()), **manifest}


def _require_encoder(options: PublishOptions, encoder: Path | None) -> Path:
    """Return the encoder that the parameters name, which must be the one that the catalog reads."""
    name = options.encoder
    if encoder is None:
        check_name(options.method, method_names(), "training method")
        command = f"kedro run --pipelines=train --namespaces={name}"
        if options.setting == TEACH:
            command = f"kedro run --pipelines={TEACH}"
        raise EaseError(
            f"There is no trained encoder {name} to publish: train it by `{command}`, or choose one by --params "
            "publish.setting=…,publish.method=…."
        )
    catalog_name = ".".join(setting_and_method(encoder))
    # The catalog is completed by --params alone, the parameters also by files.
    if catalog_name != name:
        raise EaseError(
            f"The parameters name the encoder {name}, but the catalog reads {catalog_name}: give `publish.setting` and "
            "`publish.method` by --params, not in a file."
        )
    return encoder


def _write_model(
    folder: Path,
    options: PublishOptions,
    encoder: Path,
    scores: Rows,
    vocabulary: Path | None,
    training_pairs: Table | None,
) -> dict[str, Any]:
    """Write an encoder with its card, entities and exported forms."""
    from ease.encoders.encoder import load_encoder
    from ease.encoders.exports import export_encoder
    from ease.encoders.small_vocabulary import trim_vocabulary
    from ease.entities.pairs import sample_sentences
    from ease.training.entity_files import LABELS, TENSORS, has_entities, write_entity_table

    shutil.copytree(encoder, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(TRAINING))
    version = encoder.parent.name
    sections: dict[str, str] = {}
    published = encoder
    if options.trim_vocabulary:
        if training_pairs is None:
            raise EaseError(
                f"`publish.trim_vocabulary` reads the training pairs of {options.setting}, which are gone: make them "
                "again, or set it to false."
            )
        sections["Vocabulary"] = trim_vocabulary(folder, _sentences(training_pairs)).describe()
        published = folder
    # Only methods that read entities have a table of them.
    if has_entities(encoder):
        count = write_entity_table(encoder, _labels(encoder, options.setting, vocabulary), folder / ENTITIES)
        sections["Entities"] = (
            f"`{ENTITIES}/{TENSORS}` has the trained embeddings of {count:,} entities and the projection into the "
            f"space of the sentences: `embeddings @ projection.weight.T`. `{ENTITIES}/{LABELS}` names the entity of "
            "each row."
        )
    texts = list(FIXED)
    if options.forms and training_pairs is not None:
        texts += sample_sentences(training_pairs, COMPARED_SENTENCES, seed=0)
    forms = export_encoder(load_encoder(str(published)), folder, texts, options.forms)
    if forms:
        compared = pd.DataFrame(
            {
                "file": f"`{form.file}`",
                "MB": form.megabytes,
                "lowest cosine to torch": f"{form.lowest_cosine:.5f}",
                "mean": f"{form.mean_cosine:.5f}",
            }
            for form in forms
        )
        sections["Other forms"] = (
            "The same encoder for ONNX Runtime and OpenVINO. Inputs: `input_ids` and `attention_mask` of this "
            "folder's tokenizer, (n, length) int64. Output: `sentence_embedding`, (n, dimension) float32; pooling is "
            f"included.\n\n{format_table(compared)}\n\nThe cosines are over {len(texts)} sentences. `int8` has "
            "weights of 8 bits."
        )
    rows = _write_card(folder, options, version, scores, sections)
    return {
        "what": "model",
        "listed": _describe_model(folder / CARD, options, encoder, rows),
        "setting": options.setting,
        "method": options.method,
        "version": version,
        "forms": [form._asdict() for form in forms],
    }


def _sentences(training_pairs: Table) -> Iterator[str]:
    """Yield the distinct sentences of the pairs."""
    distinct = training_pairs.select("sentence").distinct().order_by("sentence")
    for batch in distinct.to_pyarrow_batches():
        yield from batch.column("sentence").to_pylist()


def _write_data_set(folder: Path, mewsc16: Path | None) -> dict[str, Any]:
    """Copy MewsC-16, whose folder is in the form of the hub."""
    if mewsc16 is None:
        raise EaseError("There is no MewsC-16 to publish: make it by `kedro run --pipelines=mewsc16`.")
    unknown = []
    splits = {file for split in SPLITS for file in mewsc16.glob(f"*_{split}.parquet")}
    for file in sorted(set(mewsc16.glob("*.parquet")) - splits):
        licences = pq.read_table(file, columns=["licence"])["licence"]
        if rows := pc.sum(pc.equal(licences, UNKNOWN_LICENCE)).as_py():
            unknown.append(f"{file.stem}: {rows}")
    if unknown:
        raise EaseError(
            f"The licence of some sentences is not known ({', '.join(unknown)}), so they cannot be published: make the "
            "data set from dumps, with `mewsc16.for_publishing`."
        )
    shutil.copytree(mewsc16, folder, dirs_exist_ok=True)
    return {"what": "mewsc16", "version": mewsc16.parent.name, "forms": []}


def _labels(encoder: Path, setting: str, newest: Path | None) -> DataFrame:
    """Return the entity vocabulary that an encoder was trained with, or the newest if that one is not recorded."""
    if newest is not None:
        inputs = provenance_of(encoder.parent).get("inputs", {})
        version = inputs.get(f"{setting}.entity_vocabulary") or newest.parent.name
        file = newest.parent.parent / version / newest.name
        if file.exists():
            return pd.read_parquet(file)
    raise EaseError(
        f"The entity vocabulary of {setting} that {encoder} was trained with is gone: train the encoder again."
    )


def _write_card(
    folder: Path, options: PublishOptions, version: str, scores: Rows, sections: dict[str, str]
) -> DataFrame:
    """Complete the card of the training run, and write the results in the hub's newer form; return all test scores."""
    from ease.reporting.exports import hub_card, main_rows, write_eval_results

    # Scores of another version of the encoder, or of truncated embeddings, do not belong in this card.
    test_rows = [row for row in scores if row.get("model") in (None, version) and row.get("dimension") is None]
    if not test_rows:
        logger.warning(
            "There are no test scores of %s, version %s: run `kedro run --pipelines=evaluate --namespaces=%s`",
            options.encoder,
            version,
            options.encoder,
        )
    columns = {"setting": options.setting, "method": options.method, "base": ""}
    models = gather_models([{**columns, **row, "model": version} for row in test_rows])
    main = pd.DataFrame()
    tested = pd.DataFrame()
    if models:
        main = pd.concat([main_rows(model) for model in models])
        tested = pd.concat([model.rows for model in models])
    if not main.empty:
        write_eval_results(folder / ".eval_results", main)
    card = folder / CARD
    text = f"# {options.name}\n"
    if card.is_file():
        text = card.read_text(encoding="utf-8")
    card.write_text(hub_card(text, options.name, main, sections), encoding="utf-8")
    return tested


def _describe_model(card: Path, options: PublishOptions, encoder: Path, scores: DataFrame) -> dict[str, Any]:
    """Return the row of the model in the list of published models, with the average of each task that has one."""
    from huggingface_hub import RepoCard

    metadata = RepoCard.load(card).data.to_dict()
    origin = read_json(encoder / RUN_FILE) or {}
    columns = ["task", "subset", "metric", "value", "low", "high", "note"]
    task_rows = Rows()
    if len(scores):
        for _, rows in scores.groupby("task", sort=False):
            main = rows[by_main_metric(rows) & rows["value"].notna()]
            averages = main[main["subset"] == AVERAGE]
            if not len(averages):
                averages = main[~main["subset"].str.startswith(AVERAGE)]
            newest = averages[columns].drop_duplicates(["task", "subset"], keep="last").astype(object)
            # JSON has no NaN.
            task_rows += newest.where(newest.notna(), None).to_dict("records")
    hours = None
    if origin.get("seconds") is not None:
        hours = round(origin["seconds"] / 3600, 2)
    return {
        "name": options.name.rpartition("/")[2],
        "repository": options.repository,
        "method": options.method,
        "base": start_of(origin.get("base") or RANDOM),
        "languages": metadata.get("language", []),
        "licence": metadata.get("license"),
        "hours": hours,
        "scores": task_rows,
    }


def announce(options: PublishOptions, summary: dict[str, Any], encoder: Path | None) -> dict[str, Any]:
    """Push the written folder if a repository is given, and give the encoder's version its alias in MLflow.

    Returns:
        `commit`, the address of the hub's commit, and `registered`, the address of the version; None without them.
    """
    from ease.io.hub import push_folder, require_token

    commit = registered = None
    if options.repository is not None:
        folder = Path(summary["folder"])
        kind: Literal["dataset", "model"] = "model"
        if options.what == "mewsc16":
            kind = "dataset"
        commit = push_folder(
            folder,
            options.repository,
            require_token(options.repository),
            kind,
            endpoint=options.endpoint,
            private=options.private,
            replaced=REPLACED,
        )
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8")) | {"commit": commit}
        write_text_atomically(folder / MANIFEST, json.dumps(manifest, indent=2, ensure_ascii=False))
        logger.info("Pushed to %s", commit)
    if options.alias is not None and options.what == "model" and encoder is not None:
        registered = set_alias(encoder, options.encoder, options.alias)
    return {"commit": commit, "registered": registered}
