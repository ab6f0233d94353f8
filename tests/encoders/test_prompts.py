"""Prompts are chosen by task, kind and role, and unknown names are refused."""

from __future__ import annotations

import mteb
import pytest
from mteb.models.abs_encoder import get_prompt_name
from mteb.types import PromptType

from ease.encoders.prompts import (
    PromptVariant,
    Use,
    check_prompts,
    merged_prompts,
    prompt_for,
    prompt_variants,
    summarize_prompts,
)
from ease.errors import EaseError

PROMPTS: dict[str, str | None] = {
    "STS17": "a task: ",
    "STS17-query": "a task's query: ",
    "STS": "a kind: ",
    "Retrieval-document": "a kind's passage: ",
    "Retrieval": "another kind: ",
    "query": "query: ",
    "document": "passage: ",
}


@pytest.mark.parametrize("dropped", [(), ("STS17-query",), ("STS17", "STS", "STS17-query")])
@pytest.mark.parametrize("role", [None, "query", "document"])
@pytest.mark.parametrize(("task", "task_type"), [("STS17", "STS"), ("NFCorpus", "Retrieval")])
def test_the_order_of_prompts_is_mtebs(dropped: tuple[str, ...], role: str | None, task: str, task_type: str) -> None:
    prompts = {name: text for name, text in PROMPTS.items() if name not in dropped}
    use = Use(task, task_type, {None: None, "query": "query", "document": "passage"}[role])  # type: ignore[arg-type]
    metadata = mteb.get_task(task).metadata
    name = get_prompt_name(prompts, metadata, PromptType(role) if role else None)  # type: ignore[arg-type]
    assert prompt_for(prompts, None, use) == (prompts[name] if name else "")


def test_given_prompts_replace_saved_ones_and_a_prompt_of_all_replaces_them_all() -> None:
    saved: dict[str, str | None] = {"query": "q: ", "document": "d: ", "STS": "s: "}
    merged, default = merged_prompts(saved, {"passage": "p: "}, "STS")
    assert default == "STS"
    assert prompt_for(merged, default, Use("", "Retrieval", "passage")) == "p: "
    assert prompt_for(merged, default, Use("", "Retrieval", "query")) == "q: "
    merged, default = merged_prompts(saved, {"all": "x: ", "Clustering": "c: "}, "STS")
    assert prompt_for(merged, default, Use("stsb", "STS")) == "x: "
    assert prompt_for(merged, default, Use("", "Retrieval", "query")) == "x: "
    assert prompt_for(merged, default, Use("stc", "Clustering")) == "c: "


def test_prompts_of_unknown_names_are_refused_with_the_known_ones() -> None:
    tasks = ("stsb", "tatoeba")
    known = ("query", "stsb", "tatoeba-query", "Retrieval-document", "all")
    check_prompts(dict.fromkeys(known, ""), tasks)
    for name in ("stsb-qurey", "nothing-query"):
        with pytest.raises(EaseError, match=rf"Unknown prompt '{name}'"):
            check_prompts({name: ""}, tasks)


@pytest.mark.parametrize(
    ("prompts", "default", "variants"),
    [
        ({"query": "", "document": ""}, None, [({"query": "", "document": ""}, None)]),
        (
            {"query": "query: ", "document": "passage: "},
            None,
            [
                ({"query": "query: ", "document": "passage: "}, None),
                ({"query": "query: ", "document": "passage: "}, "query"),
            ],
        ),
        (
            {"query": "q: ", "STS": "s: ", "Retrieval-query": "q: "},
            "STS",
            [
                ({"query": "q: ", "STS": "", "Retrieval-query": "q: ", "all": ""}, "all"),
                ({"query": "q: ", "STS": "s: ", "Retrieval-query": "q: "}, "STS"),
            ],
        ),
        ({"BitextMining": "b: "}, None, [({"BitextMining": "", "all": ""}, "all"), ({"BitextMining": "b: "}, None)]),
    ],
)
def test_variants_are_without_and_with_a_prompt_before_sentences(
    prompts: dict[str, str | None], default: str | None, variants: list[PromptVariant]
) -> None:
    assert prompt_variants(prompts, default) == variants


def test_one_line_summarises_the_prompts_of_tasks() -> None:
    assert summarize_prompts({"stsb": "", "tatoeba": ""}) == "none"
    assert summarize_prompts({"stsb": "s: ", "tatoeba": "", "sick": "s: "}) == "'s: ' (stsb, sick); none (tatoeba)"
