#!/usr/bin/env bash
# Download the packages that `make gpu` needs beyond torch, transformers, sentence-transformers, accelerate and pyarrow,
# for a machine without a network: CPython 3.12 on x86-64 Linux. About 48 MB.
#
#   scripts/gpu_wheels.sh wheels      # here; then copy the checkout with the folder
#   python3 -m pip install --no-index --no-deps --target site wheels/*.whl
#   PYTHONPATH=site make gpu PYTHON=python3
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-wheels}
# --no-deps: the list is complete, which tests/benchmarks/test_gpu.py checks by importing.
packages="annotated-types babel datasets dill multiprocess orjson pathlib-abc pot pydantic pydantic-core pytest typing-inspection universal-pathlib iniconfig pluggy xxhash"
wanted=()
for package in $packages; do
  wanted+=("$(grep -iE "^${package}==" constraints.txt || echo "$package")")
done
platforms=()
for tag in manylinux_2_28 manylinux_2_27 manylinux_2_17 manylinux2014 manylinux1; do
  platforms+=(--platform "${tag}_x86_64")
done
mkdir -p "$folder"
"${PYTHON:-python3}" -m pip download --quiet --no-deps --only-binary=:all: --python-version 3.12 --implementation cp \
  "${platforms[@]}" --dest "$folder" "${wanted[@]}"
ls "$folder"
