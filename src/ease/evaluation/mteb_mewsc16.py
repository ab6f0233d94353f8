"""MewsC-16 as a task for MTEB (https://github.com/embeddings-benchmark/mteb).

It needs `pip install mteb`. The task has MTEB's scores, its own command for descriptive statistics, and the data set's
folder or its name on the hub:

    task = mewsc16_task("data/05_model_input/mewsc16/VERSION/mewsc16", ["en", "de"])
    mteb.evaluate(mteb.get_model("intfloat/multilingual-e5-small"), task)
    task.calculate_descriptive_statistics()
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mteb.abstasks.clustering import AbsTaskClustering
from mteb.abstasks.task_metadata import TaskMetadata

from ease.wikimedia.languages import Language
from ease.wikimedia.wikinews.editions import SMALL

_MTEB_SCRIPTS = {"Kore": "Hang"}
"""MTEB's names of scripts, where CLDR has another"""
_CITATION = r"""
@inproceedings{nishikawa-etal-2022-ease,
  author = {Nishikawa, Sosuke and Ri, Ryokan and Yamada, Ikuya and Tsuruoka, Yoshimasa and Echizen, Isao},
  booktitle = {Proceedings of the 2022 Conference of the North American Chapter of the Association for Computational
    Linguistics: Human Language Technologies},
  pages = {3870--3885},
  title = {{EASE}: Entity-Aware Contrastive Learning of Sentence Embedding},
  url = {https://aclanthology.org/2022.naacl-main.284/},
  year = {2022},
}
"""


class _Mewsc16Clustering(AbsTaskClustering):
    """Clustering of the balanced split, which is embedded as a whole."""

    max_fraction_of_documents_to_embed = None
    max_document_to_embed = None
    input_column_name = "sentence"
    label_column_name = "category"

    def dataset_transform(self, num_proc: int | None = None, **_: Any) -> None:
        """Keep sentences and topics."""
        assert self.dataset is not None
        for subset, splits in self.dataset.items():
            self.dataset[subset] = splits.select_columns([self.input_column_name, self.label_column_name])


def mewsc16_task(
    path: str | Path, languages: list[str], licence: str = "cc-by-4.0", revision: str = "main"
) -> AbsTaskClustering:
    """Return the task of a data set that the pipeline `mewsc16` made with `edition: clean`.

    Args:
        path: The data set's folder, or its name on the hub.
        languages: Its languages, as Wikinews writes their codes.
        licence: Its licence; of several, the most restrictive one.
        revision: Its commit on the hub; without effect for a folder.
    """

    class MewsC16Clustering(_Mewsc16Clustering):
        metadata = TaskMetadata(
            name="MewsC16Clustering",
            description="Clustering of the first sentences of Wikinews articles by their topics, in a cleaned edition "
            "without duplicates, ambiguous sentences and remains of markup.",
            reference="https://aclanthology.org/2022.naacl-main.284/",
            dataset={"path": str(path), "revision": revision},
            type="Clustering",
            category="t2c",
            modalities=["text"],
            eval_splits=[SMALL],
            eval_langs={language: [language_and_script(language)] for language in languages},
            main_score="ami",
            date=("2004-11-01", "2026-05-04"),
            domains=["News", "Written"],
            task_subtypes=["Topic classification"],
            license=licence,
            annotations_creators="human-annotated",
            dialect=[],
            sample_creation="found",
            bibtex_citation=_CITATION,
        )

    return MewsC16Clustering()


def language_and_script(language: str) -> str:
    """Return a language as MTEB writes it: `eng-Latn`."""
    script = Language(language).locale.addLikelySubtags().getScript()
    return f"{Language(language).iso_639_3}-{_MTEB_SCRIPTS.get(script, script)}"
