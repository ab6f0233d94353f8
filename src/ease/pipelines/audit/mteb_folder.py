"""The audit as a data set of the Hugging Face hub that is a BitextMining task of MTEB."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from jinja2 import StrictUndefined, Template

from ease.entities.audit import ANSWER, LEFT, NAME_TITLE, RIGHT, TITLE_KINDS, WORD_TITLE
from ease.lazy import DataFrame, pd
from ease.wikimedia.languages import Language
from ease.wikimedia.wikipedia import wikipedia_licence

# MTEB knows no code for the licence of dumps before 2009, and accepts an address.
_MTEB_LICENCES = {"gfdl": "https://www.gnu.org/licenses/fdl-1.3.html"}


def write_mteb_folder(folder: Path, audit: DataFrame, dumps: Sequence[Mapping[str, Any]], pivot: str) -> None:
    """Write a data set with a card, and `mteb_task.py`, whose class is the task.

    A pair of languages has three subsets: `LANGUAGE-PIVOT-words` and `LANGUAGE-PIVOT-names`, the titles, and
    `LANGUAGE-PIVOT-sentences`. Empty ones are left out. Distractors are not written: in MTEB's tasks each sentence is
    part of a pair.

    Args:
        folder: The folder to fill.
        audit: Rows as `add_distractors` returns them.
        dumps: The located dumps, with their language, path and dump_date.
        pivot: Language of the right sides.
    """
    answers = audit[audit.grade == ANSWER]
    subsets = []
    digest = hashlib.sha256()
    for subset in sorted(set(answers.subset)):
        is_title = answers.kind.isin(TITLE_KINDS)
        for kind, is_kind in (
            ("words", answers.kind == WORD_TITLE),
            ("names", answers.kind == NAME_TITLE),
            ("sentences", ~is_title),
        ):
            rows = answers[(answers.subset == subset) & is_kind]
            if rows.empty:
                continue
            pairs = _pair_sides(rows)
            name = f"{subset}-{kind}"
            pq.write_table(pa.Table.from_pandas(pairs, preserve_index=False), folder / f"{name}.parquet")
            digest.update(f"{name}\n{pairs.to_csv(index=False)}".encode())
            languages = [
                _code_with_script(pairs.language1.iloc[0], pairs.sentence1),
                _code_with_script(pivot, pairs.sentence2),
            ]
            subsets.append({"name": name, "languages": languages, "pairs": len(pairs)})
    codes = sorted({*answers.language, pivot})
    licences = sorted({wikipedia_licence(dump["dump_date"]) for dump in dumps if dump["language"] in codes})
    language_names = ", ".join(Language(code).english_name for code in codes)
    code_names = "".join(
        part.title() for code in [*sorted({*codes} - {pivot}), pivot] for part in re.split(r"\W", code)
    )
    values = {
        "name": f"WikipediaAudit{code_names}",
        "title": f"Wikipedia titles and sentences: {language_names}",
        "description": (
            f"Titles, and sentences about one Wikidata item, of the Wikipedias in {language_names}, matched by links "
            "without annotators."
        ),
        "revision": digest.hexdigest()[:40],
        "languages": {subset["name"]: subset["languages"] for subset in subsets},
        "subsets": subsets,
        "codes": [Language(code).bcp_47 for code in codes],
        "pivot": Language(pivot).english_name,
        "licences": licences,
        # The newest: earlier versions of the licence allow it for adapted texts.
        "mteb_licence": _MTEB_LICENCES.get(licences[-1], licences[-1]),
        "dumps": [
            {"language": dump["language"], "file": Path(dump["path"]).name, "date": dump["dump_date"]}
            for dump in dumps
            if dump["language"] in codes
        ],
    }
    for template, file in (("mteb_card.md.j2", "README.md"), ("mteb_task.py.j2", "mteb_task.py")):
        source = files(__package__).joinpath(template).read_text(encoding="utf-8")
        text = Template(source, trim_blocks=True, undefined=StrictUndefined).render(values)
        (folder / file).write_text(f"{text}\n", encoding="utf-8")


def _pair_sides(rows: DataFrame) -> DataFrame:
    """Return a row a pair: sentence1, sentence2, entity, page_id1, page_id2 and the languages."""
    left, right = (rows[rows.side == side].set_index("pair_id").sort_index() for side in (LEFT, RIGHT))
    pairs = {
        "sentence1": left.text,
        "sentence2": right.text,
        "entity": left.entity,
        "page_id1": left.page_id,
        "page_id2": right.page_id,
        "language1": left.language,
        "language2": right.language,
    }
    return pd.DataFrame(pairs)


def _code_with_script(language: str, texts: Sequence[str]) -> str:
    """Return MTEB's name of a language, such as `csb-Latn`: ISO 639-3 and ISO 15924."""
    import icu

    locale = Language(language).locale
    locale.addLikelySubtags()
    script = locale.getScript()
    if not script:
        # CLDR does not know every language of Wikipedia.
        letters = (letter for text in texts for letter in text if letter.isalpha())
        scripts = Counter(icu.Script.getScript(letter).getShortName() for letter in letters)
        script = scripts.most_common(1)[0][0]
    return f"{Language(language).iso_639_3}-{script}"
