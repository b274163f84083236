"""Words of a text, Japanese or English, reduced so that a question and a tool's description can be compared."""

import re

# One concept a line: the word it is counted as, and other forms. General vocabulary, tied to no particular tool.
_LEXICON = """
add sum plus addition 足 加え 合計
subtract minus subtraction 引
multiply times product multiplication 掛け
divide division 割
sine sin 正弦 サイン
cosine cos 余弦 コサイン
tangent tan 正接 タンジェント
formula expression equation 式
signature 署名
fortune horoscope 運勢 占
birthday birth born 生まれ 誕生日
weather forecast 天気
name 名前 氏名
email mail メール
department dept 部署
title position role 役職
order purchase 注文
refund 返金
ticket チケット
status state 状況 状態
"""
# Words that say nothing about which tool is meant.
_EMPTY_WORDS = (
    "a an and are as at be by can could do does for from get give has have how i in into is it make create me my of on"
    " or please tell that the their them this to use want was what when where which who will with would you your show"
    " find look fetch return value given person number"
)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_JAPANESE_RUN = re.compile(r"[一-龯々]{2,}|[ァ-ヶー]{3,}")


def words(text: str) -> frozenset[str]:
    """The telling words of a text: English stems, concepts of the lexicon, pairs of kanji and runs of katakana."""
    english = {_stem(word) for word in _WORD.findall(text)}
    found = english | {concept for concept, forms in _FORMS.items() if any(_holds(text, english, f) for f in forms)}
    for run in _JAPANESE_RUN.findall(text):
        found |= {run} if "ァ" <= run[0] <= "ヶ" else {run[i : i + 2] for i in range(len(run) - 1)}
    return frozenset(found) - _EMPTY_STEMS


def forms_of(word: str) -> tuple[str, ...]:
    """The ways to write a concept in a text: the word itself and the lexicon's other forms of it."""
    return (word, *next((forms for forms in _FORMS.values() if _stem(word) in map(_stem, forms)), ()))


def is_japanese(text: str) -> bool:
    """Whether a text holds Japanese letters."""
    return re.search(r"[ぁ-んァ-ヶ一-龯]", text) is not None


def _stem(word: str) -> str:
    """An English word without its ending, so that divide, divides and divided agree."""
    word = word.lower()
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            return word[: -len(ending)]
    return word


def _holds(text: str, english: set[str], form: str) -> bool:
    return _stem(form) in english if form.isascii() else form in text


_FORMS = {_stem(line.split()[0]): tuple(line.split()) for line in _LEXICON.strip().splitlines()}
_EMPTY_STEMS = frozenset(_stem(word) for word in _EMPTY_WORDS.split())
