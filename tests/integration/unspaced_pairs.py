"""Pairs of English and languages that write no spaces between words, made by small grammars."""

from __future__ import annotations

from itertools import product
from pathlib import Path

JAPANESE = {
    "who": {"I": "私", "my mother": "母", "my friend": "友達", "the teacher": "先生", "the child": "子供"},
    "what": {"water": "水", "an apple": "りんご", "bread": "パン", "a book": "本", "a picture": "絵", "fish": "魚"},
    "does": {
        "{who} wants {what} .": "{who}は{what}が欲しいです。",
        "{who} bought {what} yesterday .": "{who}は昨日{what}を買いました。",
        "{who} will find {what} here .": "{who}はここで{what}を見つけます。",
        "{who} has {what} , too .": "{who}も{what}を持っています。",
    },
}
THAI = {
    "who": {"I": "ฉัน", "my mother": "แม่ของฉัน", "my friend": "เพื่อนของฉัน", "the teacher": "คุณครู", "the child": "เด็ก"},
    "what": {
        "water": "น้ำ",
        "an apple": "แอปเปิ้ล",
        "bread": "ขนมปัง",
        "a book": "หนังสือ",
        "a picture": "รูปภาพ",
        "fish": "ปลา",
    },
    "does": {
        "{who} wants {what} .": "{who}อยากได้{what}",
        "{who} bought {what} yesterday .": "เมื่อวานนี้{who}ซื้อ{what}",
        "{who} will find {what} here .": "{who}จะหา{what}เจอที่นี่",
        "{who} has {what} , too .": "{who}ก็มี{what}เหมือนกัน",
    },
}


def write_pairs(directory: Path, grammar: dict[str, dict[str, str]]) -> list[str]:
    """120 pairs in the files `en` and `other`; gives the other side."""
    pairs = [
        (english.format(who=w, what=x), other.format(who=who, what=what))
        for (english, other), (w, who), (x, what) in product(*(grammar[k].items() for k in ("does", "who", "what")))
    ]
    for side, lines in zip(("en", "other"), zip(*pairs, strict=True), strict=True):
        (directory / side).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return [other for _, other in pairs]
