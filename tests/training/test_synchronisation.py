"""A step leaves its tensors on the device, and no operation in it makes the host wait for the device."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from ease.io.atomic import write_text_atomically
from ease.methods.components.entity_table import EntityTable, Rows
from ease.methods.components.losses import NO_ENTITY
from ease.training.job import run_job
from tests.training.tiny_training import MakeJob, tiny_job

ROOT = Path(__file__).parents[2]
WITHOUT_ENTITIES: dict[str, Any] = {"method": "simcse", "vocabulary": None, "table": None}
CASES: dict[str, dict[str, Any]] = {
    "ease": {},
    "ease without hard negatives": {"method_options": {"hard_negatives": False, "mask_same_entity": True}},
    "ease_plus with a guide": {
        "method": "ease_plus",
        "training": {"guide": {"encoder": "encoder"}, "sub_batch_size": 8},
    },
    "simcse with masked tokens": {**WITHOUT_ENTITIES, "method_options": {"mlm_weight": 0.1}},
    "mirror_bert with lora": {
        **WITHOUT_ENTITIES,
        "method": "mirror_bert",
        "training": {"lora": {"rank": 4, "targets": ["query", "value"]}},
    },
    "msimcse with a teacher": {
        **WITHOUT_ENTITIES,
        "method": "msimcse",
        "training": {"teacher": {"encoder": "encoder"}},
    },
    "packed, in mini-batches": {"training": {"packed": True, "mini_batch_size": 8}},
    "a table on the host": {"training": {"entity_memory": "host", "entity_moments": "bf16"}},
    "moments in bf16": {"training": {"entity_moments": "bf16", "matryoshka": (8, 16)}},
}


MAY_WAIT = {
    "a table on the host": ["update"],  # whose rows wait for their gradient
    "simcse with masked tokens": ["gradients"],  # only the device knows how many tokens it masked
}
"""Parts of a step that may wait for the device"""


@pytest.fixture(scope="module")
def outcomes(files: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What became of the training of each case on a pretended device, and of trainings that wait for it."""
    folder = tmp_path_factory.mktemp("pretended")
    for case, changes in CASES.items():
        training = {"max_steps": 2, **changes.get("training", {})}
        for other in {"teacher", "guide"} & training.keys():
            training[other] = {"encoder": str(files / training[other]["encoder"])}
        job = tiny_job(files, folder / case, **{"development": {}, **changes, "training": training})
        write_text_atomically(job.folder / "job.json", job.model_dump_json())
    jobs = {str(folder / case): MAY_WAIT.get(case, []) for case in CASES}
    command = [sys.executable, "-m", "tests.training.pretended_device", json.dumps(jobs)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert not done.returncode, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    return {case: found[str(folder / case)] for case in CASES}


@pytest.mark.parametrize("case", CASES)
def test_a_step_stays_on_the_device_and_does_not_wait_for_it(outcomes: dict[str, Any], case: str) -> None:
    assert outcomes[case] == ["gradients", "update"] * 2


@pytest.mark.parametrize("case", ["ease", "ease without hard negatives"])
def test_the_host_finds_the_rows_that_a_step_looks_up(
    make_job: MakeJob, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    look_up, looked_up = EntityTable.forward, []

    def compared(table: EntityTable, *ids: Tensor, used: Rows | None) -> list[Tensor]:
        assert used is not None
        found = torch.cat(ids).unique()
        assert used.tolist() == found[found != NO_ENTITY].tolist()
        looked_up.append(len(used))
        return look_up(table, *ids, used=used)

    monkeypatch.setattr(EntityTable, "forward", compared)
    run_job(make_job("compared", development={}, training={"max_steps": 4}, **CASES[case]))
    assert len(looked_up) == 4


OPERATIONS = {
    "there[0].item()": "_local_scalar_dense.* waits for the device",
    "there[there > 0]": "by a mask waits for the device",
    "here.to(DEVICE)": "copies between host and device",
    "here + there": "reads tensors of the host",
    "there + here.to(DEVICE, non_blocking=True)": "^$",
}
"""What the pretended device says about operations where nothing may wait"""


def test_the_pretended_device_refuses_what_waits() -> None:
    code = """
import json, sys
from tests.training.pretended_device import *
found = {}
with OnDevice(), no_waiting():
    for operation in json.loads(sys.argv[1]):
        here, there = torch.ones(2), torch.ones(2, device=DEVICE)
        try:
            assert eval(operation).device == DEVICE
        except Refused as refused:
            found[operation] = str(refused)
print(json.dumps(found))
"""
    command = [sys.executable, "-c", code, json.dumps(list(OPERATIONS))]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    refused = json.loads(done.stdout)
    for operation, message in OPERATIONS.items():
        assert re.search(message, refused.get(operation, "")), operation
