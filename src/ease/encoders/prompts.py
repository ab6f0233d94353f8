"""Prompts: texts before a sentence, chosen by the task, its type and the role of the sentence.

The names are those that sentence-transformers saves and MTEB reads: `query`, `document`, types such as `STS`, names of
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

OWN_PROMPT = ("BitextMining", "Clustering")
"""Types of tasks that get no published encoder's default prompt, but only a prompt that its authors use for them"""

ROLES: Mapping[Role, tuple[str, ...]] = {"query": ("query",), "passage": ("document", "passage", "corpus")}
"""Names of a role's prompt; the first one that exists is used."""


class Use(NamedTuple):
    """The purpose for which a text is encoded; empty if unknown."""

    task: str = ""
    task_type: str = ""
    """One of `TASK_TYPES`"""
    role: Role | None = None


def prompt_for(prompts: Mapping[str, str | None], default: str | None, use: Use) -> str:
    """Return the text to put before sentences; empty if there is none.

    The order is MTEB's: task and role, task, type and role, type, role, and the prompt named `default`.
    """
    roles: tuple[str, ...] = ()
    if use.role is not None:
        roles = ROLES[use.role]
    names = []
    for purpose in filter(None, (use.task, use.task_type)):
        names += [*(f"{purpose}-{role}" for role in roles), purpose]
    return prompt_named(prompts, next((name for name in [*names, *roles] if name in prompts), default))


def prompt_named(prompts: Mapping[str, str | None], name: str | None) -> str:
    """Return the text of a prompt; empty without a name or a text."""
    if name is None:
        return ""
    return prompts.get(name) or ""


def check_prompts(prompts: Iterable[str], tasks: Collection[str]) -> None:
    """Refuse prompts with names that no task, type or role has."""
    roles = [role for names in ROLES.values() for role in names]
    names = [ALL, *roles, *TASK_TYPES, *tasks]
    for name in prompts:
        purpose, _, role = name.rpartition("-")
        if name not in names and not (purpose in names and role in roles):
            raise EaseError(
                f"Unknown prompt {name!r}: {suggest(name, names)}; or a task or type with a role, such as `STS-query`."
            )


def summarize_prompts(by_task: Mapping[str, str]) -> str:
    """Return one line on the prompts of tasks, or of other uses: each prompt with its tasks, or `none` alone."""
    tasks_by_prompt: dict[str, list[str]] = {}
    for task, prompt in by_task.items():
        tasks_by_prompt.setdefault(prompt, []).append(task)
    if not any(tasks_by_prompt):
        return "none"
    parts = []
    for prompt, tasks in tasks_by_prompt.items():
        name = "none"
        if prompt:
            name = f"{prompt!r}"
        parts.append(f"{name} ({', '.join(tasks)})")
    return "; ".join(parts)


class PromptVariant(NamedTuple):
    """Prompts of an encoder, and the name of its default one."""

    prompts: dict[str, str | None]
    default: str | None

    @property
    def text(self) -> str:
        """The prompt of texts without another one."""
        return prompt_named(self.prompts, self.default)


def prompt_variants(prompts: Mapping[str, str | None], default: str | None) -> list[PromptVariant]:
    """Return an encoder's prompts without and with one before sentences; those of queries and documents stay.

    Without a default prompt, that of queries is tried, which some authors also put before sentences. An encoder without
    a prompt has one variant.
    """
    roles = {name for names in ROLES.values() for name in names}
    of_sentences = [
        name
        for name, text in prompts.items()
        if text and name.rpartition("-")[2] not in roles and not name.endswith("Retrieval")
    ]
    if prompt_named(prompts, default):
        prompted = PromptVariant(dict(prompts), default)
    else:
        query = next((name for name in ROLES["query"] if prompts.get(name)), default)
        prompted = PromptVariant(dict(prompts), query)
    plain = PromptVariant(dict(prompts), default)
    if of_sentences or plain.text:
        # Empty texts are saved with the encoder: later, its published prompts do not take their place.
        plain = PromptVariant({**prompts, **dict.fromkeys(of_sentences, ""), ALL: ""}, ALL)
    if prompted == plain:
        return [plain]
    return [plain, prompted]


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
