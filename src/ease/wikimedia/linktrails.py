"""Letters after `]]` that belong to a link's surface: `[[bus]]es` shows the link "buses".

Source: `linkTrail` in the messages of MediaWiki; a language that sets none has the letters a to z.
"""

from __future__ import annotations

from functools import cache

_ARABIC = "ابپتثجچحخدذرزژسشصضطظعغفقکگلمنوهیآأئؤة"
_CYRILLIC = "a-zабвгдеёжзийклмнопрстуфхцчшщъыьэюя"
_FRENCH = "a-zàâçéèêîôûäëïöüùÇÉÂÊÎÔÛÄËÏÖÜÀÈÙ"
_GERMAN = "a-zäöüß"
_GREEK = "a-zα-ωΑ-ΩάέήίόύώϊϋΐΰΆΈΉΊΌΎΏΪΫ"
_ITALIAN = "a-zàéèíîìóòúù"
_NAGARI = "a-z\u0900-\u0963\u0966-\u097f\ua8e0-\ua8ff"
_POLISH = "a-zęóąśłżźćńĘÓĄŚŁŻŹĆŃ"
_PORTUGUESE = "a-záâãàéêẽçíòóôõq̃úüűũ"
_ROMANIAN = "a-zăâîşţșțĂÂÎŞŢȘȚ"
_SPANISH = "a-záéíóúñ"
_DUTCH = "a-zäöüïëéèà"
_BALTIC = "a-zA-ZĀāČčĒēĢģĪīĶķĻļŅņŠšŪūŽž"
_TURKISH = "a-zÇĞçğİıÖöŞşÜüÂâÎîÛû"
_UKRAINIAN = "a-zабвгґдеєжзиіїйклмнопрстуфхцчшщьєюяёъы"

_LETTERS = {
    "azb fa glk lrc mzn": _ARABIC,
    "ab av bxr ce koi krc kv lez mdf mhr mrj myv os ru sah tyv xal": _CYRILLIC,
    "bm ff fr ht kbp ln mg nrm pcd sg ty vi wo": _FRENCH,
    "als bar de dsb frr gsw hsb lb nds pdc pfl stq": _GERMAN,
    "el pnt": _GREEK,
    "co eml fur it lij lmo nap pms roa-tara scn vec": _ITALIAN,
    "hi mai sa": _NAGARI,
    "csb pl szl": _POLISH,
    "gl mwl pt": _PORTUGUESE,
    "rmy ro roa-rup rup": _ROMANIAN,
    "an ast ay cbk-zam es eu ext gn lad nah qu": _SPANISH,
    "li nds-nl nl srn vls zea": _DUTCH,
    "ltg lv": _BALTIC,
    "gag tr": _TURKISH,
    "rue uk": _UKRAINIAN,
    "ar arz": "a-zء-ي",
    "az": "a-zçəğıöşü",
    "be be-tarask be-x-old": "a-zабвгґджзеёжзійклмнопрстуўфхцчшыьэюяćčłńśšŭźž",
    "bg": "a-zабвгдежзийклмнопрстуфхцчшщъыьэюя",
    "bn bpy": "\u0980-\u09ff",
    "bs hr sh sl": "a-zčćđžšß",
    "ca": "a-zàèéíòóúç·ïü",
    "ckb": "ئابپتجچحخدرڕزژسشعغفڤقکگلڵمنوۆهھەیێ",
    "crh": "a-zâçğıñöşüа-яё",
    "cs": "a-záčďéěíňóřšťúůýž",
    "cv": "a-zа-яĕçăӳ",
    "cy": "a-zàáâèéêìíîïòóôûŵŷ",
    "da kl nn no": "a-zæøå",
    "et fiu-vro vep vro": "a-zäöõšüž",
    "fi": "a-zäö",
    "fo is": "a-záðíóúýþæöø",
    "frp": "a-zàâçéèêîœôû·’æäåāăëēïīòöōùü",
    "fy": "a-zàáèéìíòóùúâêîôûäëïöü",
    "gu": "\u0a80-\u0aff",
    "he yi": "a-zא-ת",
    "hu": "a-záéíóúöüőűÁÉÍÓÚÖÜŐŰ",
    "hy hyw": "a-zա-ֆև",
    "ka xmf": "a-zა-ჰ",
    "kk": "a-zäçéğıïñöşüýʺʹа-яёәғіқңөұүһٴابپتجحدرزسشعفقكلمنڭەوۇۋۆىيچھ",
    "ksh": "a-zäöüėëĳßəğåůæœç",
    "ku": "a-zçêîşûẍḧÇÊÎŞÛẌḦ",
    "lt bat-smg sgs": "a-ząčęėįšųūž",
    "mk": "a-zабвгдѓежзѕијклљмнњопрстќуфхцчџш",
    "ml": "a-z\u0d02-\u0d7f",
    "mn": _CYRILLIC + "өү",
    "mr": "\u0900-\u0963\u0971-\u097f",
    "oc": "a-zàâçéèêîôû",
    "olo": "a-zčČšŠžŽäÄöÖ",
    "or": "a-z\u0b00-\u0b7f",
    "pa": "a-z\u0a01-\u0a75",
    "sk": "a-záäčďéíľĺňóôŕšťúýž",
    "sr": "a-zđćžščабвгдђежзијклљмнњопрстћуфхцчџш",
    "sv": "a-zåäöéÅÄÖÉ",
    "ta": "\u0b80-\u0bff",
    "te": "\u0c01-\u0c6f",
    "tg": _CYRILLIC + "ғӣқўҳҷ",
    "tk": "a-zÄäÇçĞğŇňÖöŞşÜüÝýŽž",
    "tt": _CYRILLIC + "ӘәӨөҮүҖҗҢңҺһ",
    "udm": "a-zа-яёӝӟӥӧӵ",
    "uz": "a-zʻʼ",
    "wa": "a-zåâêîôûçéè",
    "gan gan-hans wuu zh zh-classical lzh zh-yue yue": "",
}


@cache
def link_trail(language: str) -> str:
    """A regular expression of the letters that join a link on a wiki; it may match nothing."""
    for languages, letters in _LETTERS.items():
        if language in languages.split():
            return f"[{letters}]*+" if letters else ""
    return "[a-z]*+"
