"""Words of a text, Japanese or English, reduced so that a question and a tool's description can be compared."""

import re

# One concept a line: the word it is counted as, and other forms. General vocabulary, tied to no particular tool.
_LEXICON = {
    "add": "sum plus addition total 足 加え 合計",
    "subtract": "minus difference subtraction 引 差",
    "multiply": "times product multiplication 掛け かけ 乗",
    "divide": "division quotient 割",
    "modulo": "remainder modulus 余り 剰余",
    "power": "exponentiation 累乗",
    "sine": "sin 正弦",
    "cosine": "cos 余弦 コサイン",
    "tangent": "tan 正接 タンジェント",
    "cotangent": "cot 余接 コタンジェント",
    "secant": "sec 正割 セカント",
    "cosecant": "csc 余割 コセカント",
    "sqrt": "square_root 平方根 ルート",
    "logarithm": "log ln 対数",
    "formula": "expression equation 式 数式",
    "calculate": "compute evaluate calculator 計算",
    "signature": "署名 sign-off",
    "fortune": "horoscope luck 運勢 占 運気",
    "birthday": "birth born birthdate dob 生まれ 誕生日 生年月日",
    "date": "day 日付 日にち",
    "weather": "forecast 天気 天候 気象 予報",
    "temperature": "温度 気温",
    "celsius": "centigrade 摂氏",
    "fahrenheit": "華氏",
    "name": "名前 氏名",
    "email": "mail メール",
    "department": "division dept 部署 部門 所属",
    "title": "position role 役職 肩書",
    "company": "会社 企業",
    "employee": "staff 社員 従業員",
    "customer": "client 顧客 お客",
    "order": "purchase 注文",
    "ticket": "チケット",
    "status": "state 状態 状況 ステータス",
    "convert": "conversion 変換 換算",
    "dice": "die サイコロ さいころ",
    "roll": "throw 振",
    "side": "面",
    "translate": "translation 翻訳 訳",
    "search": "検索 調べ 探",
    "time": "clock 時刻 何時 時間",
    "price": "cost 価格 値段 料金",
    "stock": "inventory 在庫",
    "news": "ニュース",
    "city": "town place location 都市 場所",
    "send": "送信 送って",
    "delete": "remove 削除 消して",
    "book": "reserve reservation 予約",
    "schedule": "calendar appointment 予定",
    "user": "ユーザー 利用者",
    "document": "文書 ドキュメント",
    "summary": "summarize 要約",
    "random": "乱数 ランダム",
    "average": "mean 平均",
}
# Words that say nothing about which tool is meant.
_EMPTY_WORDS = (
    "a an and are as at be by can could do does for from get give has have how i in into is it its make create me my"
    " of on or please read tell that the their them this to use want was what when where which who will with would you"
    " your show find look fetch return value given person someone number"
)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_JAPANESE_RUN = re.compile(r"[一-龯々]{2,}|[ァ-ヶー]{3,}")


def words(text: str) -> frozenset[str]:
    """The telling words of a text: English stems, concepts of the lexicon, pairs of kanji and runs of katakana."""
    english = {stem(word) for word in _WORD.findall(text)}
    found = english | {concept for concept, forms in _FORMS.items() if any(_holds(text, english, f) for f in forms)}
    for run in _JAPANESE_RUN.findall(text):
        found |= {run} if run[0] >= "ァ" and run[0] <= "ヶ" else {run[i : i + 2] for i in range(len(run) - 1)}
    return frozenset(found) - _EMPTY_STEMS


def forms_of(word: str) -> tuple[str, ...]:
    """The ways to write a concept in a text: the word itself and the lexicon's other forms of it."""
    concept = next((c for c, forms in _FORMS.items() if stem(word) == c or stem(word) in map(stem, forms)), "")
    return (word, *(form for form in _FORMS.get(concept, ()) if form != word))


def stem(word: str) -> str:
    """An English word without its ending, so that divide, divides and divided agree."""
    word = word.lower()
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            return word[: -len(ending)]
    return word


def is_japanese(text: str) -> bool:
    """Whether a text holds Japanese letters."""
    return re.search(r"[ぁ-んァ-ヶ一-龯]", text) is not None


def _holds(text: str, english: set[str], form: str) -> bool:
    return stem(form) in english if form.isascii() and form.isalpha() else form in text.lower()


_FORMS = {stem(concept): (concept, *forms.split()) for concept, forms in _LEXICON.items()}
_EMPTY_STEMS = frozenset(stem(word) for word in _EMPTY_WORDS.split())
