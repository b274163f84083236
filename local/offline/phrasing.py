"""What the offline model says, in the language of the question."""

import re
from collections.abc import Sequence

from local.offline.calculation import Progress
from local.offline.choosing import Choice
from local.offline.conversation import Call
from local.offline.formulas import Formula
from local.offline.results import report_of
from local.offline.words import is_japanese

_GREETING = re.compile(
    r"\s*(?:こんにちは|こんばんは|おはよう|はじめまして|hello|hi|hey|good (?:morning|evening))\b", re.IGNORECASE
)


def before_tools(question: str, names: Sequence[str]) -> str:
    """The sentence before tool uses."""
    listed = ", ".join(dict.fromkeys(names))
    return f"{listed} を使います。" if is_japanese(question) else f"I use {listed}."


def results(question: str, calls: Sequence[Call]) -> str:
    """What the tools returned, word for word, the errors as such."""
    return "\n\n".join(_result(question, call) for call in calls)


def value(question: str, formula: Formula, progress: Progress) -> str:
    """The value of a formula that was worked out."""
    shown = f"{formula.text} = {progress.value}"
    return f"計算の結果は {shown} です。" if is_japanese(question) else f"The result is {shown}."


def concluded(question: str, calls: Sequence[Call]) -> str:
    """An answer from what there is, where further tool use would be needed but is not wanted."""
    if is_japanese(question):
        found = results(question, calls) or "まだ結果はありません。"
        return f"これ以上ツールを使わずにお答えします。\n\n{found}"
    return f"I answer without further tools.\n\n{results(question, calls) or 'There are no results yet.'}"


def missing(question: str, choice: Choice) -> str:
    """A request for the parameters that the question leaves open."""
    texts = {name: choice.tool.parameters.get(name, {}).get("description", "") for name in choice.missing}
    listed = ", ".join(f"{name} ({text})" if text else name for name, text in texts.items())
    if is_japanese(question):
        return f"{choice.tool.name} を使うには、次の情報が必要です: {listed}"
    return f"To use {choice.tool.name} I need: {listed}"


def no_calculation(question: str, formula: Formula) -> str:
    """That no offered tool can work out a formula."""
    if is_japanese(question):
        return f"{formula.text} を計算できるツールがないため、お答えできません。"
    return f"I can't work out {formula.text}: none of the tools I am offered does that."


def name_recalled(question: str, name: str) -> str:
    """The user's name, or that it isn't known."""
    if is_japanese(question):
        return (
            f"はい、あなたのお名前は{name}です。"
            if name
            else "お名前はわかりません。この会話の中ではまだ伺っていません。"
        )
    return f"Your name is {name}." if name else "I don't know your name: this conversation doesn't hold it."


def name_noted(question: str, name: str) -> str:
    """An acknowledgement of the name that was told."""
    if is_japanese(question):
        return f"{name}さん、はじめまして。お名前を伺いました。"
    return f"Nice to meet you, {name}."


def nothing_fits(question: str) -> str:
    """That no offered tool fits the question, and what answers here."""
    if is_japanese(question):
        hello = "こんにちは。" if _GREETING.match(question) else ""
        return f"{hello}私はオフラインの代役で、言語モデルではありません。この質問に合うツールがありません。"
    hello = "Hello. " if _GREETING.match(question) else ""
    return (
        f"{hello}I am an offline stand-in, not a language model, and none of the tools I am offered fits this question."
    )


def _result(question: str, call: Call) -> str:
    said = report_of(call)
    if is_japanese(question):
        intro = f"{call.tool} はエラーを返しました:" if call.failed else f"{call.tool} の結果です。"
        return f"{intro}\n{said or '(内容はありません)'}"
    intro = f"{call.tool} failed:" if call.failed else f"{call.tool} returned:"
    return f"{intro}\n{said or '(nothing)'}"
