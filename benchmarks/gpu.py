"""Run the tests and benchmarks of a GPU, each part by itself, in 9 minutes: `make gpu PYTHON=python3`.

    python3 -m benchmarks.gpu --folder gpu_results
    python3 -m benchmarks.gpu --folder gpu_results --sentences PAIRS.parquet --parts ease search
    python3 -m benchmarks.gpu --folder tiny_results --tiny    # the same commands at a small size, without a GPU

A part is a command of at most a minute; the most wanted come first, and those for which no time is left are not begun.
Tests that compile take longer: `pytest -m gpu -k compiled`.
Its output is written to the folder while it runs, and its result when it ends. A part with a result for the same code,
arguments and machine is skipped, so the same command goes on where a run ended. A part that fails or exceeds its time
does not stop the others.

Needs torch 2.11, transformers 5.17, sentence-transformers 6.0, accelerate, pyarrow and the packages of
`scripts/gpu_wheels.sh`; no network. Without `--sentences`, sentences are generated.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.common import command_line_parser

ROOT = Path(__file__).parents[1]
LIBRARIES = ("torch", "transformers", "sentence_transformers", "accelerate", "pyarrow")
LINES = 40
"""Lines of a failed part's output that the report shows."""


SECONDS = 60.0
"""Time limit of a part on a GPU"""
TINY_SECONDS = 300.0
"""The same at a tiny size, on a CPU that others may use"""
INPUTS = "INPUTS"


class Part(NamedTuple):
    """A module, and its arguments on a GPU and at a tiny size; `INPUTS` stands for the folder of shared inputs."""

    module: str
    full: str
    tiny: str


def _training(full: str, tiny: str) -> Part:
    shared = f"--inputs {INPUTS} --rounds 1"
    on_gpu = f"{shared} --encoder base --entities 1000000 --batch-sizes 256 --warmup 60 --threads 8 --seconds 3"
    on_cpu = f"{shared} --entities 500 --batch-sizes 8 --warmup 3 --device cpu --seconds 0.1"
    on_cpu += " --curve-batch-size 4 --curve-steps 2"
    return Part("benchmarks.training_speed", f"{on_gpu} {full}", f"{on_cpu} {tiny}")


def _tests(selection: str) -> Part:
    files = "training/test_gpu.py encoders/test_gpu.py similarity/test_neighbours.py"
    full = " ".join(f"tests/{file}" for file in files.split())
    tiny = "tests/methods/components/test_losses.py"
    return Part("pytest", f"-q -m gpu -p no:cacheprovider -k '{selection}' {full}", f"-q -p no:cacheprovider {tiny}")


SPEED_OF_EASE = "--methods ease --tables speed"
PARTS: dict[str, Part] = {
    "smoke": _tests("bits"),
    "inputs": _training("--tables", "--tables"),
    "ease": _training(f"{SPEED_OF_EASE} --ways compiled --no-peer", f"{SPEED_OF_EASE} --ways ours --no-peer"),
    "peer": _training(f"{SPEED_OF_EASE} --ways ours --seconds 2", f"{SPEED_OF_EASE} --ways ours"),
    "encoding": Part(
        "benchmarks.encoding_speed",
        "--encoder base --sentences 20000 --batch-size 256 --rounds 9 --seconds 6",
        "--sentences 50 --batch-size 8",
    ),
    "profile": _training("--methods ease --tables profile --ways ours", "--methods ease --tables profile --ways ours"),
    "losses": _training("--methods ease --ways ours --tables curves --curve-steps 40", "--ways ours --tables curves"),
    "resume": _tests("resume and not compiled"),
    "simcse": _training(
        "--methods simcse --ways ours --tables speed --seconds 2", "--methods simcse --ways ours --tables speed"
    ),
    "large-batches": _training(
        f"{SPEED_OF_EASE} --ways compiled --batch-sizes 1024 --no-peer", f"{SPEED_OF_EASE} --ways ours --no-peer"
    ),
    # Tables of 3 and 31 GB, with moments of twice as many bytes
    "entity-table": Part(
        "benchmarks.entity_table", "--entities 1000000 10000000 --batch-size 256", "--entities 100 200 --batch-size 8"
    ),
    "search": Part(
        "benchmarks.search_memory", "--sizes 15000x40000 150000x400000 --threads 8", "--sizes 40x60 --dimension 16"
    ),
    "variants": _training(
        f"{SPEED_OF_EASE} --ways packed padded --seconds 2 --no-peer", f"{SPEED_OF_EASE} --ways packed --no-peer"
    ),
    "tests": _tests("not bits and not resume and not compiled"),
}
"""The parts in the order in which they run."""


class Result(NamedTuple):
    """What is known of a part that ended."""

    part: str
    command: list[str]
    key: str
    status: int | None
    seconds: float
    output: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts and write the report; return 1 if a part failed."""
    parser = command_line_parser(__doc__)
    parser.add_argument("--folder", type=Path, default=Path("gpu_results"), help="folder of the results")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--sentences", type=Path, help="Parquet with a column `sentence`")
    parser.add_argument("--minutes", type=float, default=9, help="time after which no further part is begun")
    parser.add_argument("--tiny", action="store_true", help="run at a small size on the CPU")
    options = parser.parse_args(arguments)
    machine = describe_machine()
    if machine["device"] == "cpu" and not options.tiny:
        print(
            "There is no CUDA device: run this on a machine with a GPU, or try the commands by --tiny.", file=sys.stderr
        )
        return 1
    options.folder.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + 60 * options.minutes
    for name in options.parts:
        remaining = end - time.monotonic()
        if remaining <= 0 and not options.tiny:
            print(f"{name}: no time is left")
            continue
        command = command_of(PARTS[name], options.tiny, options.sentences, options.folder / "inputs")
        limit = min(SECONDS, remaining)
        if options.tiny:
            limit = TINY_SECONDS
        result = run_part(name, command, options.folder, machine, limit)
        print(f"{name}: {describe_status(result)}", flush=True)
        write_report(options.folder, machine)
    return int(any(result.status != 0 for result in results_in(options.folder)))


def describe_machine() -> dict[str, str]:
    """Return the device, its memory, and the versions of the libraries, which a part's process would use."""
    code = f"""
import importlib, json, torch
versions = {{name: importlib.import_module(name).__version__ for name in {LIBRARIES!r}}}
device, memory = "cpu", ""
if torch.cuda.is_available():
    device = torch.cuda.get_device_name()
    memory = f"{{torch.cuda.get_device_properties(0).total_memory / 2**30:.0f}} GiB"
print(json.dumps({{"device": device, "memory": memory, "python": {platform.python_version()!r}, **versions}}))
"""
    command = [sys.executable, "-c", code]
    process = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    if process.returncode:
        fault = process.stderr.strip().splitlines()[-1]
        raise SystemExit(f"A library does not load: {fault} (scripts/gpu_wheels.sh)")
    machine: dict[str, str] = json.loads(process.stdout.splitlines()[-1])
    return machine


def environment(*, one_device: bool = True) -> dict[str, str]:
    """Return the environment of a part: the checkout's modules first, no network, no tracking, one device or all."""
    search = os.pathsep.join([str(ROOT / "src"), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    offline = {"HF_HUB_OFFLINE": "1", "DO_NOT_TRACK": "true", "TOKENIZERS_PARALLELISM": "true"}
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "0").partition(",")[0]
    visible = {}
    if one_device:
        visible["CUDA_VISIBLE_DEVICES"] = first
    return {**os.environ, **offline, **visible, "PYTHONPATH": search}


def command_of(part: Part, tiny: bool, sentences: Path | None, inputs: Path) -> list[str]:
    """Return the words of a part's command without the interpreter."""
    command = ["-m", part.module]
    if sentences and part.module == "benchmarks.training_speed":
        command.append(str(sentences.resolve()))
    arguments = part.full
    if tiny:
        arguments = part.tiny
    for word in shlex.split(arguments):
        if word == INPUTS:
            word = str(inputs.resolve())
        command.append(word)
    return command


def run_part(name: str, command: list[str], folder: Path, machine: dict[str, str], seconds: float = SECONDS) -> Result:
    """Return the result of a part: the one in the folder if code, command and machine are the same, else of a new run.

    Standard error is written beside the output, since warnings would break tables.
    """
    file, log, errors = (folder / f"{name}.{ending}" for ending in ("json", "log", "err"))
    key = hashlib.sha256(json.dumps([code_hash(), command, machine]).encode()).hexdigest()[:16]
    if file.is_file():
        earlier = Result(**json.loads(file.read_text()))
        if earlier.key == key and earlier.status == 0:
            return earlier
    print(f"{name}: {' '.join(command)}", flush=True)
    started = time.monotonic()
    with log.open("w") as output, errors.open("w") as messages:
        process = subprocess.Popen(
            [sys.executable, *command],
            cwd=ROOT,
            env=environment(one_device=PARTS[name].module != "pytest"),
            stdout=output,
            stderr=messages,
            start_new_session=True,
        )
        try:
            status: int | None = process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # with its own processes, which have the GPU's memory
            process.wait()
            status = None
    files = [log]
    if status != 0:
        files.append(errors)
    text = "\n".join(file.read_text(errors="replace") for file in files)
    result = Result(name, command, key, status, round(time.monotonic() - started, 1), text)
    file.write_text(json.dumps(result._asdict(), indent=1))
    return result


def code_hash() -> str:
    """Return a hash of the Python files of the library, the tests and the benchmarks."""
    digest = hashlib.sha256()
    files = [file for place in ("src", "tests", "benchmarks") for file in (ROOT / place).rglob("*.py")]
    for file in sorted(files):
        digest.update(file.relative_to(ROOT).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def describe_status(result: Result) -> str:
    """Return how a part ended."""
    if result.status is None:
        return f"stopped after {result.seconds:.0f} s, its limit"
    if result.status == 0:
        return f"done in {result.seconds:.0f} s"
    return f"failed in {result.seconds:.0f} s"


def results_in(folder: Path) -> list[Result]:
    """Return the results of the parts that ended, in their order."""
    files = [folder / f"{name}.json" for name in PARTS]
    return [Result(**json.loads(file.read_text())) for file in files if file.is_file()]


def write_report(folder: Path, machine: dict[str, str]) -> None:
    """Write `results.md` of the parts that ended so far."""
    versions = [f"{name} {value}" for name, value in machine.items() if name not in ("device", "memory")]
    blocks = [f"# {machine['device']} {machine['memory']}".rstrip(), ", ".join(versions)]
    for result in results_in(folder):
        lines = result.output.strip().splitlines()
        if result.status != 0 or "pytest" in result.command:
            lines = ["```", *lines[-LINES:], "```"]
        command = f"`python {' '.join(result.command)}`, {describe_status(result)}"
        blocks += [f"## {result.part}", command, "\n".join(lines)]
    (folder / "results.md").write_text("\n\n".join(blocks) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
