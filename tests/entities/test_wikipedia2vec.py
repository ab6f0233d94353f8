"""Wikipedia2Vec is trained by its package on small dumps."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from ease.entities.embeddings import EmbeddingOptions, embed_entities
from ease.entities.wikipedia2vec import Wikipedia2VecOptions, train_wikipedia2vec
from ease.wikimedia.dumps.files import find_dumps
from tests.wikimedia.made_dumps import PACK, make_export, make_page

OPTIONS = Wikipedia2VecOptions(min_word_count=1, min_entity_count=1, word_neg_power=0, seed=5)


def write_dump(path: Path, first: int, last: int) -> None:
    """Write a dump of some of twenty places that link to each other, and a redirect without its own element."""
    rng = random.Random(first)
    places = [f"Place {number}" for number in range(20)]
    pages = [make_page(900 + first, f"Old {first}", f"#REDIRECT [[Place {first}]]")]
    for number in range(first, last):
        text = " ".join(f"The town of [[{place}]] lies near it." for place in rng.choices(places, k=30))
        pages.append(make_page(number, places[number], text))
    path.write_bytes(PACK[path.suffix](make_export(pages).encode()))


@pytest.mark.slow
def test_parts_of_a_dump_are_trained_on_repeatably(tmp_path: Path) -> None:
    write_dump(tmp_path / "enwiki-20240101-pages-articles1.xml-p1p10.bz2", 0, 10)
    write_dump(tmp_path / "enwiki-20240101-pages-articles2.xml-p11p20.bz2", 10, 20)
    dumps = find_dumps(tmp_path, ["en"])
    assert len(dumps) == 2
    titles = ["Place 3", "Place 17", "Atlantis"]
    names = pa.table({"row": [0, 1, 2], "title": titles, "direct": [True] * 3})
    options = EmbeddingOptions(wikipedia2vec=OPTIONS, seed=1)
    table, count = embed_entities(names, 3, 16, dumps, options, tmp_path / "work")
    assert count == 2
    assert table.shape == (3, 16)
    assert np.isfinite(table).all()
    assert not list((tmp_path / "work").iterdir()), "nothing but the table is left"

    train_wikipedia2vec(dumps, "en", 16, OPTIONS, tmp_path / "vectors.txt")
    _, *lines = (tmp_path / "vectors.txt").read_text().splitlines()
    again = {line.split()[0]: line.split()[1:] for line in lines}
    assert len(again) == 20, "redirects are resolved"
    np.testing.assert_array_equal(table[0], np.array(again["ENTITY/Place_3"], dtype=np.float32))
    np.testing.assert_array_equal(table[1], np.array(again["ENTITY/Place_17"], dtype=np.float32))
