"""Wikitext becomes prose, with links where MediaWiki shows them, also in other languages and scripts."""

from __future__ import annotations

import pytest

from ease.errors import EaseError
from ease.wikimedia.wikitext.parser import Article, Link, link_trail, parse_wikitext
from ease.wikimedia.wikitext.titles import SiteInfo, decode_entities, decode_title_entities, redirect_target

ENGLISH = SiteInfo("en")


def read(source: str, language: str = "en") -> tuple[str, list[tuple[str, str]]]:
    """Return the prose of a page, and the text and target of each link."""
    article = parse_wikitext(source, SiteInfo(language))
    return article.text, surfaces(article)


def surfaces(article: Article) -> list[tuple[str, str]]:
    """Return texts and targets of links, after checking that offsets are ordered, disjoint and tight."""
    position, found = 0, []
    for start, end, target in article.links:
        surface = article.text[start:end]
        assert position <= start < end <= len(article.text)
        assert surface == surface.strip()
        assert "\n" not in surface
        found.append((surface, target))
        position = end
    return found


@pytest.mark.parametrize(
    ("source", "text", "links"),
    [
        ("[[Berlin]] is big.", "Berlin is big.", [("Berlin", "Berlin")]),
        ("the [[city]]", "the city", [("city", "City")]),
        ("a [[Berlin|city]]", "a city", [("city", "Berlin")]),
        ("[[Foo_bar#x|y]]", "y", [("y", "Foo bar")]),
        ("two [[bus]]es stop", "two buses stop", [("buses", "Bus")]),
        ("[[bus|coach]]es, [[a]]1", "coaches, a1", [("coaches", "Bus"), ("a", "A")]),
        ("[[bus]]<nowiki/>es", "buses", [("bus", "Bus")]),
        ("[[bus]]{{x}}es", "buses", [("bus", "Bus")]),
        ("[[bus]]<!-- x -->es", "buses", [("buses", "Bus")]),
        ("[[Mercury (planet)|]]", "Mercury", [("Mercury", "Mercury (planet)")]),
        ("[[Foo|''bar'']] baz", "bar baz", [("bar", "Foo")]),
        ("''[[Foo]]'' and '''[[Bar]]'''", "Foo and Bar", [("Foo", "Foo"), ("Bar", "Bar")]),
        ("a[[Foo| bar ]] b", "a bar b", [("bar", "Foo")]),
        ("a [[ Foo ]] b", "a Foo b", [("Foo", "Foo")]),
        ("[[Foo|a\nb]]", "a b", [("a b", "Foo")]),
        ("[[Foo\n|b]]", "b", [("b", "Foo")]),
        ("[[Foo|\n*a\n# b]]", "a b", [("a b", "Foo")]),
        (
            "[[7%25 solution]], [[:Foo%23bar|]]",
            "7% solution, Foo#bar",
            [("7% solution", "7% solution"), ("Foo#bar", "Foo")],
        ),
        ("[[Caf%C3%A9]]s [[:de:Stra%C3%9Fe%01]] [[a%5B]]", "Cafés de:Straße a%5B", [("Cafés", "Café")]),
        ("== [[7%25]] ==\n[[B%20C|{{x}}]] [[#d%0Ae]]", "7%\nB C #de", [("B C", "B C")]),
        ("[[Foo|a [b] c]]d", "a [b] cd", [("a [b] cd", "Foo")]),
        ("[[Foo|[b]]]", "[b]", [("[b]", "Foo")]),
        ("[[[Foo]]]", "[Foo]", [("Foo", "Foo")]),
        ("[[Foo|a [b] c]]] d", "a [b] c] d", [("a [b] c", "Foo")]),
        ("[[Foo|a [b]] c", "a [b c", [("a [b", "Foo")]),
        ("[[A&amp;B|x&nbsp;&lt;y]]", "x <y", [("x <y", "A&B")]),
        ("[[Foo|&nbsp;bar&#160;]]baz", "bar baz", [("bar baz", "Foo")]),
        ("[[TeX|{{TeX}}]]!", "TeX!", [("TeX", "TeX")]),
        ("[[Foo|{{flag}} bar]]", "bar", [("bar", "Foo")]),
        ("a [[Foo|({{x}})]] b", "a Foo b", [("Foo", "Foo")]),
        ("a [[Foo|({{x}}) b]]", "a b", [("b", "Foo")]),
        ("[[Foo|[[File:x.png]]]] bar", "bar", []),
        ("x [[:Category:Foo]] y", "x Category:Foo y", []),
        ("x [[:File:A.jpg|pic]] y", "x pic y", []),
        ("see [[:de:Berlin]]", "see de:Berlin", []),
        ("see [[wikt:word|word]]s", "see words", []),
        ("see [[http://foo bar]] now", "see bar now", []),
        ("see [[https://foo|the site]]s and [[//foo]].", "see the sites and.", []),
        ("see [[mailto:me@x.org write]]", "see write", []),
        ("see [[/dev/null]]", "see /dev/null", [("/dev/null", "/dev/null")]),
        ("see [[#History|above]]", "see above", []),
        ("x [[A<b|y]] z", "x A<b|y z", []),
        ("x [[|y]] z", "x y z", []),
        ("x [[Foo|]", "x Foo|]", []),
        ("a [[de:Berlin]] b", "a b", []),
        ("[[Category:Foo|sort]]\nText.", "Text.", []),
        ("[[2001: A Space Odyssey|2001]]", "2001", [("2001", "2001: A Space Odyssey")]),
    ],
)
def test_links(source: str, text: str, links: list[tuple[str, str]]) -> None:
    assert read(source) == (text, links)


@pytest.mark.parametrize(
    ("source", "text", "links"),
    [
        ("[[File:A.jpg|thumb|A [[cat]] on [http://x y]]]Text.", "Text.", []),
        ("[[File:A.jpg|thumb|[[File:B.jpg]] [[x|[y]]]]] Text [[z]].", "Text z.", [("z", "Z")]),
        ("[[File:A.jpg|thumb|two\n\nparagraphs [[x]]]]\nText.", "Text.", []),
        ("{{a|{{b|[[c]]}}|{{{d|e}}}}}Text {{#if:x|y}}.", "Text.", []),
        ("{{{1|x}}}Text", "Text", []),
        ("{{a|<nowiki>}}</nowiki>}}Text", "Text", []),
        ("{{a|<!-- }} -->}}Text", "Text", []),
        ("{{a|<ref>{{</ref>}}Text", "Text", []),
        ("Text {{open\n\n[[Foo]] goes on.", "Text {{open\nFoo goes on.", [("Foo", "Foo")]),
        ("Text {{open {{x}} [[Foo]].", "Text {{open Foo.", [("Foo", "Foo")]),
        ("{{#switch:2\n|2=[[b|I}}}]]\n}}After", "After", []),
        ("{{a|[[b}} c", "{{a|b}} c", []),
        ("{{a|[[b}} c ]] d}} e", "e", []),
        ("{{a|]] b]]]}} c", "c", []),
        ("{{a|[[b|{{{c}}} [[d}}]] {{e}}]]}} f", "f", []),
        ("[[b {{c}} d", "b d", []),
        ("{{{[[a}}}]]}}} b", "b", []),
        ("a }} b", "a }} b", []),
        ("{{{a}} b", "{ b", []),
        ("{{a}}} b", "} b", []),
        ("{{{{a}} b}} c", "c", []),
        ("A\n{|\n| [[x]]\n{|\n| y\n|}\n|}\nB", "A\nB", []),
        (":{| class=x\n|-\n| y\n|}\nB", "B", []),
        ("A\n{|\n| [[x]]\nB [[y]]", "A\nB y", [("y", "Y")]),
        ("{{start}}\n|-\n| [[x]]\n|}\nB", "B", []),
        ("a <table><tr><td>[[x]]</td></tr></table> b", "a b", []),
        ("A.<ref>b [[c]]</ref> D.<ref name=x /> E<ref name='y'>z</ref>.", "A. D. E.", []),
        ("A<REF>b</REF >c", "Ac", []),
        ("A <ref>b [[c]].", "A b c.", [("c", "C")]),
        ("A<!-- x\n[[y]] -->B", "AB", []),
        ("A\n<!-- x -->\nB", "A B", []),
        ("A\n  <!-- x -->\nB", "A B", []),
        ("A\n   <!-- x --> \t\nB", "A B", []),
        ("A <!-- never ends", "A", []),
        ("A<gallery>\nFile:a.jpg|[[b]]\n</gallery>B", "AB", []),
        ("Let <math>x < y</math> and <chem>H2O</chem>.", "Let and.", []),
        ("a <nowiki>[[b]] ''c'' &amp; {{d}}</nowiki> e", "a [[b]] ''c'' & {{d}} e", []),
        ("* <nowiki>* x</nowiki>", "* x", []),
        ("<pre>[[a]]</pre><syntaxhighlight lang=c>b</syntaxhighlight>c", "c", []),
        ("a <b>b</b> <span class='x'>[[c]]</span>", "a b c", [("c", "C")]),
        ("H<sub>2</sub>O", "H2O", []),
        ("a<br />b<BR>c", "a\nb\nc", []),
        ("<div>a</div><div>b</div>", "a\nb", []),
        ("1 < 2 <foo> >", "1 < 2 <foo> >", []),
        ("see [http://x.org the [[site]]] now", "see the site now", [("site", "Site")]),
        ("see [http://x.org] and [//y.org] now", "see and now", []),
        ("see [x] and http://x.org", "see [x] and http://x.org", []),
        ("a __TOC__ b __NOTOC__ __init__", "a b __init__", []),
        ("a &amp; b &eacute; &#233; &#xE9; &nbsp; c &bogus; &amp;lt;", "a & b é é é c &bogus; &lt;", []),
        ("'''a''' ''b'' '''''c'''''", "a b c", []),
        ("l'''amico'' è '''x'''", "l'amico è x", []),
        ("dell'''Odissea''", "dell'Odissea", []),
        ("a '''''' b", "a ' b", []),
    ],
)
def test_other_markup_than_prose_is_removed(source: str, text: str, links: list[tuple[str, str]]) -> None:
    assert read(source) == (text, links)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("a\nb\n\nc\n\n\nd", "a b\nc\nd"),
        ("* a\n* b\n** c\n# d\n: e\n; f\ng", "a\nb\nc\nd\ne\nf\ng"),
        ("== A ==\nb\n=== ''C'' === <!-- x -->\nd", "A\nb\nC\nd"),
        ("= [x] =\n==a", "[x]\n==a"),
        ("== a =\n= b ==", "= a\nb ="),
        ("===\na", "=\na"),
        ("======== a ========", "== a =="),
        ("a\n----\nb", "a\nb"),
        ("a\n----b", "a\nb"),
        ("a\n b\nc", "a\nb\nc"),
        ("a\r\nb\r\n\r\nc", "a b\nc"),
        ("  \n\t\n", ""),
        ("", ""),
        ("a\u2003b\xa0 c", "a b c"),
        ("'''*NSYNC''' is\n*b", "*NSYNC is\nb"),
        ("&#35;1 hits\n&ast; a &#x3a; b", "#1 hits * a : b"),
        ("<b>#1</b>\n<br>* a", "#1\n* a"),
        ("{{x}}* a\n[[#b|:c]]\n[//d ;e]", "* a :c ;e"),
        ("{{lang|ine|*wed-}} is\n{{nowrap|=a=}}", "*wed- is =a="),
        ("''=a=''\n&#61;b&#61;\n'''----'''", "=a= =b=\n----"),
        ("* *a\n#<!-- x --># b\n<!-- x -->* c", "*a\nb\nc"),
        (":\n=", "="),
    ],
)
def test_blocks_are_lines(source: str, text: str) -> None:
    assert read(source) == (text, [])


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("Berlin ({{IPA|x}}; {{audio|y}}) is", "Berlin is"),
        ("Berlin ({{IPA|x}}, {{y}} [[Latin]]: {{z}}) is", "Berlin (Latin) is"),
        ("Berlin (born 1950, {{x}}) is", "Berlin (born 1950) is"),
        ("Berlin ({{x}} born 1950) is", "Berlin (born 1950) is"),
        ("Berlin ([[x]]; <ref>y</ref>) is", "Berlin (x) is"),
        ("Berlin （{{x}}、） is", "Berlin is"),
        ("the word {{lang|fr|mot}}, which {{x}} means", "the word mot, which means"),
        ("mot {{x}} : suite", "mot : suite"),
        ("word {{x}}; next", "word; next"),
        ("end {{x}}.", "end."),
        ("{{x}} begin {{y}}", "begin"),
        ("f() and ( ) stay", "f() and ( ) stay"),
        ("(a ({{x}}))", "(a)"),
        ("( {{x}} ({{y}}))a", "a"),
        ("* {{x}}: a\n** {{y}}:\n{{z}} ; {{z}}; b", "a\nb"),
    ],
)
def test_punctuation_around_removed_markup_is_normalised(source: str, text: str) -> None:
    assert read(source)[0] == text


@pytest.mark.parametrize(
    ("language", "source", "surface"),
    [
        ("de", "[[Fuß]]gängerß", "Fußgängerß"),
        ("en", "[[caf]]é", "caf"),
        ("fr", "[[caf]]é", "café"),
        ("ru", "[[Город]]ами", "Городами"),
        ("uk", "[[Київ]]ський", "Київський"),
        ("uk", "«[[Київ]]»", "Київ"),
        ("ar", "[[مدينة]]ات", "مدينةات"),
        ("fa", "[[شهر]]ها", "شهرها"),
        ("he", "[[עיר]]ים", "עירים"),
        ("pl", "[[miasto]]ścią", "miastością"),
        ("tr", "[[şehir]]İn", "şehirİn"),
        ("ja", "[[東京]]の", "東京"),
        ("zh", "[[bus]]es", "bus"),
        ("ko", "[[베를린]]은", "베를린"),
        ("xx", "[[bus]]es", "buses"),
    ],
)
def test_trails_follow_the_language(language: str, source: str, surface: str) -> None:
    assert [found for found, _ in read(source, language)[1]] == [surface]


def test_offsets_count_code_points_from_right_to_left_and_beyond_the_bmp() -> None:
    source = "𝔘𝔫𝔦 {{x}} [[𝔅erlin|😀 b]] — '''برلين''' هي [[عاصمة]] [[ألمانيا|المانيا]]."
    text, links = read(source, "ar")
    assert text == "𝔘𝔫𝔦 😀 b — برلين هي عاصمة المانيا."
    assert links == [("😀 b", "𝔅erlin"), ("عاصمة", "عاصمة"), ("المانيا", "ألمانيا")]


def test_internal_marks_in_the_source_are_ignored() -> None:
    assert read("a\x01b\x02 [[c\x03]]\x05d") == ("ab cd", [("cd", "C")])


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("#REDIRECT [[Berlin]]", "Berlin"),
        ("#redirect:[[berlin#History|x]] {{R}}", "Berlin"),
        ("\n #WEITERLEITUNG [[Berlin_(Stadt)]]", "Berlin (Stadt)"),
        ("#転送[[ベルリン]]", "ベルリン"),
        ("#पुनर्प्रेषित [[बर्लिन]]", "बर्लिन"),
        ("#تحويل [[برلين]]", "برلين"),
        ("#yönlendirme [[Berlin]]", "Berlin"),
        ("＃転送 [[Berlin]]", "Berlin"),
        ("#REDIRECT\n[[Berlin|x]]", "Berlin"),
        ("#one [[Foo]] is first\n#two [[Bar]]", None),
        ("#[[Foo]]", None),
        ("#redirects [[Foo]]", None),
        ("#REDIRECT [[#x]]", None),
        ("# [[Berlin]]", None),
        ("Text #REDIRECT [[Berlin]]", None),
        ("#REDIRECT Berlin", None),
        ("", None),
    ],
)
def test_redirects(source: str, target: str | None) -> None:
    assert redirect_target(source, ENGLISH) == target


def test_a_language_code_is_enough() -> None:
    source = "[[Archivo:X.jpg|thumb]]Es la [[ciudad]]es. Fin."
    article = parse_wikitext(source, language="es")
    assert article == parse_wikitext(source, SiteInfo("es"))
    assert [(sentence.text, sentence.links) for sentence in article.sentences()] == [
        ("Es la ciudades.", [Link(6, 14, "Ciudad")]),
        ("Fin.", []),
    ]
    assert parse_wikitext("[[File:A.jpg]][[bus]]es").text == "buses"
    with pytest.raises(EaseError, match="Unknown language 'english' in `language`: use a code such as en"):
        parse_wikitext("x", "english")


@pytest.mark.parametrize(
    ("language", "source", "text", "surfaces"),
    [
        ("sv", "''[[Dagens Nyheter]]''s chef", "Dagens Nyheters chef", ["Dagens Nyheter"]),
        ("en", "''[[bus]]''es", "buses", ["bus"]),
        ("en", "'''[[X]]'''bar '''''[[Y]]'''''z", "Xbar Yz", ["X", "Y"]),
        ("en", "<small>[[bus]]</small>es", "buses", ["bus"]),
        ("en", "<i><b>''[[bus]]''</b></i>es <b></b>", "buses", ["bus"]),
        ("en", "''[[bus]]es''", "buses", ["buses"]),
        ("en", "[[Foo|''[[bus]]''es]]", "buses", ["bus"]),
        ("en", "[[Foo|a [b] ''c'']]''es", "a [b] ces", ["a [b] c"]),
        ("ar", "ال''[[مغرب]]''ي", "المغربي", ["مغرب"]),
        ("en", "a ''[[b]]'' '''c''' d", "a b c d", ["b"]),
    ],
)
def test_quotes_and_tags_end_a_link_trail(language: str, source: str, text: str, surfaces: list[str]) -> None:
    found, links = read(source, language)
    assert found == text
    assert [surface for surface, _ in links] == surfaces


@pytest.mark.parametrize(
    ("language", "source", "surfaces"),
    [
        ("ar", "في ال[[مغرب]] و[[مصر|المصريين]].", ["المغرب", "والمصريين"]),
        ("ar", "وَ[[مصر]]", ["وَمصر"]),
        ("arz", "ال[[مغرب]]", ["المغرب"]),
        ("ar", "[[مصر]]ال[[مغرب]]", ["مصرال", "مغرب"]),
        ("ar", "1[[مصر]] «[[مغرب]]»", ["مصر", "مغرب"]),
        ("ar", "ال[[مغرب|[x] y]]", ["ال[x] y"]),
        ("hy", "նախա[[Հայաստան]]ը", ["նախաՀայաստանը"]),
        ("is", "Suður-[[Kórea]] og 1939–[[1945]]", ["Suður-Kórea", "1945"]),
        ("is", "[[Norður]]-kóreska - [[x]]-", ["Norður-kóreska", "x"]),
        ("en", "pre[[fix]]es", ["fixes"]),
        ("fa", "[[کتاب]]‌ها و [[کتاب]]‌", ["کتاب‌ها", "کتاب"]),
        ("ca", "[[Mar]]'l [[Terra]]'", ["Mar'l", "Terra"]),
        ("br", "[[X]]'où [[ar]]c'hwezh [[A]]C’H [[b]]cʼh", ["X", "arc'hwezh", "AC’H", "bc"]),
        ("kaa", "[[x]]'a [[y]]’a [[z]]'", ["x'a", "y’a", "z"]),
        ("se", "[[NRK]]:s [[x]]: [[y]]a:b", ["NRK:s", "x", "ya"]),
    ],
)
def test_letters_before_and_after_the_brackets(language: str, source: str, surfaces: list[str]) -> None:
    text, links = read(source, language)
    assert [surface for surface, _ in links] == surfaces
    if "|" not in source:
        assert text == source.replace("]]", "").replace("[[", "")


@pytest.mark.parametrize(
    ("language", "letters"),
    [
        *(("ba", "һың"), ("alt", "ӱ"), ("lbe", "аӀ"), ("cu", "ѣ"), ("ary", "ات"), ("inh", "аӀ")),
        *(("kbd", "Ӏэ"), ("ady", "хэ"), ("atj", "é"), ("avk", "é"), ("gcr", "é"), ("awa", "ों")),
        *(("anp", "ों"), ("lld", "ì"), ("smn", "đ"), ("nb", "ø"), ("mo", "ț"), ("ur", "وں"), ("skr", "یں")),
    ],
)
def test_link_trails_of_smaller_wikis_and_inherited_ones(language: str, letters: str) -> None:
    assert [surface for surface, _ in read(f"[[x]]{letters} y", language)[1]] == [f"x{letters}"]


@pytest.mark.parametrize("language", ["zh", "wuu", "nan", "hak", "zh-yue"])
def test_chinese_has_no_link_trails(language: str) -> None:
    assert link_trail(language) == ""
    assert [surface for surface, _ in read("[[bus]]es", language)[1]] == ["bus"]


@pytest.mark.parametrize(
    ("language", "source", "text"),
    [
        ("zh", "用-{zh-hans|简}-字", "用简字"),
        ("zh", "-{zh-hans:计算机;zh-hant:電腦}-和-{[[电脑]]}--{T|zh:题}-。", "计算机和电脑。"),
        ("zh", "a-{zh-cn:x&nbsp;y&amp;z;zh-tw:w}-b", "ax y&zb"),
        ("zh", "-{Fate:stay}- -{Fate;stay night}-", "Fate:stay Fate;stay night"),
        ("zh", "甲-{A|zh-hans:嵌-{x}-;zh-hant:y}-乙", "甲嵌x乙"),
        ("zh", "甲-{H|zh-cn:博客; zh-tw:網誌;}-乙-{-|zh-cn:博客}-丙-{A;T|zh-cn:x}-丁", "甲乙丙丁"),
        ("zh", "甲-{ zh-hans : 简 ; zh-hant : 繁 ; }-乙", "甲简乙"),
        ("zh", "甲-{zh-hans:简;}-乙", "甲简乙"),
        ("zh", "甲-{R|zh-cn}-乙-{}-丙", "甲zh-cn乙丙"),
        ("zh", "-{open [[x]]", "-{open x"),
        ("zh", "a }- b", "a }- b"),
        ("zh", "[[-{zh-hans:甲;zh-hant:乙}-|-{丙}-]]", "丙"),
        ("zh", "-{[[甲|乙]]}-丙", "乙丙"),
        ("sr", "-{sr-ec:Ћ;sr-el:Ć}- -{HTML}-", "Ћ HTML"),
        ("kk", "-{kk-cyrl:а;kk-arab:ب}-", "а"),
        ("sr", "-{zh-hans:x;zh-hant:y}-", "zh-hans:x;zh-hant:y"),
        ("en", "f = -{x}- and -{zh-hans:a;zh-hant:b}-", "f = -{x}- and -{zh-hans:a;zh-hant:b}-"),
    ],
)
def test_variants_are_resolved_if_the_wiki_converts(language: str, source: str, text: str) -> None:
    assert read(source, language)[0] == text


@pytest.mark.parametrize(
    "word",
    [
        *("NOTOC", "notoc", "NoToc", "ללא_תוכן_עניינים", "KEIN_INHALTSVERZEICHNIS", "बिना_अनुक्रम", "अनुक्रम"),
        *("بی‌فهرست", "لا_وصلة_قسم_جديد", "KHÔNG_MỤC_LỤC", "БЕЗ_ОГЛАВЛЕНИЯ", "უგალერეო", "目次なし"),
        *("ഉള്ളടക്കംവേണ്ട", "ไม่มีสารบัญ", "노목차"),
    ],
)
def test_magic_words_of_all_languages_are_dropped(word: str) -> None:
    assert read(f"a __{word}__ b")[0] == "a b"


@pytest.mark.parametrize("tag", ["section", "Abschnitt", "trecho", "sección", "קטע", "SECTION"])
def test_section_tags_are_invisible(tag: str) -> None:
    source = (
        f'One <{tag} begin="a"/>sentence<{tag} end=a /> only.\n<{tag} begin=b />\nNext [[x]]<{tag} end=b />s'
    )
    assert read(source) == ("One sentence only. Next xs", [("x", "X")])


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("&sectional; &sect; &notit; &copyright; &amp;sect;", "&sectional; § &notit; &copyright; &sect;"),
        (f"&#{'1' * 5000}; &#x{'f' * 5000}; &#{'0' * 5000}65; &#0;", "\ufffd \ufffd A \ufffd"),
        ("&lt;b&gt; &#x41;&#66; &Aacute;&aacute; &nbsp; &", "<b> AB Áá &"),
    ],
)
def test_entities_by_their_exact_names(source: str, text: str) -> None:
    assert read(source)[0] == text
    assert " ".join(decode_entities(source).split()) == text
    assert " ".join(decode_title_entities(source).split()) == text
