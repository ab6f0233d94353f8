"""Prefixes of titles: namespaces and their names in many languages, other wikis, other languages."""

from __future__ import annotations

from functools import cache

from ease.wikimedia.languages import OLDER_CODES, WIKIPEDIA_LANGUAGES, database_code
from ease.wikimedia.wikitext.namespace_names import LOCAL_NAMES

MEDIA, FILE, CATEGORY = -2, 6, 14

_OTHER_NAMES = """
en: -2 Media, -1 Special, 1 Talk, 2 User, 3 User_talk, 4 Wikipedia, 4 Project, 4 WP, 5 Wikipedia_talk
en: 5 Project_talk, 5 WT, 6 File, 6 Image, 7 File_talk, 7 Image_talk, 8 MediaWiki, 9 MediaWiki_talk
en: 10 Template, 11 Template_talk, 12 Help, 13 Help_talk, 14 Category, 15 Category_talk, 100 Portal
en: 101 Portal_talk, 118 Draft, 119 Draft_talk, 710 TimedText, 711 TimedText_talk, 828 Module, 829 Module_talk
ar: -1 خاص, 1 نقاش, 2 مستخدم, 4 ويكيبيديا, 10 قالب, 12 مساعدة, 100 بوابة
az: -1 Xüsusi, 1 Müzakirə, 2 İstifadəçi, 4 Vikipediya, 10 Şablon, 12 Kömək
be: -1 Адмысловае, 1 Размовы, 2 Удзельнік, 4 Вікіпедыя, 10 Шаблон, 12 Даведка, 100 Партал
bg: -1 Специални, 1 Беседа, 2 Потребител, 4 Уикипедия, 10 Шаблон, 12 Помощ, 100 Портал
bn: -1 বিশেষ, 1 আলাপ, 2 ব্যবহারকারী, 4 উইকিপিডিয়া, 10 টেমপ্লেট, 12 সাহায্য, 100 প্রবেশদ্বার
ca: -1 Especial, 1 Discussió, 2 Usuari, 4 Viquipèdia, 10 Plantilla, 12 Ajuda, 102 Viquiprojecte
cs: -1 Speciální, 1 Diskuse, 2 Wikipedista, 2 Wikipedistka, 4 Wikipedie, 10 Šablona, 12 Nápověda, 100 Portál
da: -1 Speciel, 1 Diskussion, 2 Bruger, 10 Skabelon, 12 Hjælp
de: -1 Spezial, 1 Diskussion, 2 Benutzer, 2 Benutzerin, 10 Vorlage, 12 Hilfe, 828 Modul
el: -1 Ειδικό, 1 Συζήτηση, 2 Χρήστης, 4 Βικιπαίδεια, 10 Πρότυπο, 12 Βοήθεια, 100 Πύλη
eo: -1 Specialaĵo, 1 Diskuto, 2 Uzanto, 4 Vikipedio, 10 Ŝablono, 12 Helpo, 100 Portalo
es: -1 Especial, 1 Discusión, 2 Usuario, 2 Usuaria, 10 Plantilla, 12 Ayuda, 102 Wikiproyecto, 104 Anexo
et: -1 Eri, 1 Arutelu, 2 Kasutaja, 4 Vikipeedia, 10 Mall, 12 Juhend, 100 Portaal
eu: -1 Berezi, 1 Eztabaida, 2 Lankide, 10 Txantiloi, 12 Laguntza, 100 Atari
fa: -1 ویژه, 1 بحث, 2 کاربر, 4 ویکی‌پدیا, 10 الگو, 12 راهنما, 100 درگاه
fi: -1 Toiminnot, 1 Keskustelu, 2 Käyttäjä, 10 Malline, 12 Ohje, 100 Teemasivu
fr: -1 Spécial, 1 Discussion, 2 Utilisateur, 2 Utilisatrice, 4 Wikipédia, 10 Modèle, 12 Aide, 100 Portail
fr: 102 Projet, 104 Référence
gl: -1 Especial, 1 Conversa, 2 Usuario, 10 Modelo, 12 Axuda
he: -1 מיוחד, 1 שיחה, 2 משתמש, 2 משתמשת, 4 ויקיפדיה, 10 תבנית, 12 עזרה, 100 פורטל
hi: -1 विशेष, 1 वार्ता, 2 सदस्य, 4 विकिपीडिया, 10 साँचा, 12 सहायता, 100 प्रवेशद्वार
hr: -1 Posebno, 1 Razgovor, 2 Suradnik, 4 Wikipedija, 10 Predložak, 12 Pomoć
hu: -1 Speciális, 1 Vita, 2 Szerkesztő, 4 Wikipédia, 10 Sablon, 12 Segítség, 100 Portál
hy: -1 Սպասարկող, 1 Քննարկում, 2 Մասնակից, 4 Վիքիպեդիա, 10 Կաղապար, 12 Օգնություն
id: -1 Istimewa, 1 Pembicaraan, 2 Pengguna, 10 Templat, 12 Bantuan
it: -1 Speciale, 1 Discussione, 2 Utente, 12 Aiuto, 100 Portale, 102 Progetto, 828 Modulo
ja: -1 特別, 1 ノート, 2 利用者, 10 テンプレート, 12 ヘルプ, 100 ポータル
ka: -1 სპეციალური, 1 განხილვა, 2 მომხმარებელი, 4 ვიკიპედია, 10 თარგი, 12 დახმარება, 100 პორტალი
kk: -1 Арнайы, 1 Талқылау, 2 Қатысушы, 4 Уикипедия, 10 Үлгі, 12 Анықтама, 100 Портал
ko: -1 특수, 1 토론, 2 사용자, 4 위키백과, 10 틀, 12 도움말, 100 들머리, 100 포털
lt: -1 Specialus, 1 Aptarimas, 2 Naudotojas, 4 Vikipedija, 10 Šablonas, 12 Pagalba, 100 Vikisritis
lv: -1 Special, 1 Diskusija, 2 Dalībnieks, 4 Vikipēdija, 10 Veidne, 12 Palīdzība, 100 Portāls
ms: -1 Khas, 1 Perbincangan, 2 Pengguna, 10 Templat, 12 Bantuan
nl: -1 Speciaal, 1 Overleg, 2 Gebruiker, 10 Sjabloon, 100 Portaal
nn: -1 Spesial, 1 Diskusjon, 2 Brukar, 10 Mal, 12 Hjelp, 100 Tema
no: -1 Spesial, 1 Diskusjon, 2 Bruker, 10 Mal, 12 Hjelp
pl: -1 Specjalna, 1 Dyskusja, 2 Wikipedysta, 2 Wikipedystka, 10 Szablon, 12 Pomoc, 102 Wikiprojekt
pt: -1 Especial, 1 Discussão, 2 Usuário, 2 Usuária, 2 Utilizador, 4 Wikipédia, 10 Predefinição, 12 Ajuda
pt: 102 Anexo, 104 Wikiprojeto
ro: -1 Special, 1 Discuție, 2 Utilizator, 10 Format, 12 Ajutor, 102 Proiect
ru: -1 Служебная, 1 Обсуждение, 2 Участник, 2 Участница, 4 Википедия, 10 Шаблон, 12 Справка, 100 Портал
sk: -1 Špeciálne, 1 Diskusia, 2 Redaktor, 4 Wikipédia, 10 Šablóna, 12 Pomoc, 100 Portál
sl: -1 Posebno, 1 Pogovor, 2 Uporabnik, 4 Wikipedija, 10 Predloga, 12 Pomoč
sr: -1 Посебно, 1 Разговор, 2 Корисник, 4 Википедија, 10 Шаблон, 12 Помоћ, 100 Портал
sv: -1 Special, 1 Diskussion, 2 Användare, 10 Mall, 12 Hjälp
th: -1 พิเศษ, 1 พูดคุย, 2 ผู้ใช้, 4 วิกิพีเดีย, 10 แม่แบบ, 12 วิธีใช้, 100 สถานีย่อย
tr: -1 Özel, 1 Tartışma, 2 Kullanıcı, 4 Vikipedi, 10 Şablon, 12 Yardım, 102 Vikiproje
uk: -1 Спеціальна, 1 Обговорення, 2 Користувач, 4 Вікіпедія, 10 Шаблон, 12 Довідка, 100 Портал
vi: -1 Đặc_biệt, 1 Thảo_luận, 2 Thành_viên, 10 Bản_mẫu, 12 Trợ_giúp, 100 Cổng_thông_tin
zh: -1 特殊, 1 讨论, 1 討論, 2 用户, 2 用戶, 4 维基百科, 4 維基百科, 10 模板, 12 帮助, 12 幫助
"""
"""Lines of a language: numbers and names of namespaces; `_` is a space. All wikis know the English ones."""

LANGUAGE_PREFIXES = (
    WIKIPEDIA_LANGUAGES | frozenset(OLDER_CODES) | {"cz", "dk", "epo", "jp", "minnan", "zh-cn", "zh-tw"}
)
"""Prefixes of links to the same article in another language."""

WIKI_PREFIXES = frozenset(
    """
w wikipedia wikt wiktionary s wikisource b wikibooks q wikiquote n wikinews v wikiversity voy wikivoyage
species wikispecies c commons d wikidata m meta f wikifunctions mw mediawikiwiki foundation wmf incubator
outreach bugzilla phab phabricator gerrit toollabs toolforge quarry otrs mail mailarchive testwiki
doi arxiv rfc pmid imdbname imdbtitle google googlescholar wikia fandom hdl ticket orcid
""".split()
)
"""Prefixes of links to other wikis and sites that Wikipedias use."""


@cache
def known_namespaces(language: str) -> dict[str, int]:
    """Lower-cased names of the namespaces that a Wikipedia knows: English ones, and those of its language."""
    wanted = {"en", language, database_code(language)}
    names: dict[str, int] = {}
    for line in _OTHER_NAMES.split("\n"):
        code, _, rest = line.partition(": ")
        if code in wanted:
            for entry in rest.split(", "):
                number, _, name = entry.partition(" ")
                names[_fold(name)] = int(number)
    for line in LOCAL_NAMES.split("\n"):
        code, _, rest = line.partition(":")
        if code in wanted:
            files, _, categories = rest.partition("|")
            names.update({_fold(name): FILE for name in files.split()})
            names.update({_fold(name): CATEGORY for name in categories.split()})
    return names


def _fold(name: str) -> str:
    return name.replace("_", " ").lower()
