"""TNEWS: clustering of Chinese news titles of 15 topics (section 4.5, Table 4 of mSimCSE; CLUE, Xu et al., 2020).

K-means with as many clusters as topics, scored as in the paper by the mean over clusters of the share of each cluster's
most frequent topic. `purity` weights clusters by their size.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from ease.errors import EaseError
from ease.evaluation.cluster_agreement import mean_cluster_purity, purity
from ease.evaluation.tasks import Encode, Files, Score, available_subsets
from ease.evaluation.tasks.components.clusters import ClusteringOptions, score_cluster_sets
from ease.evaluation.tasks.components.labelled_texts import LabelledTexts, collect_texts, read_objects

METRIC, SECOND_METRIC = "mean_cluster_purity", "purity"
KIND = "Clustering"
SOURCE = (
    "https://github.com/CLUEbenchmark/CLUE (tnews: train.json, dev.json) and https://github.com/CLUEbenchmark/FewCLUE "
    "(datasets/tnews: train_few_all.json, dev_few_all.json, test_public.json); no licence stated: for research"
)
SETS = ("dev", "train", "dev_few_all", "train_few_all", "test_public")
TOPICS = {
    **{"100": "news_story", "101": "news_culture", "102": "news_entertainment", "103": "news_sports"},
    **{"104": "news_finance", "106": "news_house", "107": "news_car", "108": "news_edu"},
    **{"109": "news_tech", "110": "news_military", "112": "news_travel", "113": "news_world"},
    **{"114": "news_stock", "115": "news_agriculture", "116": "news_game"},
}
"""Topics by their numbers."""


class Options(ClusteringOptions):
    """The folder of dev.json and the others, the files to score, and options of k-means."""


def files(options: Options) -> Files:
    """One file per set."""
    return {subset: (options.path / f"{subset}.json",) for subset in options.chosen(SETS)}


def read_news(path: Path) -> LabelledTexts:
    """Read lines of JSON objects with a sentence and its topic, by name (`label_desc`) or by number (`label`)."""
    return collect_texts(
        path,
        ((place, _topic(row, place), row["sentence"]) for place, row in read_objects(path, ["sentence"])),
    )


def _topic(row: dict[str, Any], place: str) -> str:
    given = row.get("label_desc") or row.get("label")
    if given in (None, ""):
        raise EaseError(
            f"{place}: neither 'label_desc' nor 'label' has a topic; the test set of CLUE has none."
        )
    topic = TOPICS.get(str(given), str(given))
    if topic not in TOPICS.values():
        raise EaseError(f"{place}: the topic {given!r} is not one of {', '.join(TOPICS.values())}.")
    return topic


def evaluate(encode: Encode, options: Options) -> list[Score]:
    """Mean purity and purity of the clusters of each set, and their averages."""
    found = available_subsets(files(options))
    readers = {subset: partial(read_news, path) for subset, (path,) in found.items()}
    measures = {METRIC: mean_cluster_purity, SECOND_METRIC: purity}
    return score_cluster_sets(encode, readers, "tnews", options, len(options.chosen(SETS)), measures)
