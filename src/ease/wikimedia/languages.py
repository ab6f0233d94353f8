"""Language codes of Wikipedia editions."""

from __future__ import annotations

import re
from collections.abc import Sequence

import icu

from ease.errors import EaseError
from ease.io.suggestions import nearest

PAPER_LANGUAGES: tuple[str, ...] = (
    *("ar", "ca", "cs", "de", "en", "eo", "es", "fa", "fr"),
    *("it", "ja", "ko", "nl", "pl", "pt", "ru", "sv", "tr"),
)
"""The 18 languages of EASE's multilingual setting (section 5.1)."""

WIKIPEDIA_LANGUAGES: frozenset[str] = frozenset(
    """
aa ab ace ady af ak als alt am ami an ang ann anp ar arc ary arz as ast atj av avk awa ay az azb
ba ban bar bat-smg bbc bcl bdr be be-tarask be-x-old bew bg bh bi bjn blk bm bn bo bol bpy br bs
btm bug bxr ca cbk-zam cdo ce ceb ch cho chr chy ckb co cr crh cs csb cu cv cy da dag de dga din
diq dsb dtp dty dv dz ee el eml en eo es et eu ext fa fat ff fi fiu-vro fj fo fon fr frp frr fur
fy ga gag gan gcr gd gl glk gn gom gor got gpe gsw gu guc gur guw gv ha hak haw he hi hif ho hr
hsb ht hu hy hyw hz ia iba id ie ig igl ii ik ilo inh io is isv it iu ja jam jbo jv ka kaa kab
kai kaj kbd kbp kcg kg kge ki kj kk kl km kn knc ko koi kr krc ks ksh ku kus kv kw ky la lad lb
lbe lez lfn lg li lij lld lmo ln lo lrc lt ltg lv lzh mad mag mai map-bms mdf mg mh mhr mi min mk
ml mn mni mnw mo mos mr mrj ms mt mus mwl my myv mzn na nah nan nap nds nds-nl ne new ng nia nl
nn no nov nqo nr nrm nso nup nv ny oc olo om or os pa pag pam pap pcd pcm pdc pfl pi pih pl pms
pnb pnt ppl ps pt pwn qu rki rm rmy rn ro roa-rup roa-tara rsk ru ru-sib rue rup rw sa sah sat sc
scn sco sd se sg sgs sh shi shn shy si simple sk skr sl sm smn sn so sq sr srn ss st stq su sv sw
syl szl szy ta tay tcy tdd te tet tg th ti tig tk tl tlh tly tn to tok tokipona tpi tr trv ts
tt tum tw ty tyv udm ug uk ur uz ve vec vep vi vls vo vro wa war wo wuu xal xh xmf yi yo yue za
zea zgh zh zh-classical zh-min-nan zh-yue zu
""".split()
)
"""Codes of Wikipedia editions that exist or existed, as of 2026: so a dump's name and an interlanguage link begin.

A dump's name has `_` for `-`. A newer edition's code is missing here, which find_dumps does not mind.
"""

OLDER_CODES = {
    "be-tarask": "be-x-old",
    "egl": "eml",
    "gsw": "als",
    "lzh": "zh-classical",
    "nan": "zh-min-nan",
    "nb": "no",
    "rup": "roa-rup",
    "sgs": "bat-smg",
    "vro": "fiu-vro",
    "yue": "zh-yue",
}
"""Language codes that MediaWiki came to use, and the older codes of the same wikis."""

_CODE = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")


_TATOEBA = {"et": "est", "fa": "pes", "lv": "lvs", "ms": "zsm", "no": "nob", "zh": "cmn"}
"""The single languages that Tatoeba means where ISO 639-3 has a group of them."""


def three_letter_code(language: str) -> str:
    """The ISO 639-3 code of a language, as Tatoeba's files have it: `br` -> `bre`."""
    return _TATOEBA.get(language) or icu.Locale(language).getISO3Language() or language


def database_code(language: str) -> str:
    """The code by which a wiki's database, its dumps and Wikidata's sitelinks name it, with `_` for `-`."""
    return OLDER_CODES.get(language, language)


def check_languages(languages: Sequence[str]) -> None:
    """Refuse an empty, repeated or unknown choice of languages.

    Raises:
        EaseError: Naming the code and the nearest known ones.
    """
    check_codes(languages)
    for language in languages:
        if language not in WIKIPEDIA_LANGUAGES:
            raise EaseError(f"Unknown language {language!r} in `languages`: {_hint(language)}")


def check_codes(languages: Sequence[str]) -> None:
    """Refuse an empty or repeated choice, and what cannot be a code; new Wikipedias may not be known here.

    Raises:
        EaseError: Naming the code and the nearest known ones.
    """
    if not languages:
        raise EaseError("No language is given: set `languages` to Wikipedia codes such as en, ja, pt.")
    for language in languages:
        if not _CODE.fullmatch(language):
            raise EaseError(
                f"Unknown language {language!r} in `languages`: a code has lower-case letters, digits and "
                f"hyphens; {_hint(language)}"
            )
    repeated = sorted({language for language in languages if languages.count(language) > 1})
    if repeated:
        raise EaseError(f"`languages` names {', '.join(repeated)} more than once: name each language once.")


def _hint(language: str) -> str:
    near = nearest(language, WIKIPEDIA_LANGUAGES)
    return f"did you mean {' or '.join(near)}?" if near else "use a code such as en, ja, pt."
