"""A calculator without `eval`: an allow-list of syntax, exact where it can be, bounded in size and so in time.

No library does: numexpr and sympy `eval` the text, and simpleeval, the nearest, knows floats only (0.1+0.2), calculates
99999**100000, and doesn't read × and full-width digits.
"""

import ast
import math
import operator
import re
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Annotated

from agent.errors import ToolError
from agent.tooling.tool import tool

Number = Fraction | float  # a Fraction is exact, a float is not

_LONGEST = 1000  # characters of a formula; it bounds depth and the number of steps too
_BITS = 14_000  # of a numerator or denominator: 4,214 digits, and Python turns at most 4,300 into text
_SHOWN = 60  # characters up to which an exact decimal or fraction is written out
# Full-width forms of ASCII, and what stands for an operator. No general normalisation: it would make 22 of 2².
_SIGNS: dict[int, str] = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
_SIGNS |= {ord(sign): meant for sign, meant in zip("×✕✖·÷−–^π", [*"****/--", "**", "pi"], strict=True)}


@tool
def calculate(
    formula: Annotated[
        str,
        "the formula, such as (1 + 2) * 3 ** 2 / 7. Operators: + - * / // % (remainder) **. Functions: sqrt, exp, log(x) or "
        "log(x, base), log2, log10, sin, cos, tan, asin, acos, atan (radians), degrees, radians, abs, round(x) or round(x, "
        "digits), floor, ceil, min, max, factorial. Constants: pi, e. No thousands separators, no percent sign for percent",
    ],
) -> str:
    """Calculate a formula. The result is exact, or says that it is approximate."""
    if len(formula) > _LONGEST:
        raise ToolError(f"The formula is too long: it may have {_LONGEST:,} characters.")
    text = " ".join(formula.translate(_SIGNS).split())
    _check(text)
    try:
        return _told(_value(text, ast.parse(text, mode="eval").body))
    except ZeroDivisionError:
        raise ToolError("Division by zero has no result.") from None
    except OverflowError:
        raise _too_large() from None
    except ValueError:
        raise ToolError("The formula has no real result: a function or a power can't take what it is given.") from None
    except (SyntaxError, RecursionError, MemoryError):
        raise ToolError("The formula can't be read: check its operators and parentheses.") from None


def _check(text: str) -> None:
    """Refuses what Python would take in another sense than whoever wrote the formula."""
    if not text:
        raise ToolError("The formula is blank.")
    if strange := re.search(r"[^0-9A-Za-z_.,+*/%() -]", text):
        raise ToolError(
            f"The formula can't hold {strange[0]!r}: it takes numbers, + - * / // % **, parentheses, functions."
        )
    if re.search(r"[0-9.](?![eE][+-]?[0-9])[A-Za-z_]", text):
        raise ToolError("A number and a name need an operator between them, such as 2 * pi.")
    if re.search(r"[0-9],[0-9]{3}(?![0-9])", text):
        raise ToolError(
            "Write numbers without thousands separators, and a space after the comma between two arguments."
        )
    if re.search(r"% ?([-+*/%,)]|$)", text):
        raise ToolError("% is the remainder of a division here: for 10 percent write 10/100.")


def _value(text: str, formula: ast.expr) -> Number:
    """The formula's value: operands first, in a loop, so that depth costs no stack."""
    values: list[Number] = []
    waiting: list[tuple[ast.expr, bool]] = [(formula, False)]
    while waiting:
        node, is_ready = waiting.pop()
        operands = _operands(node)
        if not is_ready:
            waiting.append((node, True))
            waiting += [(operand, False) for operand in reversed(operands)]
            continue
        first = len(values) - len(operands)
        values[first:] = [_bounded(_apply(text, node, values[first:]))]
    return values[0]


def _operands(node: ast.expr) -> list[ast.expr]:
    """The allow-list of syntax."""
    match node:
        case ast.Constant() | ast.Name():
            return []
        case ast.UnaryOp(op=ast.UAdd() | ast.USub()):
            return [node.operand]
        case ast.BinOp() if type(node.op) in _OPERATORS:
            return [node.left, node.right]
        case ast.Call(func=ast.Name(), keywords=[]):
            return node.args
    raise ToolError("The formula may hold only numbers, + - * / // % **, parentheses, and the functions and constants.")


def _apply(text: str, node: ast.expr, arguments: list[Number]) -> Number:
    match node:
        case ast.Constant():
            return _literal(text[node.col_offset : node.end_col_offset])
        case ast.Name():
            if node.id not in _CONSTANTS:
                raise ToolError(f"There is no constant {node.id}. The constants are: {', '.join(_CONSTANTS)}.")
            return _CONSTANTS[node.id]
        case ast.UnaryOp():
            return -arguments[0] if isinstance(node.op, ast.USub) else arguments[0]
        case ast.BinOp():
            return _OPERATORS[type(node.op)](*arguments)
        case ast.Call(func=ast.Name(id=name)):
            return _call(name, arguments)
    raise AssertionError(node)


def _literal(text: str) -> Fraction:
    """From its text, since a float would have lost what was written."""
    if not re.fullmatch(r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?", text):
        raise ToolError(f"{text} is not a number that can be calculated with.")
    return Fraction(text)


def _call(name: str, arguments: list[Number]) -> Number:
    if name not in _FUNCTIONS:
        raise ToolError(f"There is no function {name}. The functions are: {', '.join(_FUNCTIONS)}.")
    function, least, most = _FUNCTIONS[name]
    if not least <= len(arguments) <= most:
        raise ToolError(f"{name} can't be called with {len(arguments)} arguments.")
    return function(*arguments)


def _bounded(value: Number) -> Number:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _too_large()
    elif _size(value) > _BITS:
        raise _too_large()
    return value


def _size(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def _too_large() -> ToolError:
    return ToolError("The result, or a step on the way to it, is too large.")


def _power(base: Number, exponent: Number) -> Number:
    if isinstance(base, Fraction) and isinstance(exponent, Fraction):
        if exponent.denominator == 1:
            # the result has at least so many bits: told before it is calculated
            if (_size(base) - 1) * abs(exponent.numerator) > _BITS:
                raise _too_large()
            return base**exponent.numerator
        if exponent.denominator == 2 and base >= 0:
            return _power(_square_root(base), Fraction(exponent.numerator))
    return math.pow(base, exponent)


def _square_root(value: Number) -> Number:
    if isinstance(value, Fraction) and value >= 0:
        root = Fraction(math.isqrt(value.numerator), math.isqrt(value.denominator))
        return root if root * root == value else math.sqrt(value)
    return math.sqrt(value)


def _logarithm(value: Number, base: Number = math.e) -> Number:
    near = _natural_logarithm(value) / _natural_logarithm(base)
    if isinstance(value, Fraction) and isinstance(base, Fraction):
        whole = Fraction(round(near))
        if (_size(base) - 1) * abs(whole) <= _BITS and _power(base, whole) == value:
            return whole
    return near


def _natural_logarithm(value: Number) -> float:
    if isinstance(value, Fraction) and value > 0 and _size(value) > 1000:  # may be beyond a float
        return math.log(value.numerator) - math.log(value.denominator)
    return math.log(value)


def _round(value: Number, digits: Number = Fraction(0)) -> Number:
    """Halves away from zero, as a person rounds, and not to even as Python does."""
    if not isinstance(digits, Fraction) or digits.denominator != 1 or abs(digits) > 100:
        raise ToolError("round takes a whole number of digits, from -100 to 100.")
    scale = Fraction(10) ** digits.numerator
    # a float is rounded as it reads: 2.675 up, although its nearest float lies below
    exact = value if isinstance(value, Fraction) else Fraction(repr(value))
    rounded = math.floor(abs(exact) * scale + Fraction(1, 2)) / scale
    return rounded if exact >= 0 else -rounded


def _factorial(value: Number) -> Fraction:
    if not isinstance(value, Fraction) or value.denominator != 1 or value < 0:
        raise ToolError("factorial takes a whole number that isn't negative.")
    if value > 1500:
        raise _too_large()
    return Fraction(math.factorial(value.numerator))


def _told(value: Number) -> str:
    if isinstance(value, float):
        return f"about {value:.15g}"
    if value.denominator == 1:
        return str(value.numerator)
    with localcontext(prec=16) as context:
        near = Decimal(value.numerator) / Decimal(value.denominator)
        about = f"about {near.normalize()}"
        context.prec = _SHOWN
        decimal = Decimal(value.numerator) / Decimal(value.denominator)
    if Fraction(decimal) == value:
        return f"{decimal:f}" if len(f"{decimal:f}") <= _SHOWN else f"{decimal}"
    fraction = f"{value.numerator}/{value.denominator}"
    return f"{fraction} ({about})" if len(fraction) <= _SHOWN else about


_CONSTANTS: dict[str, float] = {"pi": math.pi, "e": math.e}
_OPERATORS: dict[type[ast.operator], Callable[..., Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: lambda x, y: Fraction(x // y),
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
# name: what calculates it, the fewest and the most arguments
_FUNCTIONS: dict[str, tuple[Callable[..., Number], int, int]] = {
    "sqrt": (_square_root, 1, 1),
    "exp": (math.exp, 1, 1),
    "log": (_logarithm, 1, 2),
    "log2": (lambda x: _logarithm(x, Fraction(2)), 1, 1),
    "log10": (lambda x: _logarithm(x, Fraction(10)), 1, 1),
    **{name: (getattr(math, name), 1, 1) for name in ("sin", "cos", "tan", "asin", "acos", "atan")},
    "degrees": (math.degrees, 1, 1),
    "radians": (math.radians, 1, 1),
    "abs": (abs, 1, 1),
    "round": (_round, 1, 2),
    "floor": (lambda x: Fraction(math.floor(x)), 1, 1),
    "ceil": (lambda x: Fraction(math.ceil(x)), 1, 1),
    "min": (lambda *several: min(several), 1, _LONGEST),
    "max": (lambda *several: max(several), 1, _LONGEST),
    "factorial": (_factorial, 1, 1),
}
