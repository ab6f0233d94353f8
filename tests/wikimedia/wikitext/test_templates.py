"""Templates that write words, with their text written by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from ease.wikimedia.wikitext.parser import parse_wikitext
from ease.wikimedia.wikitext.titles import SiteInfo
from tests.wikimedia.wikitext.lost_templates import measure

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


NUMBERS = [
    (
        "sv",
        "−{{formatnum:10}}, {{formatnum:-10}}&nbsp;°C, {{formatnum: −1234.50 }}",
        "−10, −10 °C, −1 234,50",
    ),
    (
        "de",
        "{{formatnum:-1234.5}} {{formatnum:1.234.567}} {{formatnum:1234|NOSEP}}",
        "−1.234,5 1.234.567 1234",
    ),
    (
        "en",
        "{{formatnum:-1,234.50}} {{formatnum:.5}} {{formatnum:1,75}} {{formatnum:n}}",
        "−1,234.50 0.5 1,75 n",
    ),
    ("es", "{{formatnum:2000}} {{formatnum|20000,5}} {{convertir|-1,75|m}}", "2000 20.000,5 −1,75 metros"),
    ("hi", "{{formatnum:1234567}} {{formatnum:-2000}}", "12,34,567 −2,000"),
    ("fr", "{{unité|1,75|m}} {{unité|2000|m}} {{unité|2 000|m}}", "1,75 mètre 2 000 mètres 2 000 mètres"),
    ("fr", "{{unité|1.5|km}} {{unité|-1|°C}} {{unité|0|m}}", "1,5 kilomètre −1 degré Celsius 0 mètre"),
    ("fr", "{{unité|30 km}}, {{unité|XX|siècles}}, {{unité|100}}", "30 km, XX siècles, 100"),
    ("fr", "{{nombre|2500|habitants}}, {{nombre|2500}}", "2 500 habitants, 2 500"),
    (
        "fr",
        "{{unité|5|m|2}}, {{unité|10|km||h|-1}}, {{unité|1,5|e=6|m}}",
        "5 mètres carrés, 10 km h−1, 1,5×10^6 mètres",
    ),
    ("fr", "{{unité|1|à=2|km}}, {{unité|10|±=0,5|m}}", "1 à 2 kilomètres, 10 ± 0,5 mètres"),
    ("fr", "{{unité|1.23 ±0.05 e5 m/s}}", "(1,23 ± 0,05)×10^5 m/s"),
    ("fr", "{{date|3|mars|1996}}, {{date|01|1|2000|en sport}}", "3 mars 1996, 1er janvier 2000"),
    ("fr", "{{date||mars|1996}}, {{date-|3 mars 1996}}", "mars 1996, 3 mars 1996"),
    ("fr", "{{date|lundi|15|mars|-44}}", "lundi 15 mars 44 av. J.-C."),
    ("en", "{{val|879.6|0.8|u=s}}, {{val|-5|ul=°C}}, {{val|9|up=s|u=m}}", "879.6±0.8 s, −5 °C, 9 m/s"),
    ("en", "{{val|6.67|0.02|e=-11}}, {{val|1.2|+0.5|-0.3}}", "(6.67±0.02)×10^−11, 1.2+0.5−0.3"),
    ("en", "{{val|1.234|(5)|e=3}}, {{val|1|-|5|u=kg}}, {{val|e=9}}", "1.234(5)×10^3, 1–5 kg, 10^9"),
    ("en", "{{convert|−1,234.5|mi}}, {{convert|&minus;5|°C}}", "−1,234.5 miles, −5 degrees Celsius"),
    (
        "en",
        "{{convert|1/2|mi}}, {{convert|5+1/2|in}}, {{convert|.5|mi}}",
        "1⁄2 mile, 5 1⁄2 inches, 0.5 miles",
    ),
    ("en", "{{convert|10-20|km}}, {{convert|10|±|1|km}}", "10–20 kilometres, 10 ± 1 kilometres"),
    (
        "en",
        "{{convert|6|ft|4.5|in}}, {{convert|11|MUSgal|sp=us}}",
        "6 feet 4.5 inches, 11 million US gallons",
    ),
    ("en", "{{convert|4.5e6|km2}}, {{convert|~5|km}}", "4.5×10^6 square kilometres, ~5 km"),
    ("en", "{{e|-5}}, {{frac|-1|2}}, {{currency|-1500|USD}}", "×10^−5, −1⁄2, −US$1,500"),
    ("pt", "{{fmtn|-90000,5}}, {{fmtn|90000|km}}", "−90.000,5, 90.000 km"),
    ("it", "{{M|-5||°C}}, {{M|21.088}}, {{M|5|u=km}}, {{Exp|7,7|-15}}", "−5 °C, 21.088, 5 km, 7,7×10^−15"),
    ("ja", "{{convert|-1.75|km}}", "−1.75 キロメートル"),
    ("zh", "{{lang|ja|-{A|zh-hans:甲-{x}-;zh-hant:乙}-}} {{nowrap|[[テ|-{テ}-]]}}", "甲x テ"),
    ("zh", "{{lang|ja|-{テ}-}} {{nowrap|{{lang|ja|-{A|zh-hans:甲;zh-hant:乙}-}} x}}", "テ 甲 x"),
    ("zh", "{{convert|5|km}}, {{convert|30|°C}}", "5 km, 30摄氏度"),
    ("en", "{{nowrap|{{formatnum:-12345}} km}}, {{nowrap|{{lang-fr|mot}} x}}", "−12,345 km, French: mot x"),
    ("fr", "{{unité|{{formatnum:12345}}|km}}", "12 345 kilomètres"),
    (
        "en",
        "{{small|{{nowrap|{{convert|5|km}}}}}} c {{big|{{small|{{nowrap|{{lang-fr|a}}}}}}}}",
        "5 kilometres c French: a",
    ),
    ("en", "{{convert|3|to about|6|ft}}, {{convert|3|and(-)|6|ft}}", "3 to about 6 feet, 3 and 6 feet"),
    (
        "en",
        "{{convert|3|,|6|ft}}; {{convert|3|, or|6|ft}}; {{convert|3|+|6|ft}}",
        "3, 6 feet; 3, or 6 feet; 3 + 6 feet",
    ),
    ("en", "{{convert|3|&ndash;|6|ft}}, {{convert|1|,|2|, and|3|km}}", "3–6 feet, 1, 2, and 3 kilometres"),
    ("en", "{{nowrap|[[a|x[1]]]}}, {{nowrap|[[a|x [1] y]]}}", "x[1], x [1] y"),
    ("en", "{{currency|-13 billion|USD}}", "−US$13 billion"),
    ("it", "{{M|5|e=3|u=m}}, {{M|5|u=m|up=s}}, {{M|5,2|0,1|u=kg}}", "5×10^3 m, 5 m/s, 5,2±0,1 kg"),
    ("it", "{{M|1234567|u=m}}, {{M|5|k|u=m}}, {{M|5|k|m|e=3}}", "1.234.567 m, 5 km, 5×10^3 km"),
    ("fr", "{{unité|10|à|20|km}}, {{unité|10|à|20|km||h|-1}}", "10 à 20 kilomètres, 10 à 20 km h−1"),
    ("en", "{{lang|2=mot|1=fr}}, {{convert|2=km|1=5}}, {{lang|fr|3=x}}", "mot, 5 kilometres,"),
    (
        "en",
        "{{val|123|u=degC}}, {{val|5e5|u=m}}, {{val|20|u=%}}, {{val|-2|u=deg}}",
        "123 °C, 5×10^5 m, 20%, −2°",
    ),
    ("en", "{{val|1.2(3)e-5|up=us}}, {{val|5e5|fmt=commas}}", "1.2(3)×10^−5 /μs, 5×10^5"),
    (
        "en",
        "{{as of|2010|4|3|df=US}}, {{as of|2010|since=y}}, {{as of|2010|bare=y}}",
        "As of April 3, 2010, Since 2010, 2010",
    ),
    ("en", "{{as of|2010|since=y|lc=y}}, {{as of|2010|4|df=US}}", "since 2010, As of April 2010"),
    ("en", "{{lang-fr|mot|label=none}}, {{langx|fr|mot|label=none}}", "mot, mot"),
    ("en", "{{lang-fr|* mot|label=none}}", "* mot"),
    (
        "en",
        "{{convert|1234|m|comma=off}}, {{convert|1200|,|1300|m|comma=off}}",
        "1234 metres, 1200, 1300 metres",
    ),
    ("hu", "{{számformázás:12345}} {{SZÁMFORM:12345}} {{formázottszám:1234,5|R}}", "12 345 12 345 1234.5"),
    ("nl", "{{formatteernum:12345}} {{nowrap|{{numformatteren:12345}} m}}", "12.345 12.345 m"),
    ("ru", "{{ФОРМАТИРОВАТЬ_ЧИСЛО:12345}}", "12 345"),
    (
        "en",
        "{{formatnum:1,234.5|R}} {{formatnum:1e6}} {{formatnum:-1.5E3}} {{formatnum:1e-3}}",
        "1234.5 1,000,000 −1,500 0.001",
    ),
    ("en", "{{nowrap|[[b|{{x}} I}}}]] x}} {{math|{y}z}} {{lang|fr|a ]] b}}", "I}}} x {y}z a b"),
]


@pytest.mark.parametrize(
    ("language", "source", "text"), [*(("en", *case) for case in ENGLISH), *OTHERS, *NUMBERS]
)
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
