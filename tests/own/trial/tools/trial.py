"""The tools of the agent that the engine is tested with, whatever the user's own are."""

import math
from typing import Annotated

from agent.errors import ToolError
from agent.tooling.tool import tool


@tool
def sine(x: Annotated[float, "angle in radians"]) -> float:
    """Compute the sine of an angle."""
    return math.sin(x)


@tool
def cosine(x: Annotated[float, "angle in radians"]) -> float:
    """Compute the cosine of an angle."""
    return math.cos(x)


@tool
def divide_numbers(x: Annotated[float, "dividend"], y: Annotated[float, "divisor"]) -> float:
    """Divide x by y."""
    if not y or math.isinf(x / y):
        raise ToolError("There is no such result.")
    return x / y


@tool
def make_card(name: Annotated[str, "of the person"], email: Annotated[str, "where to write to"]) -> dict[str, str]:
    """Make a card for a person."""
    return {"name": f"名前-{name}", "email": email}
