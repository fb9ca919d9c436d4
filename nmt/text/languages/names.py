"""English names of languages, from the Unicode Common Locale Data Repository (CLDR)."""

from __future__ import annotations

from functools import cache

from nmt.text.languages.language import Language

_NAMES = """
aa Afar; ab Abkhazian; ace Acehnese; ae Avestan; af Afrikaans; ak Akan; am Amharic; an Aragonese; ar Arabic; as
Assamese; ast Asturian; av Avaric; awa Awadhi; ay Aymara; az Azerbaijani; ba Bashkir; ban Balinese; be Belarusian; bem
Bemba; bg Bulgarian; bho Bhojpuri; bi Bislama; bjn Banjar; bm Bambara; bn Bangla; bo Tibetan; br Breton; bs Bosnian;
bug Buginese; ca Catalan; ce Chechen; ceb Cebuano; ch Chamorro; ckb Central Kurdish; co Corsican; cr Cree; crh Crimean
Tatar; cs Czech; cu Church Slavic; cv Chuvash; cy Welsh; da Danish; de German; dv Divehi; dyu Dyula; dz Dzongkha; ee
Ewe; el Greek; en English; eo Esperanto; es Spanish; et Estonian; eu Basque; fa Persian; ff Fula; fi Finnish; fil
Filipino; fj Fijian; fo Faroese; fr French; fur Friulian; fy Western Frisian; ga Irish; gd Scottish Gaelic; gl
Galician; gn Guarani; gsw Swiss German; gu Gujarati; gv Manx; ha Hausa; he Hebrew; hi Hindi; ho Hiri Motu; hr
Croatian; hsb Upper Sorbian; ht Haitian Creole; hu Hungarian; hy Armenian; hz Herero; ia Interlingua; id Indonesian;
ie Interlingue; ig Igbo; ii Sichuan Yi; ik Inupiaq; ilo Iloko; io Ido; is Icelandic; it Italian; iu Inuktitut; ja
Japanese; jv Javanese; ka Georgian; kab Kabyle; kam Kamba; kea Kabuverdianu; kg Kongo; ki Kikuyu; kj Kuanyama; kk
Kazakh; kl Kalaallisut; km Khmer; kmb Kimbundu; kn Kannada; ko Korean; kr Kanuri; ks Kashmiri; ku Kurdish; kv Komi; kw
Cornish; ky Kyrgyz; la Latin; lb Luxembourgish; lg Ganda; li Limburgish; lij Ligurian; lmo Lombard; ln Lingala; lo
Lao; lt Lithuanian; ltg Latgalian; lu Luba-Katanga; luo Luo; lus Mizo; lv Latvian; lzh Literary Chinese; mag Magahi;
mai Maithili; mg Malagasy; mh Marshallese; mi Māori; min Minangkabau; mk Macedonian; ml Malayalam; mn Mongolian; mni
Manipuri; mr Marathi; ms Malay; mt Maltese; my Burmese; na Nauru; nb Norwegian Bokmål; nd North Ndebele; nds Low
German; ne Nepali; ng Ndonga; nl Dutch; nn Norwegian Nynorsk; no Norwegian; nqo N'Ko; nr South Ndebele; nso Northern
Sotho; nv Navajo; ny Nyanja; oc Occitan; oj Ojibwa; om Oromo; or Odia; os Ossetic; pa Punjabi; pag Pangasinan; pap
Papiamento; pi Pali; pl Polish; ps Pashto; pt Portuguese; qu Quechua; rm Romansh; rn Rundi; ro Romanian; ru Russian;
rw Kinyarwanda; sa Sanskrit; sat Santali; sc Sardinian; scn Sicilian; sd Sindhi; se Northern Sami; sg Sango; sh
Serbo-Croatian; shn Shan; si Sinhala; sk Slovak; sl Slovenian; sm Samoan; sn Shona; so Somali; sq Albanian; sr
Serbian; ss Swati; st Southern Sotho; su Sundanese; sv Swedish; sw Swahili; syr Syriac; szl Silesian; ta Tamil; te
Telugu; tg Tajik; th Thai; ti Tigrinya; tk Turkmen; tl Tagalog; tn Tswana; to Tongan; tpi Tok Pisin; tr Turkish; ts
Tsonga; tt Tatar; tw Twi; ty Tahitian; tzm Central Atlas Tamazight; ug Uyghur; uk Ukrainian; umb Umbundu; ur Urdu; uz
Uzbek; ve Venda; vec Venetian; vi Vietnamese; vo Volapük; wa Walloon; war Waray; wo Wolof; xh Xhosa; yi Yiddish; yo
Yoruba; yue Cantonese; za Zhuang; zgh Standard Moroccan Tamazight; zh Chinese; zu Zulu
"""
_SCRIPTS = {"Arab": "Arabic", "Cyrl": "Cyrillic", "Hans": "Simplified", "Hant": "Traditional", "Latn": "Latin"}


def english_name(language: Language) -> str:
    """The name of a language, such as `French`, with script and region, such as `Chinese (Traditional)`. The name of an
    unknown language is its tag."""
    _, *others = language.tag.split("-")
    if language.code not in _names():
        return language.tag
    more = ", ".join(_SCRIPTS.get(subtag, subtag) for subtag in others)
    return _names()[language.code] + (f" ({more})" if more else "")


@cache
def _names() -> dict[str, str]:
    entries = (entry.partition(" ") for entry in " ".join(_NAMES.split()).split("; "))
    return {code: name for code, _, name in entries}
