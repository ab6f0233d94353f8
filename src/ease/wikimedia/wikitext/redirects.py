"""Redirect pages by their text: `#REDIRECT [[Title]]` in the words of all languages."""

from __future__ import annotations

import re

from ease.wikimedia.wikitext.titles import SiteInfo, normalize_title

_WORDS = """
AANSTUUR ADKAS ail-cyfeirio ailgyfeirio AL ALIAH ALIDIREKTI ALIDIREKTU ALIH ANCAMINAR athsheoladh
AÝDAW BERALÎKIRIN BIRZUZENDU DASKEDYANS DEURVERWIEZING DIRECCIÓN DIRIJAR DOORVERWIJZING
DUURVERWIEZING ENDRECERA FIHODINANA HETENAYIŞ İSTİQAMƏTLƏNDİR İSTİQAMƏTLƏNDİRMƏ KIAHOU KÚFÙ
LEIDT_ÖM_OP LENCONG OHJAUS OMDIRIGER OMDIRIGERING OĐĐASITSTIVREN PATRZ PERADRESAVIMAS presmeruj
PREUSMERI PREUSMERITEV PREUSMJERI PRZEKIERUJ PUPINAH PUSAPUNA PŘESMĚRUJ REDIRECCIO REDIRECCION
REDIRECCIÓ REDIRECCIÓN REDIRECIONAMENTO REDIRECT REDIRECTEAZA REDIRECTION REDIRÈCCION REENDRECERA
RENVIAMENT RIDREJTO RIMANDO RINDIRIZZA RINVIA RINVIO saadaq STIR STIVREN suuna TAM TILVÍSUN
TOJƏDƏN_İSTİĞOMƏT_DOY UUDELLEENOHJAUS VARDA VIRULEEDUNG WEITERLEITUNG wiederleiden YONALTIRISH
YOʻNALTIRISH YÖNLENDİR YÖNLENDİRME YÖNNENDİR YÖNNENDİRMÄ YÖNNENDİRMÄKLER YÜNÄLTÜ ÁTIRÁNYÍTÁS ÆРВИТÆН
ÆРВЫСТ ÖMLEIDE ÖMLEIDE_OP ÖMLEIDUNG đổi ΑΝΑΚΑΤΕΥΘΥΝΣΗ АЙДАУ види виж джибериу дӀасахьажор көжүрүлге
ластар перанакіраваньне ПЕРЕНАПР перенаправление ПЕРЕНАПРАВЛЕННЯ пренасочване ПРЕНАСОЧУВАЊЕ
ПРЕУСМЕРИ ПРЕУСМЈЕРИ ПРѢНАПРАВЛЄНИѤ равона РАРВЫСТ редирект утаарыы утр хьажайо ЧИГЛҮҮЛЭГ ШИГЛЕДИР
ЮНӘЛТҮ ՎԵՐԱՀՂՈՒՄ ՎԵՐԱՅՂՈՒՄ הפניה ווייטערפירן ايداۋ بور تحويل تغییر_مسیر تغییرمسیر رجوع_مکرر مڑجوڑ
چوريو ڕەوانەکەر ܨܘܝܒܐ अनुप्रेषित अनुप्रेषितम् पुनर्निदेशन पुनर्निर्दिष्टम् पुनर्निर्देशन
पुनर्प्रेषित पुर्ननिर्देशन পুনঃনির্দেশ পুনঃর্নির্দেশ পুননির্দেশ পুনর্নির্দেশ ਰੀਡਿਰੈਕਟ ଲେଉଟାଣି
வழிமாற்று దారిమార్పు തിരിച്ചുവിടുക തിരിച്ചുവിടൽ යළියොමුව เปลี่ยนทาง გადამისამართება បញ្ជូនបន្ត
ប្ដូរចំណងជើង ប្ដូរទីតាំង ប្ដូរទីតាំងទៅ ប្តូរទីតាំង ប្តូរទីតាំងទៅ リダイレクト 転送 重定向 重新導向 넘겨주기
""".split()
"""Source: the magic word `redirect` in the messages of MediaWiki 1.39, in one of its cases."""

_REDIRECT = re.compile(
    rf"\s*+[#＃](?:{'|'.join(sorted(map(re.escape, _WORDS), key=len, reverse=True))})\s*+:?\s*+"
    r"\[\[([^\[\]|\n]++)(?:\|[^\[\]\n]*+)?\]\]",
    re.IGNORECASE,
)


def redirect_target(source: str, site: SiteInfo) -> str | None:
    """The title that a redirect page leads to, whatever the keyword's language; None if it is no redirect.

    A list that begins a page (`#one [[Foo]]`) is none.
    """
    redirect = _REDIRECT.match(source)
    return normalize_title(redirect[1], site) or None if redirect else None
