"""The offline model: one Converse request in, one reply out, by rules alone.

It keeps no state and knows only what the request holds, so the same request always gets the same reply.
"""

from collections.abc import Sequence
from typing import Any

from local.bedrock.reply import Reply, text_reply, tool_use_reply
from local.offline.arithmetic import find_formula, is_arithmetic, work_out
from local.offline.choosing import choose
from local.offline.conversation import Call, Conversation, read
from local.offline.entities import extract
from local.offline.names import asks_for_name, told_name
from local.offline.words import is_japanese

BANNER = (
    "The offline model is no language model: it answers by fixed rules, from the request and the tools' results alone."
)
# Families that refuse a message with both text and tool uses.
_TOOL_USES_STAND_ALONE = ("meta.", "mistral.")
# What it says, in Japanese and in English.
_USING = ("{} を使います。", "I use {}.")
_RESULT = ("{} の結果です。\n{}", "{} returned:\n{}")
_ERROR = ("{} はエラーを返しました:\n{}", "{} failed:\n{}")
_VALUE = ("計算の結果は {} = {} です。", "The result is {} = {}.")
_CONCLUDED = ("これ以上ツールを使わずにお答えします。\n\n{}", "I answer without further tools.\n\n{}")
_MISSING = ("{} を使うには、次の情報が必要です: {}", "To use {} I need: {}")
_NO_CALCULATION = (
    "{} を計算できるツールがありません。",
    "I can't work out {}: none of the tools I am offered does that.",
)
_NAME = ("はい、あなたのお名前は{}です。", "Your name is {}.")
_NO_NAME = (
    "お名前はわかりません。この会話の中ではまだ伺っていません。",
    "I don't know your name: this conversation doesn't hold it.",
)
_NAME_NOTED = ("{}さん、はじめまして。お名前を伺いました。", "Nice to meet you, {}.")
_NO_TOOL = (
    "私はオフラインの代役で、言語モデルではありません。この質問に合うツールがありません。",
    "I am an offline stand-in, not a language model, and none of the tools I am offered fits this question.",
)


def answer(model_id: str, request: dict[str, Any]) -> Reply:
    """Answer the body of a Converse request, with tool uses or with text. Never raises."""
    conversation = read(request)
    question = conversation.question
    decision = _decide(conversation)
    if conversation.concluding and not isinstance(decision, str):
        decision = _say(question, _CONCLUDED, _results(question, conversation.calls))
    if isinstance(decision, str):
        return text_reply(decision.encode(errors="replace").decode())
    first = len(conversation.use_ids)
    while any(f"tooluse_{first + more}" in conversation.use_ids for more in range(len(decision))):
        first += 1  # a history that was cut at its start holds later ones
    alone = any(family in model_id for family in _TOOL_USES_STAND_ALONE)
    names = ", ".join(dict.fromkeys(name for name, _ in decision))
    uses = [(f"tooluse_{number}", name, given) for number, (name, given) in enumerate(decision, first)]
    return tool_use_reply(*uses, text="" if alone else _say(question, _USING, names))


def _decide(conversation: Conversation) -> str | Sequence[tuple[str, dict[str, Any]]]:
    """The text to answer, or the tool uses to ask for as (name, input)."""
    question, calls = conversation.question, conversation.calls
    formula = find_formula(extract(question)["rest"][0])
    outcome = work_out(formula, conversation.tools, calls) if formula else None
    if isinstance(outcome, list):
        return outcome
    if isinstance(outcome, Call):
        return _results(question, [outcome])
    if formula and outcome is not None:
        return _say(question, _VALUE, formula.text, outcome)
    if asks_for_name(question):
        name = told_name(conversation.told)
        return _say(question, _NAME, name) if name else _say(question, _NO_NAME)
    choices = choose(question, [tool for tool in conversation.tools if not (formula and is_arithmetic(tool))])
    made = [(call.tool, call.input) for call in calls]
    complete = [(choice.tool.name, choice.input) for choice in choices if not choice.missing]
    wanted = [use for use in complete if use not in made]
    if wanted:
        return wanted
    if calls:
        return _results(question, calls)
    if choices:
        parameters = choices[0].tool.parameters
        needed = (f"{name} ({parameters.get(name, {}).get('description', '')})" for name in choices[0].missing)
        return _say(question, _MISSING, choices[0].tool.name, ", ".join(needed))
    if formula:
        return _say(question, _NO_CALCULATION, formula.text)
    if name := told_name([question]):
        return _say(question, _NAME_NOTED, name)
    return _say(question, _NO_TOOL)


def _say(question: str, texts: tuple[str, str], *parts: object) -> str:
    return texts[not is_japanese(question)].format(*parts)


def _results(question: str, calls: Sequence[Call]) -> str:
    """What the tools returned, word for word, the errors as such."""
    return "\n\n".join(_say(question, _ERROR if call.failed else _RESULT, call.tool, call.report) for call in calls)
