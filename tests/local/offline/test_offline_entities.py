"""What is found in a question."""

import unicodedata

import pytest

from local.offline.entities import extract, labelled, numbers_in
from local.offline.names import asks_for_name, told_name


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("1990年5月10日生まれ", "1990-05-10"),
        ("1990年2月30日", "1990-02-30"),
        ("born 1990-05-10", "1990-05-10"),
        ("1990/5/9生まれ", "1990-05-09"),
    ],
)
def test_a_date_is_found_however_it_is_written(text: str, date: str) -> None:
    assert extract(text)["dates"] == [date]


def test_several_dates_keep_their_order_whatever_their_form() -> None:
    assert extract("from 2024年5月1日 until 2024-06-02")["dates"] == ["2024-05-01", "2024-06-02"]


def test_what_belongs_to_a_date_an_address_or_a_code_is_no_number() -> None:
    found = extract("On 2024-05-01 pay 12.5 for A-17 to a1@example.com, -3 times 1e3")
    assert numbers_in(found["rest"][0]) == [12.5, -3, 1000.0]
    assert found["codes"] == ["A-17"]
    assert found["emails"] == ["a1@example.com"]


def test_an_address_is_found_right_behind_japanese_text() -> None:
    assert extract("メールはhanako@example.comです")["emails"] == ["hanako@example.com"]


def test_infinity_is_no_number() -> None:
    assert numbers_in("1250 and 1e999") == [1250]


@pytest.mark.parametrize(
    ("text", "post"),
    [
        ("田中太郎（開発部 エンジニア、tanaka@example.com）の署名", ("田中太郎", "開発部", "エンジニア")),
        ("for John Smith (Sales, Manager, john@example.com)", ("John Smith", "Sales", "Manager")),
    ],
)
def test_a_person_is_found_with_department_and_title(text: str, post: tuple[str, str, str]) -> None:
    found = extract(unicodedata.normalize("NFKC", text))
    assert (found["people"][0], found["departments"], found["titles"]) == (post[0], [post[1]], [post[2]])


def test_a_value_behind_its_label_is_found_in_both_languages() -> None:
    assert labelled("name: Ann Lee, department: R&D", "department") == "R&D"
    assert labelled("部署は開発部、役職はエンジニアです", "title") == "エンジニア"
    assert labelled("the department that pays", "department") == ""


def test_places_are_found_and_times_are_not_taken_for_them() -> None:
    assert extract("明日の東京の天気は?")["places"] == ["東京"]
    assert extract("the weather in New York today")["places"] == ["New York"]
    assert extract("今日の天気")["places"] == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("こんにちは。私の名前はTaroです。", "Taro"),
        ("僕の名前は「花子」だよ", "花子"),
        ("My name is Taro Yamada.", "Taro Yamada"),
        ("hello, I'm Taro", "Taro"),
        ("私の名前は何ですか?", ""),
        ("猫の名前はタマです", ""),
        ("I'm happy", ""),
        ("my name is not important", ""),
    ],
)
def test_a_name_is_taken_only_where_the_user_tells_it(text: str, name: str) -> None:
    assert told_name([text]) == name


def test_the_name_told_last_counts() -> None:
    assert told_name(["My name is Taro.", "私の名前はHanakoです。", "thanks"]) == "Hanako"


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("私の名前を覚えていますか?", True),
        ("私の名前は?", True),
        ("What is my name?", True),
        ("do you remember my name?", True),
        ("Who am I?", True),
        ("私の名前はTaroです。", False),
        ("あなたの名前は?", False),
        ("What is your name?", False),
    ],
)
def test_asking_for_the_own_name_is_told_from_telling_it(text: str, asks: bool) -> None:
    assert asks_for_name(text) is asks
