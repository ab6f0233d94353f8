"""Prompts: texts before a sentence, chosen by the task, its kind and the role of the sentence.

The names are those that sentence-transformers saves and MTEB reads: `query`, `document`, kinds such as `STS`, names of
tasks, and `Retrieval-query` and so on. Does not import torch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from ease.errors import EaseError
from ease.names import suggest
from ease.similarity.encode import Role

ALL = "all"
"""Name of the prompt of all texts without another one."""

TASK_TYPES = ("STS", "Clustering", "BitextMining", "Classification", "PairClassification", "Retrieval")
"""MTEB's types of tasks, under whose names encoders are saved with prompts; not the `kind` of a task's file."""

ROLES: Mapping[Role, tuple[str, ...]] = {"query": ("query",), "passage": ("document", "passage", "corpus")}
"""Names of a role's prompt; the first one that exists is used."""


class Use(NamedTuple):
    """The purpose for which a text is encoded; empty if unknown."""

    task: str = ""
    kind: str = ""
    role: Role | None = None


def prompt_for(prompts: Mapping[str, str | None], default: str | None, use: Use) -> str:
    """Return the text to put before sentences; empty if there is none.

    The order is MTEB's: task and role, task, kind and role, kind, role, and the prompt named `default`.
    """
    roles: tuple[str, ...] = ()
    if use.role is not None:
        roles = ROLES[use.role]
    names = []
    for purpose in filter(None, (use.task, use.kind)):
        names += [*(f"{purpose}-{role}" for role in roles), purpose]
    return prompt_named(prompts, next((name for name in [*names, *roles] if name in prompts), default))


def prompt_named(prompts: Mapping[str, str | None], name: str | None) -> str:
    """Return the text of a prompt; empty without a name or a text."""
    if name is None:
        return ""
    return prompts.get(name) or ""


def check_prompts(prompts: Iterable[str], tasks: Collection[str]) -> None:
    """Refuse prompts with names that no task, kind or role has."""
    roles = [role for names in ROLES.values() for role in names]
    names = [ALL, *roles, *TASK_TYPES, *tasks]
    for name in prompts:
        purpose, _, role = name.rpartition("-")
        if name not in names and not (purpose in names and role in roles):
            raise EaseError(
                f"Unknown prompt {name!r}: {suggest(name, names)}; or a kind or task with a role, such as `STS-query`."
            )


def merged_prompts(
    saved: Mapping[str, str | None], overrides: Mapping[str, str], default: str | None
) -> tuple[dict[str, str | None], str | None]:
    """Override an encoder's prompts and the name of its default one; an override `all` replaces all saved prompts."""
    if ALL in overrides:
        return dict(overrides), ALL
    # A new prompt for passages must not be hidden by another name for their prompt.
    aliases = {name for names in ROLES.values() if overrides.keys() & set(names) for name in names}
    remaining = {name: text for name, text in saved.items() if name not in aliases}
    return {**remaining, **overrides}, default


def check_default(name: str, prompts: Mapping[str, str | None]) -> None:
    """Refuse the name of a default prompt that the encoder does not have."""
    if prompts.get(name) is None:
        names = [other for other, text in prompts.items() if text is not None]
        raise EaseError(f"The encoder has no prompt {name!r}: {suggest(name, names)}")
