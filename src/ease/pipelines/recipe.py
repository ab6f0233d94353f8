"""A recipe: a method with its parameters for one setting."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, SerializeAsAny, model_validator

from ease.encoders.defaults import EncoderDefaults, complete_parameters, warn_of_temperatures
from ease.errors import EaseError
from ease.methods import method_options, method_record
from ease.options import StrictModel
from ease.pipelines.options import SAMPLE
from ease.texts import source_options
from ease.training.options import FrozenEncoder, TrainingOptions, check_frozen, training_options


class CompleteRecipe(StrictModel):
    """A recipe without null parameters that have a default for the encoder."""

    method: str = Field(description="the name of a training method")
    options: SerializeAsAny[BaseModel] = Field(description="the method's `Options`")
    data: tuple[dict[str, Any], ...] | None = Field(None, description="the sources of the training texts")
    rows: int | None = Field(None, description="total number of training texts")
    training: TrainingOptions = Field(description="the loop's parameters")

    def with_cache(self, folder: Path | None) -> CompleteRecipe:
        """Return the recipe with a folder for the embeddings of its teacher and its guide, where it names none."""
        changes: dict[str, FrozenEncoder] = {}
        for role in ("teacher", "guide"):
            frozen: FrozenEncoder = getattr(self.training, role)
            if frozen.cache is None:
                changes[role] = frozen.model_copy(update={"cache": folder})
        return self.model_copy(update={"training": self.training.model_copy(update=changes)})


class Recipe(StrictModel):
    """The parameters of a method for one setting, as in `parameters/methods/<method>.yml`."""

    method: str = Field(description="the name of a training method")
    options: dict[str, Any] = Field(
        {}, description="the method's own parameters; null or missing: the default for the encoder"
    )
    data: tuple[dict[str, Any], ...] | None = Field(
        None,
        description="the sources of the training texts, each with its `kind`, the name of a file in ease/texts; null "
        "for methods that read the setting's pairs of sentences and entities",
    )
    rows: int | None = Field(
        None, ge=1, description="total number of training texts; null: as many as the sources' weights allow"
    )
    training: dict[str, Any] = Field(
        {}, description="the loop's parameters (`TrainingOptions`); null or missing: the default for the encoder"
    )

    @model_validator(mode="after")
    def _fits_method(self) -> Recipe:
        # Both refuse wrong options.
        loop = training_options(self.training)
        for source in self.data or ():
            source_options(source)
        if method_record(self.method).reads_entities:
            if self.data is not None or self.rows is not None:
                raise EaseError(
                    f"Method {self.method!r} is trained on the setting's pairs of sentences and entities: set `data` "
                    "and `rows` to null."
                )
            return self
        if not self.data:
            raise EaseError(
                f"Method {self.method!r} has no `data` to train on: list its sources, such as {{kind: pairs}} for the "
                "sentences of the setting's training pairs."
            )
        # Gathered texts lack the columns that these parameters read.
        batches = loop.batches
        fields = {name: field.default for name, field in type(batches).model_fields.items()}
        wrong = {f"batches.{name}": default for name, default in fields.items() if getattr(batches, name) != default}
        wrong |= {"language_ranks": []} if loop.language_ranks else {}
        if wrong:
            remedy = " and ".join(f"`training.{name}` to {default}" for name, default in wrong.items())
            raise EaseError(
                f"Method {self.method!r} trains on texts, which name neither their language nor an entity: set "
                f"{remedy}."
            )
        return self

    def seed(self, encoder: str, encoder_rows: EncoderDefaults) -> int:
        """Return the training run's seed, by which its texts are also drawn."""
        completed = complete_parameters(
            {}, self.training, encoder=encoder, method=self.method, encoder_rows=encoder_rows
        )
        return training_options(completed.training).seed

    def check_options(self) -> None:
        """Refuse unknown and wrong parameters of the method, which is imported; nulls have defaults later."""
        method_options(self.method, self.options)

    def check_texts(self) -> None:
        """Refuse training texts that do not exist."""
        for source in self.data or ():
            if str(source.get("path", "")).startswith(SAMPLE):
                continue
            for place in source_options(source).required:
                if not place.exists():
                    raise EaseError(
                        f"{place}, which `data` of the method {self.method!r} names, does not exist: put the texts "
                        "there (docs/papers.md has the addresses of the papers' texts), or name other sources "
                        "(docs/training_texts.md)."
                    )

    def check_frozen(self, check: Callable[[str], object]) -> None:
        """Refuse a teacher or guide that cannot be loaded, by a check of its name."""
        loop = training_options(self.training)
        check_frozen(loop.teacher, "teacher", check)
        check_frozen(loop.guide, "guide", check)

    def complete(self, encoder: str, encoder_rows: EncoderDefaults) -> CompleteRecipe:
        """Replace every null that has a default for the encoder, and log these defaults."""
        completed = complete_parameters(
            self.options, self.training, encoder=encoder, method=self.method, encoder_rows=encoder_rows
        )
        completed.log(self.method, encoder)
        options = method_options(self.method, completed.options)
        warn_of_temperatures(encoder, self.method, options)
        return CompleteRecipe(
            method=self.method,
            options=options,
            data=self.data,
            rows=self.rows,
            training=training_options(completed.training),
        )
