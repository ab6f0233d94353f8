"""Running a training job: in this process, in several processes that it starts, or as one of torchrun's processes."""

from __future__ import annotations

import json
import logging
import os
import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer

from ease.encoders.batches import advise_on_full_memory
from ease.encoders.check import start_of
from ease.encoders.encoder import describe_prompts, embedding_dimension, release_encoders
from ease.encoders.encoding import encode_with
from ease.encoders.model_card import model_card
from ease.encoders.options import check_rank
from ease.encoders.poolings import training_head
from ease.errors import EaseError
from ease.evaluation.scores import average_main_scores, main_scores
from ease.evaluation.scoring import DEVELOPMENT, RETENTION, score_tasks
from ease.evaluation.tasks import build_tasks
from ease.io.atomic import write_text_atomically
from ease.io.files import read_json
from ease.io.locks import FolderLock, folder_lock
from ease.methods import get_method, method_record
from ease.methods.components.distributed import process_rank
from ease.methods.components.drophead import has_dropout
from ease.training.accelerator import accelerated, compile_layers, select_gpu
from ease.training.batches import drawn_pairs
from ease.training.checkpoints import BestModel, Evaluate, check_ranks, fingerprint_of, remove_languages
from ease.training.execution import check_execution, choose_execution, uses_gpu
from ease.training.loop import MetricsReport, Progress, step_count, train_model
from ease.training.model import TrainingModel, load_for_training
from ease.training.options import TrainingJob, TrainingResult, check_frozen
from ease.training.prepared_pairs import (
    default_prompt,
    entity_columns,
    has_hard_negatives,
    open_pairs,
    prepare_pairs,
    read_table,
    used_entities,
)
from ease.training.processes import LAUNCHER_VARIABLE, launch, read_metrics, step_and_values
from ease.training.teacher import CACHE, FrozenEmbeddings, Guide, frozen_embeddings, write_entity_embeddings

logger = logging.getLogger(__name__)


def run_job(job: TrainingJob, report: MetricsReport | None = None, lock: FolderLock | None = None) -> TrainingResult:
    """Train, resume an interrupted training run, or return the result of a finished one.

    Args:
        job: What to train, where and how.
        report: Called in this process with a step and its metrics, also if other processes train.
        lock: The caller's lock on the job's folder. Default: lock the folder during training.

    Raises:
        TrainingInterrupted: On SIGINT or SIGTERM, after a checkpoint.
        EaseError: If the job or its files are wrong, another training run uses the folder, or the memory is full.
    """
    launched = "LOCAL_RANK" in os.environ
    processes = job.training.processes
    if launched:
        processes = int(os.environ["WORLD_SIZE"])
    elif uses_gpu(job.training) and processes > torch.cuda.device_count():
        raise EaseError(
            f"This machine has {torch.cuda.device_count()} GPU(s) for {processes} `processes`: lower `processes`, or "
            "set `device: cpu`."
        )
    _check(job, processes)
    # The launcher holds the lock for its processes; of torchrun's processes, the first one locks the folder.
    locked_elsewhere = LAUNCHER_VARIABLE in os.environ or os.environ.get("RANK", "0") != "0"
    with nullcontext(lock) if lock or locked_elsewhere else folder_lock(job.folder) as held_lock:
        if not launched:
            write_text_atomically(job.folder / "job.json", job.model_dump_json(indent=2))
        fingerprint = fingerprint_of(job, processes)
        if finished := _read_result(job.folder, fingerprint):
            logger.info("This training run is finished already: %s", finished.model)
            return finished
        if processes > 1 and held_lock is not None and not launched:
            launch(held_lock, processes, report)
        else:
            advice = "Lower `mini_batch_size`, which gives the same loss in less memory, or `batch_size`."
            with advise_on_full_memory(advice):
                _train(job, processes, fingerprint, report)
        result = _read_result(job.folder, fingerprint)
        assert result is not None, f"{job.folder} has no result of the training run that has just ended"
        return result


def _read_result(folder: Path, fingerprint: str) -> TrainingResult | None:
    """Return the result of this training run if it is finished."""
    content = read_json(folder / "result.json")
    if content is None or content["fingerprint"] != fingerprint or not (folder / "model").is_dir():
        return None
    # The folder may have been moved since.
    return TrainingResult.model_validate({**content["result"], "model": folder / "model"})


def _check(job: TrainingJob, processes: int) -> None:
    """Refuse parameters that do not fit together before anything large is read."""
    training = job.training
    record = method_record(job.method)
    reads = get_method(job.method).reads(job.method_options)
    check_execution(training, processes)
    several = training.batches.sentences_per_entity > 1
    guided = training.guide.encoder is not None
    for is_wrong, fault in (
        (reads.entities and job.vocabulary is None, "needs the entity `vocabulary`."),
        (reads.table and job.table is None, "needs the `table` of entity embeddings, or `entity_weight: 0`."),
        (several and not reads.entities, "reads no entities: set `batches.sentences_per_entity` to 1."),
        (training.matryoshka and not record.matryoshka, "has no contrastive loss: set `matryoshka` to []."),
        (
            guided and not (record.guided and reads.table),
            "does not read a guide: set `guide.encoder` to null, or train `ease_plus` with an `entity_weight` above 0.",
        ),
    ):
        if is_wrong:
            raise EaseError(f"Method {job.method!r} {fault}")
    for role, frozen in training.frozen.items():
        check_frozen(frozen, role)
    check_ranks(job.pairs, training.language_ranks, bool(job.development))


def _train(job: TrainingJob, processes: int, fingerprint: str, report: MetricsReport | None) -> None:
    """Prepare, train and finish in one of the processes."""
    if uses_gpu(job.training):
        select_gpu()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(job.training.seed)
        model = build_model(job, processes)
    with accelerated(model.execution) as accelerator:
        rows = prepare_rows(job, model, fingerprint, accelerator)
        teacher = _teacher_embeddings(job, model, rows, fingerprint, accelerator)
        guide = _guide(job, model, rows, fingerprint, accelerator)
        # The teacher and the guide have encoded all that the training reads.
        release_encoders()
        best, progress = train_model(
            model,
            rows,
            job.training,
            accelerator,
            job.folder,
            fingerprint,
            evaluate=development_evaluation(job.development, job.retention),
            report=report,
            teacher=teacher,
            guide=guide,
        )
        if not process_rank():
            _finish(job, model, best, progress, fingerprint)
        accelerator.wait_for_everyone()


def prepare_rows(
    job: TrainingJob, model: TrainingModel, fingerprint: str, accelerator: Accelerator
) -> NDArray[np.void]:
    """Map the prepared pairs, which the first process writes if they are missing."""
    prepared = _input_file(job, fingerprint, "pairs.bin")
    layout = model.layout(job.training.max_tokens, job.training.batches.reads_languages)
    if not process_rank() and not prepared.exists():
        vocabulary = job.vocabulary if model.reads.entities else None
        derived = model.method.derived_columns(model.encoder, job.training.seed)
        prepare_pairs(job.pairs, vocabulary, model.encoder, layout, prepared, derived)
    accelerator.wait_for_everyone()
    return open_pairs(prepared, layout)


def _input_file(job: TrainingJob, fingerprint: str, name: str) -> Path:
    """Return the path of a file that is made from the job's inputs, and removed when the training run is finished."""
    return job.folder / f"inputs-{fingerprint[:16]}-{name}"


def _teacher_embeddings(
    job: TrainingJob, model: TrainingModel, rows: NDArray[np.void], fingerprint: str, accelerator: Accelerator
) -> FrozenEmbeddings | None:
    """Return the teacher's embedding of the sentence of each pair that the run reads; None without a teacher."""
    if model.teacher is None:
        return None
    dimension = None
    if model.teacher.form == "cosine":
        dimension = embedding_dimension(model.encoder)
    target = _input_file(job, fingerprint, "teacher.npy")
    training = job.training
    steps = step_count(len(rows), training)
    # A short run reads a part of the pairs.
    is_drawn = drawn_pairs(rows, steps, training.batch_size, training.seed, training.batches)
    return frozen_embeddings(job.pairs, model.teacher, job.encoder, target, accelerator, dimension, is_drawn)


def _guide(
    job: TrainingJob, model: TrainingModel, rows: NDArray[np.void], fingerprint: str, accelerator: Accelerator
) -> Guide | None:
    """Return the guide's embeddings of the prepared pairs and of the table's entities; None without a guide."""
    table = model.method.table
    if job.training.guide.encoder is None or table is None:
        return None
    target = _input_file(job, fingerprint, "guide.npy")
    sentences = frozen_embeddings(job.pairs, job.training.guide, job.encoder, target, accelerator)
    entities = _input_file(job, fingerprint, "entities.npy")
    if not process_rank():
        write_entity_embeddings(sentences, rows["entity"], len(table.weight), entities)
    accelerator.wait_for_everyone()
    return Guide(sentences, np.load(entities, mmap_mode="r"))


def development_evaluation(
    tasks: dict[str, dict[str, Any]], retention: dict[str, dict[str, Any]] | None = None
) -> Evaluate | None:
    """Return a function that scores an encoder on evaluation tasks and averages the scores; None without tasks.

    The main scores of the tasks of `retention` are named `retention/<task>`.

    Raises:
        EaseError: If a task or an option of it does not exist.
    """
    if not tasks:
        return None
    development_tasks = build_tasks(tasks).values()
    retention_tasks = build_tasks(retention or {}).values()

    def evaluate(encoder: SentenceTransformer) -> dict[str, float]:
        scores = score_tasks(encode_with(encoder), development_tasks)
        by_name = {f"{DEVELOPMENT}/{score.task}/{score.subset}": score.value for score in scores if score.main}
        retention = main_scores(score_tasks(encode_with(encoder), retention_tasks))
        retention_scores = {f"{RETENTION}/{task}": score for task, score in retention.items()}
        return {**by_name, DEVELOPMENT: average_main_scores(scores), **retention_scores}

    return evaluate


def build_model(job: TrainingJob, processes: int = 1) -> TrainingModel:
    """Load the encoder, make the head and the method, and choose the execution, on the CPU."""
    training = job.training
    encoder = load_for_training(job.encoder, job.pooling, training)
    if default_prompt(encoder):
        logger.info("Training %s: %s", start_of(job.encoder), describe_prompts(encoder))
    dimension = embedding_dimension(encoder)
    if training.language_ranks:
        check_rank(max(training.language_ranks), dimension=dimension)
    if outside := [count for count in training.matryoshka if not 0 < count < dimension]:
        raise EaseError(
            f"`matryoshka` {outside[0]}: give numbers from 1 to {dimension - 1}, below the encoder's {dimension}."
        )
    method_class = get_method(job.method)
    reads = method_class.reads(job.method_options)
    table = vocabulary_rows = None
    if reads.table and job.table is not None and job.vocabulary is not None:
        columns = entity_columns(reads.further_positives > 0, reads.subjects)
        entities = used_entities(job.pairs, job.vocabulary, columns)
        table = read_table(job.table, entities.vocabulary_rows, total=entities.total)
        vocabulary_rows = torch.from_numpy(entities.vocabulary_rows)
    method = method_class.build(job.method_options, encoder, table)
    columns_encoded = len(set(reads.views))
    if columns_encoded < len(reads.views) and not has_dropout(encoder):
        logger.warning(
            "The encoder has no dropout: both views of a sentence have equal embeddings. Set `encoder_dropout`, such "
            "as to 0.1."
        )
    # After the method, which may change the encoder: packing refuses DropHead.
    execution = choose_execution(training, encoder, columns_encoded, processes)
    model = TrainingModel(
        encoder,
        training_head(encoder, job.pooling, training.seed),
        method,
        vocabulary_rows,
        matryoshka=training.matryoshka,
        teacher=training.teacher,
        execution=execution,
    )
    if execution.compiled:
        compile_layers(encoder, deterministic=execution.deterministic)
    return model


def _finish(job: TrainingJob, model: TrainingModel, best: BestModel, progress: Progress, fingerprint: str) -> None:
    """Publish the best model with its card, write the result, and remove the checkpoints."""
    history = read_metrics(job.folder / "metrics.jsonl")
    scores_by_step = dict(step_and_values(line) for line in history if DEVELOPMENT in line)
    scores = scores_by_step.get(best.step, {})
    start_scores = scores_by_step.get(0, {})
    source = best.path
    # After an interruption of this function, the best model may be published already.
    if job.training.language_ranks and best.path.exists():
        source = job.folder / "without_languages"
        evaluate = development_evaluation(job.development)
        device = model.encoder.device
        scores = remove_languages(best.path, source, job.pairs, job.training.language_ranks, evaluate, device)
    # Otherwise a stop between the two writes would leave the result of an earlier training run beside this model.
    (job.folder / "result.json").unlink(missing_ok=True)
    best.publish(job.folder / "model", _card(job, model, best.step, scores, start_scores), source)
    steps = int(history[-1]["step"])
    result = TrainingResult(
        model=job.folder / "model",
        steps=steps,
        best_step=best.step,
        best_score=scores.get(DEVELOPMENT, best.score),
        start_score=start_scores.get(DEVELOPMENT),
        seconds=progress.seconds,
        pairs_per_second=steps * job.training.batch_size / progress.seconds,
        history=history,
    )
    _log_gain(result, is_judged=bool(model.reads.views))
    content = {"fingerprint": fingerprint, "result": result.model_dump(mode="json")}
    write_text_atomically(job.folder / "result.json", json.dumps(content))
    for name in ("checkpoints", CACHE):
        shutil.rmtree(job.folder / name, ignore_errors=True)
    for file in job.folder.glob("inputs-*"):
        file.unlink()


def _log_gain(result: TrainingResult, is_judged: bool) -> None:
    """Log the scores of the kept model and of the starting encoder; warn if training did not help.

    MLM is not judged: it trains tokens, not sentences.
    """
    if result.start_score is None or result.best_score is None:
        return
    scores = f"The kept model (step {result.best_step}) scores {result.best_score:.2f} on the development tasks"
    if is_judged and result.below_start:
        logger.warning(
            "%s, the starting encoder %.2f: training made it worse. Lower `learning_rate`, or keep that encoder.",
            scores,
            result.start_score,
        )
    elif is_judged and result.best_step == 0:
        logger.warning("No evaluation was above the starting encoder (%.2f), which is kept", result.start_score)
    else:
        logger.info("%s, the starting encoder %.2f", scores, result.start_score)


def _card(
    job: TrainingJob, model: TrainingModel, best_step: int, scores: dict[str, float], start_scores: dict[str, float]
) -> str | None:
    """Return the card of a trained encoder, without paths of this machine; None if the job asks for none."""
    if job.card is None:
        return None
    method = get_method(job.method)
    reads = method.reads(job.method_options)
    has_negatives = has_hard_negatives(job.pairs) and getattr(job.method_options, "hard_negatives", True)
    # Hard negatives that are entities belong to the entity loss, which needs the table.
    if reads.entities and not reads.table:
        has_negatives = False
    options = job.method_options.model_dump()
    if not has_negatives:
        options = {name: value for name, value in options.items() if "hard_negative" not in name}
    loop = job.training.model_dump(exclude={"teacher", "guide"})
    for role, frozen in job.training.frozen.items():
        loop[role] = {
            **frozen.model_dump(exclude={"cache", "batch_size"}),
            "encoder": start_of(frozen.located(job.encoder)),
        }
    return model_card(
        job.card,
        method=job.method,
        summary=method.describe(method_record(job.method), job.method_options, has_negatives),
        parameters={"pooling": job.pooling, "method": options, "training": loop},
        scores=scores,
        start_scores=start_scores,
        embedding=(
            f"{embedding_dimension(model.encoder)} dimensions, kept after step {best_step}. "
            f"{describe_prompts(model.encoder)}"
        ),
    )
