"""Templates that write words, with their text written by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.lost_templates import measure
from ease.wikimedia.wikitext.parser import parse_wikitext
from ease.wikimedia.wikitext.titles import SiteInfo

ENGLISH = [
    ("about {{convert|1300|mi|km}} away", "about 1,300 miles away"),
    ("between {{convert|5|-|10|km}}", "between 5–10 kilometres"),
    ("a room of {{convert|30|by|40|m|ft}}", "a room of 30 by 40 metres"),
    ("{{cvt|1|ft}} high", "1 foot high"),
    ("{{Convert|2.5|km2|sqmi|abbr=on}} large", "2.5 square kilometres large"),
    ("the word {{lang|grc|ἀναρχία}} means", "the word ἀναρχία means"),
    ("({{lang-sq|Shqipëri}})", "(Albanian: Shqipëri)"),
    ("({{lang-fr|''mot''}}) is", "(French: mot) is"),
    ("({{transl|ar|al-Jazā'ir}})", "(al-Jazā'ir)"),
    ("{{as of|2014|lc=y}}, it", "as of 2014, it"),
    ("{{As of|2014|3|5}} it", "As of 5 March 2014 it"),
    ("{{as of|2014|alt=since 2014}} it", "since 2014 it"),
    ("{{chem|H|2|O}} is water", "H2O is water"),
    ("by {{nowrap|[[Pope Clement IV|Clement]]}} in", "by Clement in"),
    ("a {{Nihongo|[[bayonet]]|銃剣|jūken}} was", "a bayonet (銃剣, jūken) was"),
    ("charge of {{val|6.241|e=18|u=C}} each", "charge of 6.241×10^18 C each"),
    ("this{{snd}}that", "this – that"),
    ("Smith{{'}}s house", "Smith's house"),
    ("The ''Times''{{'s}} report", "The Times's report"),
    ("{{abbr|c.|circa}} 1900", "c. 1900"),
    ("{{circa|1900}} it", "c. 1900 it"),
    ("{{frac|3|1|2}} days", "3 1⁄2 days"),
    ("{{formatnum:5000}} people", "5,000 people"),
    ("{{nowrap|{{flagicon|US}} text {{lang|fr|mot}}}} end", "text mot end"),
    ("{{convert|7|furlong|km}} away", "7 furlong away"),
    ("It rained.{{citation needed|date=May 2015}} It snowed.", "It rained. It snowed."),
    ("Berlin ({{IPAc-en|b|ə}}; {{lang-de|Berlin}}) is", "Berlin (German: Berlin) is"),
    ("a {{convert|10|in|mm|adj=on}} wheel", "a 10-inch wheel"),
    ("a {{convert|204|m|ft|adj=mid|sp=us|-high}} floor", "a 204-meter-high floor"),
    ("at {{convert|6|ft|4|in|cm|0}}, he", "at 6 feet 4 inches, he"),
    ("below {{convert|-60|°F}} it", "below −60 degrees Fahrenheit it"),
    ("{{convert|101|e6acre|e6ha}} of", "101 million acres of"),
    ("{{convert|1.4|Moilbbl/d}} and", "1.4 million barrels per day and"),
    ("by {{convert|70.0|mi|km}} it", "by 70.0 miles it"),
    ("the letter {{angbr|a}} is", "the letter ⟨a⟩ is"),
    ("({{lang-ar|{{big|الأول}}}})", "(Arabic: الأول)"),
    ("at {{ill|de|Ernestinum|Gymnasium}} in", "at Gymnasium in"),
    ("at {{ill|Gymnasium|de|Ernestinum}} in", "at Gymnasium in"),
    ("{{currency|13 billion|USD}} in", "US$13 billion in"),
    ("{{As of|2020|post=,}} it", "As of 2020, it"),
    (f"{{{{convert|{'9' * 60}|km}}}} is", f"{'9' * 60} km is"),
    (f"{{{{formatnum:{'9' * 60}.0}}}} is", f"{'9' * 60}.0 is"),
    ("{{lang|fr}} is", "is"),
    ("{{convert}} is", "is"),
    ("{{lang|fr|a=b}} is", "is"),
    ("{{lang|fr|2=mot}} is", "mot is"),
    ("{{{lang|fr|mot}}} is", "is"),
    ("{{langs|fr|mot}} is", "is"),
    ("{{Infobox|name={{lang|fr|mot}}}}Berlin is", "Berlin is"),
    ("{{lang|fr|[[mot]] is", "{{lang|fr|mot is"),
]
OTHERS = [
    ("it", "a {{M|5||km}} da", "a 5 km da"),
    ("it", "a {{M|1|M|Hz}} o", "a 1 MHz o"),
    ("it", "sono {{formatnum:20000}} abitanti", "sono 20.000 abitanti"),
    ("it", "a 45 {{m s.l.m.}} e", "a 45 m s.l.m. e"),
    ("it", "{{Citazione necessaria|È vero}} che", "È vero che"),
    ("it", "con {{nihongo|''utsushie''|写し絵}} si", "con utsushie (写し絵) si"),
    ("it", "di {{Exp|7,7|15}} anni", "di 7,7×10^15 anni"),
    ("it", "sopra {{M|700|-|°C}} si", "sopra 700 °C si"),
    ("es", "unos 45{{esd}}km", "unos 45 km"),
    ("ko", "베를린({{llang|de|Berlin}})", "베를린(독일어: Berlin)"),
    ("pt", "os {{fmtn|90000}} habitantes", "os 90.000 habitantes"),
    ("pt", "no {{séc|XIX}} a", "no século XIX a"),
    ("fr", "le mot {{langue|en|word}} est", "le mot word est"),
    ("fr", "à {{unité|5|km}} de", "à 5 kilomètres de"),
    ("de", "{{lang|la|verbum}} ist", "verbum ist"),
]


@pytest.mark.parametrize(("language", "source", "text"), [*(("en", *case) for case in ENGLISH), *OTHERS])
def test_templates_that_write_words(language: str, source: str, text: str) -> None:
    assert parse_wikitext(source, SiteInfo(language)).text == text


def test_templates_of_more_than_2000_characters_are_removed() -> None:
    shown, removed = (f"a {{{{lang|fr|{'x' * count}}}}} b" for count in (1988, 1989))
    assert len(shown) - len("a  b") == 2000
    assert parse_wikitext(shown).text == f"a {'x' * 1988} b"
    assert parse_wikitext(removed).text == "a b"


def test_links_in_templates_keep_their_offsets() -> None:
    article = parse_wikitext("It is {{nowrap|[[Lima|the city]]}} and {{nihongo|[[Oslo]]|オスロ}}.")
    assert article.text == "It is the city and Oslo (オスロ)."
    assert [(article.text[link.start : link.end], link.target) for link in article.links] == [
        ("the city", "Lima"),
        ("Oslo", "Oslo"),
    ]


def test_all_templates_can_be_removed() -> None:
    source = "It is {{convert|5|km}} to {{nowrap|[[Lima]]}}."
    assert parse_wikitext(source, show=False).text == "It is to."


@pytest.mark.parametrize(
    ("slice_name", "most"),
    [("enwiki-shortened-pages-articles.xml.bz2", 2), ("itwiki-2013-slice-pages-articles.xml.gz", 5)],
)
def test_few_lines_of_real_articles_lose_words(test_data: Path, slice_name: str, most: float) -> None:
    row, names = measure(test_data / "dumps" / "wikipedia" / slice_name)
    *_, before, after, _ = (cell.strip(" %") for cell in row.split("|"))
    assert float(after) < most
    assert float(after) < float(before)
    assert "citation needed" not in names
