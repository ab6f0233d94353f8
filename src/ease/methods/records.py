"""What is known about each training method without importing it, which would import torch.

Kedro asks for methods at every start: pipelines and their checks need the names, and what a method trains on.
"""

from __future__ import annotations

from pydantic import Field

from ease.errors import EaseError
from ease.names import check_name
from ease.options import StrictModel


class MethodRecord(StrictModel):
    """Facts about a training method that do not depend on its options."""

    name: str = Field(pattern=r"^[a-z]\w*$", description="the name in parameters, commands and paths")
    title: str = Field(description="the name in tables and plots")
    summary: str = Field(
        description="one sentence for model cards, unless the class's `describe` makes it from the options"
    )
    implementation: str = Field(
        pattern=r"^[\w.]+:\w+$", description="the `module:Class` of the subclass of `TrainingMethod`"
    )
    reads_entities: bool = Field(
        False, description="trained on the setting's pairs with their entities, not on the texts of a recipe's `data`"
    )
    negatives_summary: str = Field(
        "", description="one sentence about the hard negatives, for cards of models whose data has any"
    )
    matryoshka: bool = Field(
        True, description="the loss is defined on the first dimensions of the embeddings, as contrastive losses are"
    )
    guided: bool = Field(False, description="reads the embeddings of a guide encoder")


RECORDS = (
    MethodRecord(
        name="dueam",
        title="DuEAM",
        summary=(
            "DuEAM matches the Euclidean distance of two sentences to the Word Mover's Distance of their tokens in a "
            "frozen encoder, and slightly raises their cosine."
        ),
        implementation="ease.methods.dueam:Dueam",
        matryoshka=False,
    ),
    MethodRecord(
        name="ease",
        title="EASE",
        summary=(
            "EASE pulls a sentence towards the embedding of an entity that it links to and towards its own encoding "
            "under another dropout mask; other entities are negatives."
        ),
        implementation="ease.methods.ease:Ease",
        reads_entities=True,
        negatives_summary="Entities of the same type are hard negatives.",
    ),
    MethodRecord(
        name="ease_plus",
        title="EASE+",
        summary=(
            "EASE+ pulls a sentence towards several entities that it links to, or towards other sentences about the "
            "same entity."
        ),
        implementation="ease.methods.ease_plus:EasePlus",
        reads_entities=True,
        negatives_summary="Entities of the same type are hard negatives.",
        guided=True,
    ),
    MethodRecord(
        name="mirror_bert",
        title="Mirror-BERT",
        summary=(
            "Mirror-BERT pulls a string towards its second encoding, under another dropout mask and with a span of "
            "characters masked; both encodings of all other strings are negatives."
        ),
        implementation="ease.methods.mirror_bert:MirrorBert",
    ),
    MethodRecord(
        name="mlm",
        title="MLM",
        summary="Masked-language modelling trains the encoder to predict masked tokens, as BERT's pre-training does.",
        implementation="ease.methods.mlm:Mlm",
        matryoshka=False,
    ),
    MethodRecord(
        name="msimcse",
        title="mSimCSE",
        summary=(
            "mSimCSE pulls a sentence towards its own encoding under another dropout mask, a sentence that it entails, "
            "or its translation; the other sentences of the batch are negatives."
        ),
        implementation="ease.methods.msimcse:Msimcse",
        negatives_summary="Sentences that contradict it are hard negatives.",
    ),
    MethodRecord(
        name="simcse",
        title="SimCSE",
        summary="SimCSE pulls a sentence towards its own encoding under another dropout mask.",
        implementation="ease.methods.simcse:Simcse",
    ),
    MethodRecord(
        name="supervised_simcse",
        title="supervised SimCSE",
        summary=(
            "Supervised SimCSE pulls a sentence towards one that it entails; the other sentences of the batch are "
            "negatives."
        ),
        implementation="ease.methods.supervised_simcse:SupervisedSimcse",
        negatives_summary="Sentences that contradict it are hard negatives.",
    ),
)

_registered = {record.name: record for record in RECORDS}


def register(record: MethodRecord) -> None:
    """Add a training method whose class lies outside this package.

    Call it before the pipelines are created, such as in `pipeline_registry.py` of a project; the same record may be
    registered again.

    Raises:
        EaseError: If another method has the name.
    """
    registered = _registered.setdefault(record.name, record)
    if registered != record:
        raise EaseError(
            f"There is a training method {record.name!r} already, {registered.implementation}: choose another name for "
            f"{record.implementation}."
        )


def method_names() -> list[str]:
    """Return the names of all methods, sorted."""
    return sorted(_registered)


def method_record(name: str) -> MethodRecord:
    """Return a method's record.

    Raises:
        EaseError: If there is no such method.
    """
    check_name(name, _registered, "training method")
    return _registered[name]
