"""Turns of the offline model: what it asks for and what it answers, with results that only these tests know."""

import math
from typing import Any

import pytest

from local.bedrock.reply import Reply
from local.offline.model import answer

TEXT, NUMBER, INTEGER = {"type": "string"}, {"type": "number"}, {"type": "integer"}


def spec(tool: str, description: str, /, **parameters: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": parameters, "required": list(parameters)}
    return {"toolSpec": {"name": tool, "description": description, "inputSchema": {"json": schema}}}


SIGNATURE = spec(
    "create_signature",
    "Create an e-mail signature for an employee of the company.",
    name=TEXT,
    department=TEXT,
    title=TEXT,
    email=TEXT,
)
FORTUNE = spec(
    "read_fortune",
    "Tell the fortune of a person from the birthday.",
    birthday={**TEXT, "description": "date of birth, YYYY-MM-DD"},
)
SINE = spec("sine", "The sine of x.", x={**NUMBER, "description": "x in radians"})
COSINE = spec("cosine", "The cosine of x.", x={**NUMBER, "description": "x in radians"})
DIVIDE = spec("divide_numbers", "Divide x by y.", x=NUMBER, y=NUMBER)
SHIPPED = [SIGNATURE, FORTUNE, SINE, COSINE, DIVIDE]
WEATHER = spec("get_weather", "The weather of a city.", city=TEXT)
ADD = spec("add_numbers", "Add two numbers.", a=NUMBER, b=NUMBER)
TEMPERATURE = spec(
    "convert_temperature", "Convert a temperature.", value=NUMBER, unit={**TEXT, "enum": ["celsius", "fahrenheit"]}
)
ORDER = spec("lookup_order", "Look up an order of a customer.", order_id=TEXT)
TICKET = spec("ticket_status", "The status of a support ticket.", ticket_id=TEXT)
DICE = spec("roll_dice", "Roll a die.", sides=INTEGER)
MADE_UP = [WEATHER, ADD, TEMPERATURE, ORDER, TICKET, DICE]


def says(role: str, *content: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "content": list(content)}


def ask(messages: list[dict[str, Any]] | str, tools: list[dict[str, Any]] = SHIPPED) -> Reply:
    if isinstance(messages, str):
        messages = [says("user", {"text": messages})]
    return answer(
        "amazon.nova-lite-v1:0",
        {"messages": messages, "toolConfig": {"tools": tools}} if tools else {"messages": messages},
    )


def uses_of(reply: Reply) -> list[tuple[str, dict[str, Any]]]:
    uses = [block["toolUse"] for block in reply.content if "toolUse" in block]
    assert (reply.stop_reason == "tool_use") == bool(uses)
    return [(use["name"], use["input"]) for use in uses]


def text_of(reply: Reply) -> str:
    assert uses_of(reply) == []
    return str(reply.content[0]["text"])


def with_results(
    messages: list[dict[str, Any]], reply: Reply, *results: tuple[str, dict[str, Any]]
) -> list[dict[str, Any]]:
    ids = [block["toolUse"]["toolUseId"] for block in reply.content if "toolUse" in block]
    blocks = [
        {"toolResult": {"toolUseId": use_id, "status": status, "content": [content]}}
        for use_id, (status, content) in zip(ids, results, strict=True)
    ]
    return [*messages, says("assistant", *reply.content), says("user", *blocks)]


def turn(question: str, *results: tuple[str, dict[str, Any]], tools: list[dict[str, Any]] = SHIPPED) -> Reply:
    """The reply to a question whose tool uses had these results, all in one step."""
    messages = [says("user", {"text": question})]
    return ask(with_results(messages, ask(messages, tools), *results), tools)


TANAKA = "田中太郎（開発部 エンジニア、tanaka@example.com）のメール署名を作って"


def test_a_signature_is_asked_for_with_what_the_question_says_of_the_person() -> None:
    person = {"name": "田中太郎", "department": "開発部", "title": "エンジニア", "email": "tanaka@example.com"}
    assert uses_of(ask(TANAKA)) == [("create_signature", person)]


def test_a_text_result_is_told_word_for_word() -> None:
    returned = "田中太郎\n合同会社やまびこ\nTEL 06-9999-0000"
    assert returned in text_of(turn(TANAKA, ("success", {"text": returned})))


def test_values_of_a_json_result_are_told() -> None:
    result = {"fortune": "並", "colour": "あかね", "stars": {"count": 4}, "list": [0.5, None, True]}
    said = text_of(turn("1990年5月10日生まれの人の運勢を占って", ("success", {"json": result})))
    assert 'fortune: 並\ncolour: あかね\nstars: {"count": 4}\nlist: [0.5, null, true]' in said


@pytest.mark.parametrize(
    ("question", "birthday"),
    [
        ("1990年5月10日生まれの人の運勢を占って", "1990-05-10"),
        ("1990年2月30日生まれの人の運勢を占って", "1990-02-30"),
        ("Tell me the fortune of someone born on 1990-05-10.", "1990-05-10"),
    ],
)
def test_a_fortune_is_asked_for_with_the_date_as_it_stands(question: str, birthday: str) -> None:
    assert uses_of(ask(question)) == [("read_fortune", {"birthday": birthday})]


@pytest.mark.parametrize("question", ["1990年2月30日生まれの人の運勢を占って", "My fortune? Born on 1990-02-30."])
def test_an_error_is_told_plainly_and_the_call_is_not_made_again(question: str) -> None:
    assert "no such day: 17" in text_of(turn(question, ("error", {"text": "no such day: 17"})))


def test_an_unoffered_function_is_tried_once_and_then_worked_out_from_what_was_returned() -> None:
    messages = [says("user", {"text": "What is the tangent of 7?"})]
    first = ask(messages)
    assert uses_of(first) == [("tangent", {"x": 7})]
    messages = with_results(messages, first, ("error", {"text": "There is no tool tangent; offered: sine, cosine"}))
    second = ask(messages)
    assert uses_of(second) == [("sine", {"x": 7}), ("cosine", {"x": 7})]
    messages = with_results(
        messages, second, ("success", {"json": {"result": 0.123456789012345}}), ("success", {"text": "-0.5"})
    )
    third = ask(messages)
    assert uses_of(third) == [("divide_numbers", {"x": 0.123456789012345, "y": -0.5})]
    messages = with_results(messages, third, ("success", {"json": {"result": -98.76543210987654}}))
    assert "-98.76543210987654" in text_of(ask(messages))
    ids = [block["toolUse"]["toolUseId"] for message in messages for block in message["content"] if "toolUse" in block]
    assert len(ids) == len(set(ids)) == 4


def test_a_function_that_is_offered_is_used_as_it_is() -> None:
    tangent = spec("tan", "Tangent of an angle in radians.", angle=NUMBER)
    assert uses_of(ask("What is the tangent of 7?", [*SHIPPED, tangent])) == [("tan", {"angle": 7})]


@pytest.mark.parametrize("tools", [[], [SINE, DIVIDE], [FORTUNE]])
def test_without_the_tools_for_it_a_calculation_is_declined(tools: list[dict[str, Any]]) -> None:
    assert "tangent(7)" in text_of(ask("What is the tangent of 7?", tools))


@pytest.mark.parametrize("question", ["What is sin(1)^2?", "What is sine of 1 / 2?", "What is (1 + 2) / 3?"])
def test_no_part_of_a_calculation_is_done_where_the_whole_cannot_be(question: str) -> None:
    assert "result" not in text_of(ask(question))


def test_a_failed_step_of_a_calculation_is_told() -> None:
    assert "ended with code 17" in text_of(turn("12 / 0", ("error", {"text": "ended with code 17"})))


@pytest.mark.parametrize(
    ("question", "use"),
    [
        ("12 / 4", ("divide_numbers", {"x": 12, "y": 4})),
        ("What is 3 + 4.5?", ("add_numbers", {"a": 3, "b": 4.5})),
        ("7の正弦を求めて", ("sine", {"x": 7})),
        ("What is the sine of 0.5?", ("sine", {"x": 0.5})),
        ("Roll a dice with 6 sides", ("roll_dice", {"sides": 6})),
        ("What's the weather in New York today?", ("get_weather", {"city": "New York"})),
        ("大阪の天気を教えて", ("get_weather", {"city": "大阪"})),
        ("Convert 100 celsius to fahrenheit", ("convert_temperature", {"value": 100, "unit": "celsius"})),
        ("Where is my order 12345?", ("lookup_order", {"order_id": "12345"})),
        ("What is the status of ticket T-1001?", ("ticket_status", {"ticket_id": "T-1001"})),
        ("チケット A-17 の状況は？", ("ticket_status", {"ticket_id": "A-17"})),
    ],
)
def test_any_tool_is_called_that_fits_the_question(question: str, use: tuple[str, dict[str, Any]]) -> None:
    assert uses_of(ask(question, SHIPPED + MADE_UP)) == [use]


def test_a_calculator_gets_the_whole_formula() -> None:
    calculate = spec("calculate", "Evaluate arithmetic.", formula=TEXT)
    assert uses_of(ask("What is (1 + 2) * 3?", [calculate])) == [("calculate", {"formula": "(1 + 2) * 3"})]


def test_a_tool_that_only_sounds_like_arithmetic_is_left_alone() -> None:
    cart = spec("add_to_cart", "Add an item to the cart.", item=INTEGER, quantity=INTEGER)
    assert "3 + 4" in text_of(ask("What is 3 + 4?", [cart]))


def test_a_tool_without_parameters_and_optional_parameters_are_handled() -> None:
    clock = spec("current_time", "The time of day.")
    booking = spec("book_table", "Book a table.", date=TEXT, guests=INTEGER, note=TEXT)
    booking["toolSpec"]["inputSchema"]["json"]["required"] = ["guests"]
    assert uses_of(ask("What time is it?", [clock, booking])) == [("current_time", {})]
    assert uses_of(ask("Book a table for 4 guests on 2024-05-01", [clock, booking])) == [
        ("book_table", {"date": "2024-05-01", "guests": 4})
    ]


def test_parameters_of_one_kind_are_filled_in_the_order_of_the_question() -> None:
    trip = spec("plan_trip", "Plan a trip.", start_date=TEXT, end_date=TEXT)
    dates = {"start_date": "2024-05-01", "end_date": "2024-05-03"}
    assert uses_of(ask("Plan a trip from 2024-05-01 until 2024-05-03", [trip])) == [("plan_trip", dates)]


def test_of_two_tools_for_the_same_thing_the_better_one_is_called() -> None:
    alerts = spec("weather_alerts", "Alerts for a city.", city=TEXT)
    assert uses_of(ask("Any alerts in the weather in Rome?", [WEATHER, alerts])) == [
        ("weather_alerts", {"city": "Rome"})
    ]


def test_two_wishes_in_a_question_are_two_tool_uses_of_one_step() -> None:
    asked = uses_of(ask(f"{TANAKA}、1990年5月10日生まれの運勢も占って"))
    assert sorted(name for name, _ in asked) == ["create_signature", "read_fortune"]


def test_what_a_tool_still_needs_is_asked_for() -> None:
    assert "birthday (date of birth, YYYY-MM-DD)" in text_of(ask("運勢を占って"))


NAME_TOLD = [says("user", {"text": "こんにちは。私の名前はTaroです。"}), says("assistant", {"text": "はい。"})]
NAME_ASKED = says("user", {"text": "私の名前を覚えていますか？"})


def test_a_name_is_noted_when_it_is_told() -> None:
    assert "Taro" in text_of(ask(NAME_TOLD[:1]))


def test_a_name_is_told_only_where_the_history_holds_it() -> None:
    assert "Taro" in text_of(ask([*NAME_TOLD, NAME_ASKED]))
    assert "わかりません" in text_of(ask([NAME_ASKED]))
    assert "don't know" in text_of(ask("What is my name?"))


def test_a_name_that_only_the_assistant_or_a_tool_said_is_not_the_users() -> None:
    history = [says("user", {"text": "hi"}), says("assistant", {"text": "My name is Robo. 私の名前はRoboです。"})]
    assert "Robo" not in text_of(ask([*history, NAME_ASKED]))


@pytest.mark.parametrize(
    "question",
    ["好きな食べ物は何ですか？", "おすすめの本を教えてください", "今日の天気について教えてください", "Hello!", "?"],
)
def test_where_no_tool_fits_it_says_what_it_is(question: str) -> None:
    said = text_of(ask(question))
    assert "言語モデルではありません" in said or "not a language model" in said


def test_tools_of_earlier_turns_are_not_reported_again() -> None:
    messages = [says("user", {"text": "12 / 4"})]
    messages = with_results(messages, ask(messages), ("success", {"text": "77"}))
    messages += [says("assistant", {"text": "77"}), says("user", {"text": "8 / 2"})]
    reply = ask(messages)
    assert uses_of(reply) == [("divide_numbers", {"x": 8, "y": 2})]
    assert reply.content[-1]["toolUse"]["toolUseId"] != messages[1]["content"][-1]["toolUse"]["toolUseId"]


def test_an_id_that_a_cut_history_still_holds_is_not_taken_again() -> None:
    use = {"toolUse": {"toolUseId": "tooluse_1", "name": "sine", "input": {"x": 1}}}
    result = {"toolResult": {"toolUseId": "tooluse_1", "status": "success", "content": [{"text": "1"}]}}
    history = [
        says("user", {"text": "hi"}),
        says("assistant", use),
        says("user", result),
        says("assistant", {"text": "1"}),
    ]
    assert ask([*history, says("user", {"text": "8 / 2"})]).content[-1]["toolUse"]["toolUseId"] == "tooluse_2"


@pytest.mark.parametrize("sentence", ["Answer now with what you have.", "You can use no more tools; please conclude."])
def test_asked_to_conclude_it_answers_with_what_it_has(sentence: str) -> None:
    messages = [says("user", {"text": "What is the tangent of 7?"})]
    messages = with_results(messages, ask(messages), ("error", {"text": "no such tool"}))
    messages = with_results(messages, ask(messages), ("success", {"text": "0.25"}), ("success", {"text": "0.75"}))
    messages[-1]["content"][-1]["toolResult"]["content"].append({"text": sentence})
    said = text_of(ask(messages))
    assert "0.25" in said
    assert "0.75" in said
    assert sentence not in said


def test_asked_to_conclude_behind_the_question_it_uses_no_tool_and_still_knows_the_name() -> None:
    sentence = {"text": "Answer now, without any tools."}
    text_of(ask([says("user", {"text": "12 / 4"}, sentence)]))
    assert "Taro" in text_of(ask([*NAME_TOLD, says("user", *NAME_ASKED["content"], sentence)]))


def test_families_that_refuse_text_beside_tool_uses_get_none() -> None:
    request = {"messages": [says("user", {"text": "12 / 4"})], "toolConfig": {"tools": SHIPPED}}
    assert [list(block) for block in answer("us.meta.llama4-scout-17b-instruct-v1:0", request).content] == [["toolUse"]]
    assert [list(block) for block in answer("amazon.nova-lite-v1:0", request).content] == [["text"], ["toolUse"]]


def test_the_same_request_gets_the_same_reply_and_stays_as_it_is() -> None:
    request = {"messages": [says("user", {"text": TANAKA})], "toolConfig": {"tools": SHIPPED}}
    before = repr(request)
    assert answer("m", request) == answer("m", request)
    assert repr(request) == before


def test_no_number_that_json_cannot_hold_is_sent() -> None:
    for question in ("1e999 / 4", "what is 9" + "9" * 100 + " / 4", "sine of 1e400"):
        for _, arguments in uses_of(ask(question)):
            assert all(math.isfinite(value) and abs(value) < 1e300 for value in arguments.values())
