"""Training of a student with the loss of `ease_plus`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ease.io.atomic import atomic_folder
from ease.pipelines.distill.options import RefiningOptions, ShallowStudentOptions, StaticStudentOptions
from ease.pipelines.encoder_defaults import EncoderDefaults
from ease.pipelines.recipe import CompleteRecipe, Recipe
from ease.pipelines.setting import Setting
from ease.pipelines.training_jobs import TrainingData, history_rows, train_tracked
from ease.pipelines.work import lock_for_run


def refine(
    name: str,
    data: TrainingData,
    recipe: Recipe,
    encoders: EncoderDefaults,
    options: StaticStudentOptions | ShallowStudentOptions,
    work: Path,
) -> tuple[Path, list[dict[str, Any]]]:
    """Train a student further, and save it in the same format as before.

    Args:
        name: Name of the MLflow run and of the work folder.
        data: The student's folder as the encoder, pairs, entities and evaluation sets.
        recipe: The setting's recipe of `ease_plus`.
        encoders: Defaults by encoder.
        options: The student's options.
        work: The folder of all work folders.

    Returns:
        The folder of the refined student; rows of step, name and value.
    """
    from ease.encoders.encoder import load_encoder, save_encoder
    from ease.training.students.static import save_static

    assert options.refining is not None
    complete = _changed(
        recipe.complete(data.setting.encoder.name, encoders), options.refining, options.matryoshka
    )
    as_saved = data._replace(setting=_without_pooling(data.setting))
    result = train_tracked(name, as_saved, complete, lock_for_run(work / name))
    refined = work / name / "student"
    with atomic_folder(refined) as folder:
        encoder = load_encoder(str(result.model))
        card = (Path(data.encoder) / "README.md").read_text(encoding="utf-8")
        if isinstance(options, StaticStudentOptions):
            save_static(encoder, folder, card, int8=options.int8)
        else:
            save_encoder(encoder, folder, card)
    return refined, history_rows(result)


def _changed(recipe: CompleteRecipe, options: RefiningOptions, matryoshka: tuple[int, ...]) -> CompleteRecipe:
    """Return the recipe with the student's steps."""
    changes = {**options.model_dump(), "matryoshka": matryoshka, "language_ranks": (), "packed": False}
    return recipe.model_copy(update={"training": recipe.training.model_copy(update=changes)})


def _without_pooling(setting: Setting) -> Setting:
    """Return the setting with the pooling that the student was saved with."""
    return setting.model_copy(update={"encoder": setting.encoder.model_copy(update={"pooling": None})})
