"""Letters around a link's brackets that belong to its surface: `[[bus]]es` shows the link "buses".

Source: `linkTrail`, `linkPrefixExtension` and `linkPrefixCharset` in the messages of MediaWiki 1.39; a language
that sets none has those of the first language that its messages fall back to. Quotation marks, which a few
languages count among the letters, are left outside.
"""

from __future__ import annotations

_ROWS = """
ab: a-zа-ик-шыьџҕқҟҧҩҭҳҵҷҽҿәӡӷԥ
ady av ce inh kbd lbe lez: a-zа-яёӀ
als bar de dsb gsw hrx hsb lb nds pdc pdt pfl sli stq vmf: a-zßäöü
alt: a-zа-яёјҥӧӱ
ami cdo gan hak hsn ii lzh nan pwn szy tay trv wuu yue za zh zh-classical zh-min-nan zh-yue:
an arn ast ay cbk-zam es ext gn lad nah qu qug: a-záéíñóú
anp awa hi mai sa: a-z\u0900-\u0963\u0966-ॿ\ua8e0-\ua8ff
ar arq ary arz: a-z\u0610-\u061aء-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed
atj avk bm fr frc gcr kab kbp ln mg pcd ses sg ty vi wo: a-zÀÂÄÇ-ËÎÏÔÖÙÛÜàâäç-ëîïôöùûü
az: a-zçöüğışə
azb bcc bqi fa glk lki lrc luz mzn sdh: آأؤئ-غفقل-وپچژکگی
ba: a-zа-яёғҙҡңҫүһәө
bat-smg lt sgs: a-ząčėęįšūųž
bci: a-zÈÉÊÔèéêôƆƐɔɛ
be be-tarask be-x-old: a-zćčłńśšŭźžа-зй-шы-яёіўґ
bg: a-zа-я
bgn: آأؤئابت-غفقل-وپچڈڑژکگھۆیێ
bn bpy: ঀ-\u09ff
br: A-Za-zÀÂÄÇ-ËÎÏÑÔÖÙÛÜàâäç-ëîïñôöùûü
bs sh sl: a-zćčđšž
bxr koi krc kum kv mdf mhr mn mrj myv ru sty tyv xal: a-zа-яё
ca: a-z\u00b7àçèéíïòóúü
ckb: ئابتج-در-شعغفقل-وپچڕژڤکگڵھۆیێە
co egl eml fur it lij lld lmo nap pms rgn roa-tara scn sdc sro vec: a-zàèéìíîòóùú
crh: a-zâçñöüğışʹʺа-яё
cs: a-záéíóúýčďěňřšťůž
csb pl szl: a-zÓóĄ-ćĘęŁ-ńŚśŹ-ż
cu: a-zıа-пс-яё-ќўџѡѣѥѧѩѫѭѯѱѳѵѷѹѿ\u0484ґ
cv: a-zçăĕа-яӳ
cy: a-zàáâèéêì-ïòóôûŵŷ
da jut kl nb nn no: a-zåæø
dag: a-zŊŋƆƐƔƷɔɛɣʒ
din: a-zäéëïóöŋɔɛɣ\u0308
ee: a-zŋƒɔɖɛɣʋ\u0300\u0301\u0303\u0304
el pnt: a-zΆΈΉΊΌΎ-ΡΣ-ώ
et fiu-vro liv vep vro: a-zäõöüšž
fat tw: a-zɔɛ
ff: a-zÀÂÄÇ-ËÎÏÔÖÙÛÜàâäç-ëîïôöùûüŊŋƁƊƝƳƴɓɗɲ
fi fit krl vot: a-zäö
fo: a-záæíðóøúý
fon: a-zÀÂÄÇ-ËÎÏÔÖÙÛÜàâäç-ëîïôöùûüƆƉƐɔɖɛ\u0300\u0301\u0302\u0304\u030c
frp: a-z\u00b7àâä-ëîïòôöùûüāăēīōœ\u2019
frr: a-zßäåöüāđē
fy: a-zàáâäè-ïòóôöù-ü
gaa: A-Za-zŊŋƆƐɔɛ\u0300\u0301\u0303
gag kiu lzz tr: a-zÂÇÎÖÛÜâçîöûüĞğİıŞş
gl mwl pt tet vmw: a-zà-ãçéêíò-õúüũű\u0303ẽ
gld: a-z\u0304а-яёӇӈ
gu: \u0a80-\u0aff
guc: a-záéíñóúü
gur: A-Za-zŊŋƆƐƖƲɔɛɩʋ\u0303
guw: a-zàáèéìíòóùúěǎǐǒɔɖɛ\u030cẹọ
he yi: a-zא-ת
hr: a-zßćčđšž
ht: a-zÀÈÒàèò
hu: a-zÁÉÍÓÖÚÜáéíóöúüŐőŰű
hy hyw: a-zա-և
ik: a-zñġłŋ\u0323ḷ
is: a-záæéíðóöúýþ
ka xmf: a-zა-ჰ
kaa: a-zıʼ
kcg: a-záí\u0331
kea: a-zà-ãç-êíò-õú\u0308
khw ur: ءآؤئابت-غفقلمنو\u0654ٹپچڈڑژکگںھہۃیے
kk: a-zäçéïñöüýğışʹʺа-яёіғқңүұһәөابتجحدر-شعف-نوىيٴپچڭھۆۇۋە
ksh: a-zßä-çëöüėğĳœůə
ku: a-zÇÊÎÛçêîûŞşḦḧẌẍ
li nds-nl nl srn vls zea: a-zàäèéëïöü
ltg lv: A-Za-zĀāČčĒēĢģĪīĶķĻļŅņŠšŪūŽž
mk: a-zа-ик-шѓѕјљњќџ
ml: a-z\u0d02-ൿ
mo rmy ro roa-rup rup ruq: a-zÂÎâîĂăŞşŢţȘ-ț
mos: A-Za-zƐƖƲɛɩʋ\u0303
mr: \u0900-\u0963ॱ-ॿ\u200d
mrh: a-zâô
nmz: a-zĤĥŊŋƆƐɔɛɦ\u0308Ɦ
nso: A-Za-zÊÔêôŠš
ny: A-Za-zŴŵ\u0301
oc: a-zàâç-êîôû
ojb: a-záâèéêìîòóôāąēīōš\u0301\u0323ḥḳ
olo: a-zÄÖäöČčŠšŽž
or: a-z\u0b00-\u0b7f
os: a-zæа-яё
pa: a-z\u0a01\u0a02\u0a03ਅ-ਊਏਐਓ-ਨਪ-ਰਲਲ਼ਵਸ਼ਸਹ\u0a3c\u0a3e-\u0a42\u0a47\u0a48\u0a4b\u0a4c\u0a4dਖ਼-ੜਫ਼\u0a70-ੳ
pcm: a-zá
prg: A-Za-zĀāĒēĢģĪīĶķŅņŌōŖŗŠ-ţŪūḐḑ
rmc sk: a-záäéíóôúýčďĺľňŕšťž
rsk: a-zа-щьюяєїґ
rue uk: a-zа-ьюяёєіїґ
sah: a-zа-яёҕҥүһө
se: a-zß-âä-öø-ÿčđıŋšŧžǥǧǩǯȟʒ
shi: a-zÀÂÄÇ-ËÎÏÔÖÙÛÜàâäç-ëîïôöùûüƐƔɛɣʷḌḍḤḥṚṛṢṣṬṭẒẓⴰ-ⵯ
sjd: \u0304ЈА-яјҊ-ҍҺһӅ-ӊӍӎӒӓӬӭ
sje: A-Za-zÁÄÅáäåĐđŊŋŦŧ
skr: ء-ؤئابت-غفقلمنوٹٻپڄچڈڋڑژکگڰڳںھہۃیےݙݨ
smn: a-záâäčđŋšž
sms: a-zÂÄÅÕÖâäåõöČčĐđŊŋŠšŽžƷǤ-ǩǮǯʒʹ\u0301Ẹẹ
sr: a-pr-vzćčđšžа-ик-шђј-ћџ
st: A-Za-zÈÒèòĒēŌōŠš
sv: a-zÄÅÉÖäåéö
syl: a-zꠀ-\ua82f
ta: \u0b80-\u0bff
te: \u0c01-\u0c6f
tg: a-zа-яёўғқҳҷӣ
tk: a-zÄÇÖÜÝäçöüýĞğŇňŞşŽž
tn: a-zêôš
tt: a-zа-яёҖҗҢңҮүҺһӘәӨө
tum: A-Za-zŴŵ\u0302
udm: a-zа-яёӝӟӥӧӵ
uz: a-zʻʼ
wa: a-zâåç-êîôû
wls: A-Za-zÀÂÄÇ-ËÎÏÔÖÙÛÜàâäç-ëîïôöùûüĀāĒēĪīŌōŪūʻ
yrl: A-Za-zÁÃÉÍÓÕÚáãéíóõúĨĩŨũẼẽ
"""
"""Lines of languages: their codes, and the letters behind `]]` as in a set of a regular expression.

The line of `ami` to `zh-yue` has no letters: there nothing joins.
"""

_JOINTS = {
    **{"br": "'’", "ca": "'", "is": "-–", "kaa": "'’"},
    **dict.fromkeys("azb bcc bgn bqi ckb fa glk kcg lki lrc luz mzn sdh".split(), "\u200c"),
}
"""Marks that join, too, where a letter follows them; U+200C keeps the letters around it from joining up."""

_OTHERS = "[a-z]*+"

_ANY_LETTER = r"[^\W\d_]|[\u0300-\u036f\u0483-\u0487\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u200c]"
_ARABIC_LETTER = r"[a-zA-Z\u0610-\u061aء-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed]"
_PREFIXES = {
    **dict.fromkeys(("ar", "ary", "arz"), f"(?:{_ARABIC_LETTER})*+"),
    **dict.fromkeys(
        ("cv", "hy", "hyw", "ka", "kaa", "lbe", "ln", "mzn", "pnb", "uz", "xmf"), f"(?:{_ANY_LETTER})*+"
    ),
    "is": "(?:[-–]*[A-Za-zÁáÐðÉéÍíÓóÚúÝýÞþÆæÖö])*+",
}
"""Letters before `[[`, read backwards from there; other languages join none."""


def _read_rows() -> dict[str, str]:
    trails: dict[str, str] = {}
    for row in _ROWS.strip().split("\n"):
        languages, _, letters = row.partition(":")
        letters = letters.strip()
        for language in languages.split():
            trails[language] = f"[{letters}]*+" if letters else ""
            if joints := _JOINTS.get(language):
                trails[language] = f"(?:[{letters}]|[{joints}](?=[{letters}]))*+"
    return trails


_TRAILS = _read_rows()


def link_trail(language: str) -> str:
    """A regular expression of the letters that join a link on a wiki; it may match nothing."""
    return _TRAILS.get(language, _OTHERS)


def link_prefix(language: str) -> str | None:
    """A regular expression of the letters that join a link from before, read backwards; None if none do."""
    return _PREFIXES.get(language)
