"""A little arithmetic, exact to the last digit of a float."""

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
    if y == 0:
        raise ToolError("Division by zero has no result.")
    quotient = x / y
    if math.isinf(quotient):
        raise ToolError("The result is too large.")
    return quotient
