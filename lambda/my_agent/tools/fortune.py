"""Fortunes by birthday."""

import re
from datetime import date
from typing import Annotated

from agent.errors import ToolError
from agent.tooling.tool import tool

_FORTUNES = ("大吉", "中吉", "吉", "末吉", "小吉")
_COLORS = ("ゴールド", "エメラルドグリーン", "ロイヤルブルー", "ラベンダー", "コーラルピンク")
_NUMBERS = (7, 3, 8, 2, 5)


@tool
def read_fortune(birthday: Annotated[str, "date of birth, YYYY-MM-DD"]) -> dict[str, str | int]:
    """Tell the fortune of a person from the birthday."""
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", birthday):
        raise ToolError("birthday must be a date written as YYYY-MM-DD, such as 1990-05-10.")
    try:
        born = date.fromisoformat(birthday)
    except ValueError:
        raise ToolError(f"{birthday} is not a date that exists (この日付は存在しません).") from None
    index = (born.year + born.month + born.day) % 5
    return {"fortune": _FORTUNES[index], "lucky_color": _COLORS[index], "lucky_number": _NUMBERS[index]}
