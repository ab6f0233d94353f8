"""What a user gets wrong on the command line is refused in words, before or instead of any output."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import pytest
from kedro.framework.session import KedroSession
from kedro.framework.startup import bootstrap_project
from omegaconf import OmegaConf

from ease.hooks.errors import show_exception
from tests.project import SMALL, Project


def message_of(
    project: Project, pipeline: str, given: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> str:
    """Run a pipeline in this process and return what the command line would print of its failure."""
    bootstrap_project(project.folder)
    dotted = [f"{name}={value}" for name, value in {**SMALL, **given}.items()]
    parameters = OmegaConf.to_container(OmegaConf.from_dotlist(dotted))
    with KedroSession.create(
        project_path=project.folder, runtime_params=copy.deepcopy(parameters)
    ) as session:
        with pytest.raises(Exception) as caught:  # noqa: PT011 - which one is told by what is printed
            session.run(pipeline_names=pipeline.split(","))
        capsys.readouterr()
        show_exception(caught.type, caught.value, caught.tb)
    return capsys.readouterr().err


BAD = {
    "unknown language": ("acquire", {"multilingual.setting.languages": "en xx"}, "Unknown language 'xx'"),
    "missing source": ("acquire", {"acquire.wikipedia": "nowhere"}, "nowhere"),
    "folder without dumps": ("acquire", {"acquire.wikipedia": "conf"}, "conf.*pages-articles"),
    "language without a dump": ("acquire", {"multilingual.setting.languages": "en sw"}, "sw"),
    "several languages without Wikidata": ("acquire", {"acquire.wikidata": "null"}, "only Wikidata tells"),
    "missing Wikidata": ("acquire", {"acquire.wikidata": "no.json"}, r"no\.json"),
    "missing evaluation set": (
        "acquire_evaluation",
        {"tasks.sample_graded.path": "no.parquet"},
        r"no\.parquet",
    ),
    "unknown set of the sample": (
        "acquire_evaluation",
        {"tasks.sample_graded.path": "sample:x"},
        "sample:graded",
    ),
    "unknown task": ("acquire_evaluation", {"multilingual.setting.test_tasks": "stsx"}, "stsx"),
    "unknown splitter": ("ingest", {"ingest.splitter": "punkt"}, "ingest.*splitter"),
    "unknown engine": ("ingest", {"engine": "flink"}, "flink"),
    "no pair left": ("entity_pairs", {"multilingual.vocabulary.min_link_count": 10**6}, "min_link_count"),
    "lengths that exclude all": ("entity_pairs", {"multilingual.pairs.max_characters": 5}, "max_characters"),
    "unknown encoder": (
        "entity_embeddings",
        {"multilingual.setting.encoder.name": "no/such-encoder"},
        "no/such-encoder",
    ),
    "unknown pooling": ("entity_embeddings", {"multilingual.setting.encoder.pooling": "max"}, "pooling"),
    "file without vectors": ("entity_embeddings", {"entity_embeddings.source": "file"}, "`file`"),
    "unknown method": ("train", {"multilingual.ease.method": "eaze"}, "Unknown training method 'eaze'"),
    "negative temperature": ("train", {"multilingual.ease.options.temperature": -0.1}, "temperature"),
    "unknown option": ("train", {"multilingual.ease.options.tau": 1}, "tau"),
    "batch larger than the data": ("train", {"multilingual.ease.training.batch_size": 10**6}, "batch_size"),
    "misspelt parameter": ("train", {"multilingual.eaze.training.steps": 1}, "did you mean"),
}


@pytest.mark.parametrize("case", BAD)
def test_the_fault_is_named(
    case: str, project: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.folder)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    pipeline, given, expected = BAD[case]
    before = sorted(project.folder.joinpath("data").rglob("*.part"))
    message = message_of(project, pipeline, given, capsys)
    assert message.startswith("Error: "), message
    assert "Traceback" not in message
    assert re.search(expected, message, re.DOTALL), message
    assert sorted(project.folder.joinpath("data").rglob("*.part")) == before


def test_the_command_line_prints_the_message_alone(project: Project) -> None:
    done = project.run("acquire", check=False, acquire__wikipedia="nowhere")
    assert done.returncode == 1
    assert "Error: " in done.stderr
    assert "Traceback" not in done.stderr
    assert "nowhere" in done.stderr.splitlines()[-1]


def test_an_unknown_namespace_says_so(project: Project) -> None:
    done = project.run("train", "--namespaces=multilingual.eaze", check=False)
    assert done.returncode == 1
    assert "multilingual.eaze" in done.stderr


def test_data_stays_where_the_run_failed(project: Project) -> None:
    assert Path(project.latest("03_primary/multilingual/pairs.parquet")).is_file()
