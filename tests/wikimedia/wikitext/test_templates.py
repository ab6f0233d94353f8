"""Templates that write words, with their text written by hand, and on real articles."""

from __future__ import annotations

from pathlib import Path

import pytest

from ease.errors import EaseError
from ease.io.files import read_data_file
from ease.wikimedia.wikitext.parser import parse_wikitext
from ease.wikimedia.wikitext.titles import SiteInfo

DATA = Path(__file__).parent / "data"

ENGLISH = [
    ("{{as of|2014|alt=since 2014}} it", "since 2014 it"),
    ("{{chem|H|2|O}} is water", "H2O is water"),
    ("The ''Times''{{'s}} report", "The Times's report"),
    ("a {{convert|10|in|mm|adj=on}} wheel", "a 10-inch wheel"),
    ("a {{convert|204|m|ft|adj=mid|sp=us|-high}} floor", "a 204-meter-high floor"),
    ("{{convert|1.4|Moilbbl/d}} and", "1.4 million barrels per day and"),
    ("at {{ill|de|Ernestinum|Gymnasium}} in", "at Gymnasium in"),
    ("{{currency|13 billion|USD}} in", "US$13 billion in"),
    (f"{{{{convert|{'9' * 60}|km}}}} is", f"{'9' * 60} km is"),
    ("{{Infobox|name={{lang|fr|mot}}}}Berlin is", "Berlin is"),
    ("{{lang|fr|[[mot]] is", "{{lang|fr|mot is"),
    ("{{formatnum:-1,234.50}} {{formatnum:.5}} {{formatnum:1,75}} {{formatnum:n}}", "−1,234.50 0.5 1,75 n"),
    ("{{convert|6|ft|4.5|in}}, {{convert|11|MUSgal|sp=us}}", "6 feet 4.5 inches, 11 million US gallons"),
    ("{{small|{{nowrap|{{convert|5|km}}}}}} c {{big|{{small|{{nowrap|{{lang-fr|a}}}}}}}}", "5 kilometres c French: a"),
    ("{{convert|3|,|6|ft}}; {{convert|3|, or|6|ft}}; {{convert|3|+|6|ft}}", "3, 6 feet; 3, or 6 feet; 3 + 6 feet"),
    ("{{val|123|u=degC}}, {{val|5e5|u=m}}, {{val|20|u=%}}, {{val|-2|u=deg}}", "123 °C, 5×10^5 m, 20%, −2°"),
    ("{{as of|2010|5|3|df=US}}, {{as of|2010|since=y}}, {{as of|2010|bare=y}}", "As of May 3, 2010, Since 2010, 2010"),
    ("{{convert|1234|m|comma=off}}, {{convert|1200|,|1300|m|comma=off}}", "1234 metres, 1200, 1300 metres"),
    ("{{formatnum:1,234|R}} {{formatnum:1e6}} {{formatnum:-1.5E3}} {{formatnum:1e-3}}", "1234 1,000,000 −1,500 0.001"),
]
OTHERS = [
    (
        "uk",
        "Наука (від {{lang-grc|παλαιός}}&nbsp;— древній; {{lang-en|a|label=b}}, {{lang-vi|x}})",
        "Наука (від давньогрецька: παλαιός — древній; b: a, вʼєтнамська: x)",
    ),
    ("en", "{{Script|Copt|Ⲁ}}, {{script/hebrew|ש}}; {{code|a b}}, {{code|lang=html|code=c}}", "Ⲁ, ש; a b, c"),
    ("en", "The sounds {{IPA|/a/}}, {{IPA|/e/}} and [[Schwa|{{IPA|ə}}]] are.", "The sounds /a/, /e/ and ə are."),
    ("en", "Lima ({{IPA|ˈlima}}; [[Latin]]: {{IPA|ˈliːma}}) is, {{IPA|ˈlima}}, so.", "Lima (Latin) is, so."),
    (
        "es",
        "En alemán ''Bär'', pronunciado {{IPA|[ber]}}, significa oso.",
        "En alemán Bär, pronunciado [ber], significa oso.",
    ),
    ("hy", "որտեղ ({{lang|es|che}}, {{IPA|/t͡ʃ/}} հնչյունից)", "որտեղ (che, /t͡ʃ/ հնչյունից)"),
    (
        "ru",
        "Он умер {{СС2|16|мая|1896|4}}, {{OldStyleDate|7|мая|1755 год|26|апреля}}а",
        "Он умер 4 (16) мая 1896, 26 апреля (7 мая) 1755 года",
    ),
    (
        "ru",
        "{{СС|2|ноября|1721|22 октября}}, {{СС2|6|января|1800|25|декабря|1799}}",
        "22 октября (2 ноября) 1721, 25 декабря 1799 (6 января) 1800",
    ),
    (
        "ru",
        "{{СС3|4.4.1765}}, {{сс3|22.10.1721}}, {{сс3|25.12.1799}}",
        "4 (15) апреля 1765, 22 октября (2 ноября) 1721, 25 декабря 1799 (5 января 1800)",
    ),
    ("ru", "был {{СС3|1765}} и {{СС3|4.13.1765}} и {{СС2|16|мая}}{{СС3|31.12.9999}}.", "был и и."),
    (
        "en",
        "Rand ({{OldStyleDate|February 2|1905|January 20}}), {{OldStyleDateDY|22 January|1788|11 January 1787}}",
        "Rand (February 2 [O.S. January 20] 1905), 22 January 1788 [O.S. 11 January 1787]",
    ),
    ("fr", "Paris, 1912 ({{3e}} éd. ; {{21es}} jeux)", "Paris, 1912 (3e éd. ; 21es jeux)"),
    ("uk", "Мороз ({{нар}} 1944, {{пом}} 1961)", "Мороз (нар. 1944, пом. 1961)"),
    ("mr", "उत्पन्न {{रुपया}}९,१९,६०० कोटी", "उत्पन्न ₹९,१९,६०० कोटी"),
    ("ko", "베를린({{llang|de|Berlin}})", "베를린(독일어: Berlin)"),
    ("ru", "Дом ({{lang-en|Blue House}}; {{lang-de2|Haus}}) там.", "Дом (английский: Blue House; Haus) там."),
    ("fa", "خانه {{به انگلیسی|Blue House}} است{{به عربی}}.", "خانه (به انگلیسی: Blue House) است."),
    ("fa", "خانه {{آلمانی|Haus}} است", "خانه (به آلمانی: Haus) است"),
    (
        "ar",
        "نهر {{ألمانية|Blaufluss}} هنا {{إنج|Blue}}{{فرنسية}}",
        "نهر (بالألمانية: Blaufluss) هنا (بالإنجليزية: Blue)",
    ),
    (
        "fr",
        "{{Ier}}, {{XIV}} et {{IIe}} à {{heure|8|30}}, {{heure|19}}, {{heure|2|55|9}}",
        "Ier, XIV et IIe à 8 h 30, 19 h, 2 h 55 min 9 s",
    ),
    ("de", "liegt mit ({{Höhe|28.1|DE-NHN}}) am See", "liegt mit (28,1 m über NHN) am See"),
    (
        "fr",
        "{{date-|1 janvier 1995}}, {{date|29/9/2019}}, {{date|1er|mai|537}}",
        "1er janvier 1995, 29 septembre 2019, 1er mai 537",
    ),
    ("fr", "routes (''{{langue|de|texte=Bundesstraßen}}'') à {{euro|77.80}}", "routes (Bundesstraßen) à 77,80 €"),
    ("hu", "legalább {{szám|180000}} fő", "legalább 180 000 fő"),
    ("la", "Editio {{Ling|Theodisce}} et {{Ling|Latine}}", "Editio (Theodisce) et (Latine)"),
    ("sk", "je {{mnm|34|w}} a {{km|70|m}} západne", "je 34 m n. m. a 70 km západne"),
]
NUMBERS = [
    ("sv", "−{{formatnum:10}}, {{formatnum:-10}}, {{formatnum: −1234.50 }}", "−10, −10, −1 234,50"),
    ("de", "{{formatnum:1.234.567}} {{formatnum:1234|NOSEP}}", "1.234.567 1234"),
    ("es", "{{formatnum:2000}} {{formatnum|20000,5}} {{convertir|-1,75|m}}", "2000 20.000,5 −1,75 metros"),
    ("hi", "{{formatnum:1234567}} {{formatnum:-2000}}", "12,34,567 −2,000"),
    ("fr", "{{unité|1,75|m}} {{unité|2000|m}} {{unité|2 000|m}}", "1,75 mètre 2 000 mètres 2 000 mètres"),
    ("fr", "{{unité|30 km}}, {{unité|XX|siècles}}, {{unité|100}}", "30 km, XX siècles, 100"),
    ("fr", "{{unité|5|m|2}}, {{unité|1,5|e=6|m}}", "5 mètres carrés, 1,5×10^6 mètres"),
    ("fr", "{{unité|1.23 ±0.05 e5 m/s}}", "(1,23 ± 0,05)×10^5 m/s"),
    ("fr", "{{date|3|mars|1996}}, {{date|01|1|2000|en sport}}", "3 mars 1996, 1er janvier 2000"),
    ("fr", "{{date|lundi|15|mars|-44}}", "lundi 15 mars 44 av. J.-C."),
    ("en", "{{val|879.6|0.8|u=s}}, {{val|-5|ul=°C}}, {{val|9|up=s|u=m}}", "879.6±0.8 s, −5 °C, 9 m/s"),
    ("en", "{{val|1.234|(5)|e=3}}, {{val|1|-|5|u=kg}}, {{val|e=9}}", "1.234(5)×10^3, 1–5 kg, 10^9"),
    ("en", "{{convert|−1,234.5|mi}}, {{convert|&minus;5|°C}}", "−1,234.5 miles, −5 degrees Celsius"),
    ("en", "{{e|-5}}, {{frac|-1|2}}, {{currency|-1500|USD}}", "×10^−5, −1⁄2, −US$1,500"),
    ("zh", "{{lang|ja|-{A|zh-hans:甲-{x}-;zh-hant:乙}-}} {{nowrap|[[テ|-{テ}-]]}}", "甲x テ"),
    ("en", "{{nowrap|[[a|x[1]]]}}, {{nowrap|[[a|x [1] y]]}}", "x[1], x [1] y"),
    ("it", "{{M|5|e=3|u=m}}, {{M|5|u=m|up=s}}, {{M|5,2|0,1|u=kg}}", "5×10^3 m, 5 m/s, 5,2±0,1 kg"),
    ("fr", "{{unité|10|à|20|km}}, {{unité|10|à|20|km||h|-1}}", "10 à 20 kilomètres, 10 à 20 km h−1"),
    ("en", "{{lang|2=mot|1=fr}}, {{convert|2=km|1=5}}, {{lang|fr|3=x}}", "mot, 5 kilometres,"),
    ("en", "{{val|1.2(3)e-5|up=us}}, {{val|5e5|fmt=commas}}", "1.2(3)×10^−5 /μs, 5×10^5"),
    ("en", "{{lang-fr|mot|label=none}}, {{langx|fr|mot|label=none}}", "mot, mot"),
    ("hu", "{{számformázás:12345}} {{SZÁMFORM:12345}} {{formázottszám:1234,5|R}}", "12 345 12 345 1234.5"),
    ("en", "{{nowrap|[[b|{{x}} I}}}]] x}} {{math|{y}z}} {{lang|fr|a ]] b}}", "I}}} x {y}z a b"),
]


# Listed templates of many wikis, as their documentation describes them.
LISTED = [
    (
        "fr",
        "né le {{date de naissance-|17|octobre|1973}}, mort au {{s-|XXI|e}}",
        "né le 17 octobre 1973, mort au XXIe siècle",
    ),
    ("fr", "aux {{sp-|XVIII|e|et|XIX|e}}, {{-s-|V|e}}", "aux XVIIIe et XIXe siècles, Ve siècle av. J.-C."),
    ("fr", "avec {{Lien|langue=en|trad=Blue House|fr=Maison bleue|texte=la maison}}", "avec la maison"),
    ("ja", "彼は{{仮リンク|青い家|en|Blue House}}に住む", "彼は青い家に住む"),
    ("ja", "{{仮リンク|青い家 (京都)|en|Blue House|label=青い家}}に住む", "青い家に住む"),
    ("ja", "{{読み仮名|'''青木 花子'''|あおき はなこ}}は[[作家]]である。", "青木 花子（あおき はなこ）は作家である。"),
    ("zh", "他住在{{link-en|蓝房子|Blue House}}，是{{tsl|en|Poet|诗人}}", "他住在蓝房子，是诗人"),
    ("zh", "{{le|蓝房子|Blue House|那房子}}和{{link-ja|青|青い}}和{{internal link helper/en|甲|A}}", "那房子和青和甲"),
    ("ru", "Площадь {{s|20 км²}}, в {{нп5|Синий дом|Синем доме|en|Blue House}}", "Площадь 20 км², в Синем доме"),
    ("ru", "в {{iw|Дом||en|House}} и {{не переведено|Сад}}", "в Дом и Сад"),
    ("uk", "у {{нп|Синій дім|Синьому домі|en|Blue House}}", "у Синьому домі"),
    ("ar", "يعيش في {{وإو|بيت أزرق|Blue House}} هنا", "يعيش في بيت أزرق هنا"),
    ("de", 'Er schrieb: {{"|Das ist ein [[Satz]] von mir.}} Dann', "Er schrieb: „Das ist ein Satz von mir.“ Dann"),
    ("it", "di {{TA|3 743 km²}} e", "di 3 743 km² e"),
    ("ca", "des del {{segle|XIII|s}}", "des del segle XIII"),
    ("eo", "La {{daton|18|januaro|1791}} li", "La 18-an de januaro 1791 li"),
    ("es", "el {{fecha|17|10|1973}} en el {{siglo|XX||s}}", "el 17 de octubre de 1973 en el siglo XX"),
    ("en", "{{HMS|Victory}}, {{ship|SS|Tirpitz}}, {{USS|Ohio|BB-12|6}}", "HMS Victory, SS Tirpitz, Ohio"),
    ("en", "{{sclass|Nimitz|carrier}}, {{native name|nap|Abbrùzze}}", "Nimitz-class carrier, Abbrùzze (Neapolitan)"),
    ("en", "{{start date|1999|5|12}}, {{birth date|1999|5|12|df=y}}", "May 12, 1999, 12 May 1999"),
    ("en", "{{w|Jo Example|Mr Example}} and {{w|Lima}}", "Mr Example and Lima"),
    ("en", "{{1/2}} of {{flag|Peru}}, {{IAST|ā}}, {{AUD|5}}, {{fl.|1500}}", "1⁄2 of Peru, ā, A$5, fl. 1500"),
    (
        "fr",
        "au {{XXe siècle}} {{av JC}}, le {{1er}} {{pays|Japon}}, {{n°|5}}",
        "au XXe siècle av. J.-C., le 1er Japon, no 5",
    ),
    ("fr", "{{citation|mot}} de {{Souverain2|Louis XIV}}", "« mot » de Louis XIV"),
    ("ru", "родился {{ДР|17|10|1973}}, {{Флагификация|Перу}}", "родился 17 октября 1973, Перу"),
    ("ja", "{{仮リンク|青い家 (京都)|en|Blue House|青い家}}と{{fontsize|80%|字}}と{{0}}5", "青い家と字と5"),
    ("zh", "{{ilh/de|甲|A}}{{link-nl|乙|B|丙}}", "甲丙"),
    ("ar", "في {{وإو|تر=Blue House|عر=بيت أزرق}} و{{وإو|تر=A|عر=ب|نص=ج}}", "في بيت أزرق وج"),
    ("he", "ב{{קישור שפה|אנגלית|Blue House|הבית הכחול}} גר", "בהבית הכחול גר"),
    ("de", "Der Mensch ({{laS|homo}}) ist", "Der Mensch (Latein: homo) ist"),
    ("fi", "Ihminen ({{k-la|homo}}) on", "Ihminen (latina: homo) on"),
    ("pl", "Człowiek ({{łac.|homo}}) jest", "Człowiek (łac. homo) jest"),
    ("pt", "no {{séc|XX}} {{a.C.}}, {{dtlink|17|10|1973}}", "no século XX a.C., 17 de outubro de 1973"),
    ("no", "født {{dato|17|10|1973}} i {{språkvariantlenke|en|Blue House|hus}}", "født 17. oktober 1973 i hus"),
    ("cs", "dne {{datum|17|10|1973}}", "dne 17. října 1973"),
    ("ko", "{{llang|en|Lima}}에 {{임시링크|푸른 집|en|Blue House}}", "영어: Lima에 푸른 집"),
    ("ko", "{{PER}}과 {{DEU}}", "페루과 독일"),
    (
        "en",
        "at {{URL|example.org}} or {{URL|example.org|the site}}, {{ISBN|1-2}}",
        "at example.org or the site, ISBN 1-2",
    ),
    ("en", "* {{hlist|one|two}} and {{CO2}}, {{IETF RFC|3986}}", "one · two and CO2, RFC 3986"),
    ("en", "''Columbia'' and ''Eagle''{{'}}s and ''Eagle''{{'s}} side", "Columbia and Eagle's and Eagle's side"),
    (
        "en",
        "B{{music|flat}} of {{convert|160|Tcuft}}, {{flag|PER}}, {{flag|UN}}",
        "B♭ of 160 trillion cubic feet, Peru, United Nations",
    ),
    ("ja", "彼は{{ilq|はい}}と言う", "彼は「はい」と言う"),
    ("en", "{{flag|Congo|name=DR Congo}}, {{YouTube|x|The song}}, CAS {{CAS|1-2}}", "DR Congo, The song, CAS 1-2"),
    (
        "vi",
        "Lào (tiếng Lào: {{lang|lo|ລາວ}}, {{IPA-lo|láːw}}, ''Lao''), {{sfn|A}}{{sfn|B}}, b",
        "Lào (tiếng Lào: ລາວ, Lao), b",
    ),
    ("it", "* {{bandiera|Norvegia|nome}}: le isole; {{bandiera|Cuba}} Cuba", "Norvegia: le isole; Cuba"),
    ("ja", "{{要出典|範囲=これは文|date=2021年2月}}である。", "これは文である。"),
    ("ja", "* {{Official website|name=県ホームページ}}", "県ホームページ"),
    ("uk", "народився {{ДН2|18|1|1834|6}}, помер {{ДС|2|2|1907}}", "народився 18 січня 1834, помер 2 лютого 1907"),
    # The Olympic Games have other codes than ISO.
    ("it", "{{GER}} e {{SUI}}", "Germania e Svizzera"),
    ("tr", "1987: {{kardeş şehir|Paris|Fransa}}", "1987: Paris"),
    ("hy", "{{Նիհոնգո|Էդո|江戸}} է", "Էդո (江戸) է"),
    ("en", "{{lc:ABC}} {{ucfirst:abc}} {{Template:nowrap|a}}{{DEFAULTSORT:b}}", "abc Abc a"),
]


@pytest.mark.parametrize(("language", "source", "text"), LISTED)
def test_listed_templates(language: str, source: str, text: str) -> None:
    assert parse_wikitext(source, language).text == text


def test_a_callers_templates_come_first() -> None:
    templates = {"w": "argument: 2|1", "Foo_bar": "quantity", "tex": "text: LaTeX", "nowrap": "hidden"}
    source = "{{w|Jo}} {{w|Jo|Mr Jo}} {{foo bar|5|km}} {{tex}} a{{nowrap|b}}"
    assert parse_wikitext(source, "en", templates=templates).text == "Jo Mr Jo 5 kilometres LaTeX a"


def test_templates_of_another_type_are_refused() -> None:
    with pytest.raises(EaseError, match=r"`templates` .*: give .*Mapping\[str, str\]"):
        parse_wikitext("{{w|a}}", "en", templates="dump.xml")  # type: ignore[arg-type]


@pytest.mark.parametrize("specification", ["argumant: 1", "", "nothing"])
def test_an_unknown_specification_is_refused(specification: str) -> None:
    with pytest.raises(EaseError, match="Template 'w' has an unknown specification"):
        parse_wikitext("{{w|a}}", "en", templates={"w": specification})


@pytest.mark.parametrize(("language", "source", "text"), [*(("en", *case) for case in ENGLISH), *OTHERS, *NUMBERS])
def test_templates_that_write_words(language: str, source: str, text: str) -> None:
    assert parse_wikitext(source, SiteInfo(language)).text == text


def test_templates_of_more_than_2000_characters_are_removed() -> None:
    short, long = (f"a {{{{lang|fr|{'x' * count}}}}} b" for count in (1988, 1989))
    assert len(short) - len("a  b") == 2000
    assert parse_wikitext(short).text == f"a {'x' * 1988} b"
    assert parse_wikitext(long).text == "a b"


def test_links_in_templates_keep_their_offsets() -> None:
    article = parse_wikitext("It is {{nowrap|[[Lima|the city]]}} and {{nihongo|[[Oslo]]|オスロ}}.")
    assert article.text == "It is the city and Oslo (オスロ)."
    links = [(article.text[link.start : link.end], link.target) for link in article.links]
    assert links == [("the city", "Lima"), ("Oslo", "Oslo")]


def test_all_templates_can_be_removed() -> None:
    assert parse_wikitext("It is {{convert|5|km}} to {{nowrap|[[Lima]]}}.", show=False).text == "It is to."


@pytest.mark.parametrize("name", ["templates.yml", "template_items.yml", "link_trails.yml", "namespaces.yml"])
def test_no_word_of_the_lists_is_read_as_true_or_false(name: str) -> None:
    """YAML reads `no`, the code of Norwegian, and `on` as truth values."""
    values = [read_data_file("ease.wikimedia.wikitext", name)]
    for value in values:
        assert not isinstance(value, bool)
        if isinstance(value, dict):
            values += [*value, *value.values()]
        elif isinstance(value, list):
            values += value


def test_at_least_98_percent_are_read_as_written_by_hand() -> None:
    """Passages of the real dumps, drawn at random: most have templates that write words, the others are ordinary.

    They are text of Wikipedia's authors (the column `page` names the article), under CC BY-SA 3.0 (before June 2023)
    and 4.0. Quantities are written with the name of their unit, without the conversion.
    """
    header, *lines = (DATA / "sentences_by_hand.tsv").read_text("utf-8").splitlines()
    assert header == "language\tpage\twikitext\ttext"
    wrong = []
    for language, _, wikitext, text in (line.split("\t") for line in lines):
        read = parse_wikitext(wikitext, SiteInfo(language)).text
        if read.split() != text.split():
            wrong.append((text, read))
    assert len(set(lines)) == len(lines) >= 300
    assert len(wrong) <= 0.02 * len(lines), wrong


# The hole of a template that is not known, as ⟨?⟩, beside the nearest word.
HOLES = [
    ("en", "He was born in {{unheard|x}} and died.", "He was born in⟨?⟩ and died."),
    ("en", "She met {{unheard|x}}.", "She met⟨?⟩."),
    ("en", "{{unheard|x}} is a town.", "⟨?⟩is a town."),
    ("en", "* {{unheard|x}}, a town", ", ⟨?⟩a town"),
    ("en", "The [[Lima|{{unheard|x}} city]] is.", "The city⟨?⟩ is."),
    ("en", "A [[Lima|{{unheard}}]] B.", "A Lima⟨?⟩ B."),
    ("en", "He lived (in {{unheard|x}}) there.", "He lived (in⟨?⟩) there."),
    ("en", "It was {{nowrap|{{unheard|5}} km}} long, {{convert|{{unheard}}|km}}.", "It was⟨?⟩ km long⟨?⟩,."),
    ("ja", "音は {{IPA|a}} である。", "音は⟨?⟩ である。"),
    ("en", "Lima {{IPA|es|ˈlima}}, {{IPAc-en|ˈ|l}} {{respell|LEE|ma}} is.", "Lima, is."),
    ("en", "It is {{#expr: x}} or {{PAGENAME}}.", "It is⟨?⟩ or⟨?⟩."),
    ("en", "A&nbsp;{{unheard}} &amp; b.", "A⟨?⟩ & b."),
    ("ja", "彼は{{未知|x}}に住む。", "彼は⟨?⟩に住む。"),
    ("ar", "نهر {{فرنسية}}هنا {{إنج}} هنا {{صينية|مبسطة=北京}} هنا", "نهر هنا هنا⟨?⟩ هنا"),
    ("fa", "۱۹۶۷ {{پرچمک|فرانسه}} پاریس است {{فرانسه}} هنا", "۱۹۶۷ پاریس است⟨?⟩ هنا"),
    ("fr", "À sa mort{{,}} et {{BNF|1}} le {{vi}} b", "À sa mort et le⟨?⟩ b"),
    ("de", "auf {{Höhe|7}} oder {{Höhe|7|NL}} Höhe", "auf 7 m oder⟨?⟩ Höhe"),
    ("he", "בית {{כ}} גדול {{אנ|House}} מאוד", "בית גדול מאוד"),
    ("ja", "{{未知|x}}は作家である。", "⟨?⟩は作家である。"),
    ("ja", "彼は、{{未知|x}}に住む。", "彼は⟨?⟩、に住む。"),
    ("en", "* {{cite book|title=A}}, also published as B", ", ⟨?⟩also published as B"),
    ("en", "It is at {{coord|1|2|display=inline,title}}, north of it.", "It is at⟨?⟩, north of it."),
    ("vi", "Chủ yếu là Linux.{{sfn|A}} {{tính đến|2009}}, có 300 cụm.", "Chủ yếu là Linux., ⟨?⟩có 300 cụm."),
    ("it", "* {{en}} {{cita web|url=x}}, un sito", ", ⟨?⟩un sito"),
    ("en", "* ''{{XQX}}'' (NED)", "(⟨?⟩NED)"),
    ("vi", "khoảng {{convert|2|Goilbbl}} dầu.", "khoảng 2⟨?⟩ dầu."),
    ("ja", "* 2区　{{未知|x}}", "2区⟨?⟩"),
    # A call of several lines
    ("en", "a {{Unheard\n| b = c}} d", "a⟨?⟩ d"),
    ("en", "* He, {{unheard\n|x\n}}, saw [[Lima|it {{unheard\n|x}} now]].", "He⟨?⟩, saw it now⟨?⟩."),
    ("ja", "彼は{{未知\n|x}}に住む。{{未知\n|x}}次の文。", "彼は⟨?⟩に住む。次の文。"),
    ("vi", "{{as of|2011}}, có 300 cụm.", ", ⟨?⟩có 300 cụm."),
    (
        "en",
        "It is pronounced {{IPAc-en|ˈ|l}} {{respell|L}} or, rarely, as ''Lima'' {{IPA-es|x}}.",
        "It is pronounced⟨?⟩ or, rarely, as Lima.",
    ),
    ("en", "'''Lima''' (locally {{IPA-es|x}}) and ''adobe'' {{IPA-es|x}} are.", "Lima (locally⟨?⟩) and adobe are."),
    # Nothing is missing in print, or the sentence is complete without it.
    ("en", "It ends here.{{unheard|x}} Then it goes on.", "It ends here. Then it goes on."),
    ("en", "It ends here. {{unheard|x}} Then it goes on.", "It ends here. Then it goes on."),
    ("en", "It ends here. {{unheard|x}}", "It ends here."),
    ("en", "It ends,{{unheard|x}} then goes on.", "It ends, then goes on."),
    ("en", "A town{{unheard|x}}\n* A list{{unheard}}", "A town\nA list"),
    ("en", "Lima ({{unheard|x}}) is.", "Lima is."),
    ("en", "Lima ({{unheard|x}}, Quechua; {{unheard|y}}) is.", "Lima (Quechua) is."),
    ("en", "{{Unheard box|x}}\n'''Lima''' is.", "Lima is."),
    ("en", "{{Unheard box|x}}'''Lima''' is.", "Lima is."),
    # Boxes of several lines stand at the beginning or the end of a line, or inside another template.
    ("en", "{{Unheard\n| b = c}}{{Other\n| b = c}} lima is.", "lima is."),
    ("ja", "{{未知\n| b = c}} '''東京'''は都市。", "東京は都市。"),
    ("en", "It is:{{Unheard\n|b}}\nIt is {{Unheard\n|b}}\n* {{Unheard\n|b}} it", "It is: It is\nit"),
    ("en", "He {{nowrap|is {{Unheard\n| b = c}} here}}.", "He is here."),
    ("en", "It is{{citation needed|date=May}} and{{sfn|A|2}} was {{dubious}} so{{who?}}.", "It is and was so."),
    ("en", "{{coord|1|2|display=title}} It is {{Anchor|x}} here {{Cite web|url=x}}.", "It is here."),
    ("en", "{|\n| {{unheard}}\n|}\n[[File:a.jpg|{{unheard}} x]] a", "a"),
    ("ja", "彼は住む。{{未知|x}}それから", "彼は住む。それから"),
    ("ja", "彼は{{要出典|date=2020年}}住む{{R|a}}。", "彼は住む。"),
    ("en", "It is here ({{coord|1|2}}).{{cite web|url=x}} Then", "It is here. Then"),
    ("en", "* {{cite journal|title=A}} Reprinted there.", "Reprinted there."),
    ("en", "* The village {{coord|1|2}}.\n* The town {{coord|1|2}}", "The village.\nThe town"),
    ("pl", "Tak. {{Fakt|Germanie pojawili się tam|data=2010}}.", "Tak. Germanie pojawili się tam."),
    # Marks of outdated text, and notes
    ("es", "En crisis,{{actualizar}} debida a esto.{{actualizar|2009}}", "En crisis, debida a esto."),
    ("hy", "Նա եկել է{{Ն|Ըստ Իսահակյանի։}} այստեղ։", "Նա եկել է այստեղ։"),
    ("ja", "* {{Ja Exp Route Sign|E52}} 中部横断自動車道", "中部横断自動車道"),
    ("ru", "Он жил{{нет АИ|1|2}} там{{кто?}}.", "Он жил там."),
    ("fr", "Il habite{{référence nécessaire}}{{sfn|A}} ici.", "Il habite ici."),
    ("ru", "По частоте{{не АИ|17|3}} и 85 субъектов{{В Крыму|К|0}}.", "По частоте и 85 субъектов."),
    ("mr", "लांबीच्या ब्रिजचे{{मराठी शब्द सुचवा}} उद्घाटन.", "लांबीच्या ब्रिजचे उद्घाटन."),
    ("hy", "Նա սիրում է դրանք:{{unheard|x}} Այնուհետև եկավ:", "Նա սիրում է դրանք: Այնուհետև եկավ:"),
    ("hy", "[http://x Էպոսի մասին {{ru}}]\n\nՆա եկավ{{,}}:", "Էպոսի մասին\nՆա եկավ:"),
    ("zh", "* [http://x 使用 Face ID] {{zh}}", "使用 Face ID"),
    ("ru", "'''Лима'''&nbsp;({{unheard|1}}\xa0— {{unheard|2}})&nbsp;— город.", "Лима — город."),
]


@pytest.mark.parametrize(("language", "source", "text"), HOLES)
def test_holes_stand_where_a_word_is_missing(language: str, source: str, text: str) -> None:
    article = parse_wikitext(source, language)
    marked = article.text
    for hole in reversed(article.holes):
        marked = f"{marked[:hole]}⟨?⟩{marked[hole:]}"
    assert marked == text


def test_sentences_count_their_holes() -> None:
    article = parse_wikitext("He is. She met {{a x}} and {{b x}}. So {{c x}} is. An end.", "en")
    assert [(sentence.text, sentence.holes) for sentence in article.sentences()] == [
        ("He is.", 0),
        ("She met and.", 2),
        ("So is.", 1),
        ("An end.", 0),
    ]
    assert parse_wikitext("A {{b x}} c.", "en", show=False).holes == []
