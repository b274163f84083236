"""The calculation that a question asks for, in signs or in words of Japanese and English, as a tree of operations."""

import ast
import math
import re
from collections.abc import Callable
from dataclasses import dataclass

_MAX_CHARACTERS = 120  # of a formula: bounds the depth of the tree
_N = r"(-?\d{1,30}(?:\.\d{1,30})?)"
_FUNCTIONS = {
    "sine": "sine|sin|正弦|サイン",
    "cosine": "cosine|cos|余弦|コサイン",
    "tangent": "tangent|tan|正接|タンジェント",
    "cotangent": "cotangent|cot|余接|コタンジェント",
    "secant": "secant|sec|正割|セカント",
    "cosecant": "cosecant|csc|余割|コセカント",
    "sqrt": "square root|sqrt|平方根|ルート",
    "logarithm": "natural logarithm|logarithm|log|ln|対数",
}
# Operations said in words, each with how it is written, in the order of rewriting.
_IN_WORDS = [
    (rf"\bdivide {_N} by {_N}", r"(\1/\2)"),
    (rf"\b(?:quotient|ratio) of {_N} (?:and|to) {_N}", r"(\1/\2)"),
    (rf"\b(?:multiply|product of) {_N} (?:by|and|with) {_N}", r"(\1*\2)"),
    (rf"\b(?:add|sum of) {_N} (?:and|to|plus) {_N}", r"(\1+\2)"),
    (rf"\bsubtract {_N} from {_N}", r"(\2-\1)"),
    (rf"\bdifference (?:between|of) {_N} and {_N}", r"(\1-\2)"),
    (rf"{_N} ?を ?{_N} ?で割った(?:余り|あまり)", r"(\1%\2)"),
    (rf"{_N} ?を ?{_N} ?で(?:割|わ)", r"(\1/\2)"),
    (rf"{_N} ?[にを] ?{_N} ?[をで]?(?:掛け|かけ|乗)", r"(\1*\2)"),
    (rf"{_N} ?[にと] ?{_N} ?を(?:足|加え|たす|たし)", r"(\1+\2)"),
    (rf"{_N} ?から ?{_N} ?を引", r"(\1-\2)"),
    (r"(?<=[\d)]) ?(?:divided by|over|割る|÷) ?(?=[-\d(])", "/"),
    (r"(?<=[\d)]) ?(?:times|multiplied by|掛ける|かける|×) ?(?=[-\d(])", "*"),
    (r"(?<=[\d)]) ?(?:plus|足す|たす) ?(?=[-\d(])", "+"),
    (r"(?<=[\d)]) ?(?:minus|引く|ひく) ?(?=[-\d(])", "-"),
    (r"(?<=[\d)]) ?(?:to the power of|\^) ?(?=[-\d(])", "**"),
]
_DEGREES = r" ?(degrees?|deg|°|度)?(?: ?radians?| ?ラジアン)?"
_ASKS_FOR_A_VALUE = re.compile(
    r"what|calculate|compute|evaluate|how much|solve|計算|いくつ|いくら|答え|何|教えて|=|は\?", re.IGNORECASE
)
_RUN = re.compile(rf"(?:[\d.+\-*/% ()]|(?<=\d)[eE](?=[+-]?\d)|(?<![A-Za-z])(?:{'|'.join(_FUNCTIONS)})(?=\())+")
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.Pow: "power",
    ast.Mod: "modulo",
}


@dataclass(frozen=True)
class Operation:
    """An operation such as divide or sine on its operands, which are numbers or operations themselves."""

    name: str
    operands: tuple["Operation | float", ...]


@dataclass(frozen=True)
class Formula:
    """A calculation: `text` as it can be shown or given to a calculator, `root` as a tree."""

    text: str
    root: Operation

    @property
    def has_functions(self) -> bool:
        """Whether it needs more than the signs of arithmetic."""
        return any(name in self.text for name in _FUNCTIONS)


def find_formula(text: str) -> Formula | None:
    """The longest calculation that a text asks for, or None. Dates, codes and phone numbers must be blanked out."""
    text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text)
    written = _written(text)
    runs = sorted((found[0] for found in _RUN.finditer(written)), key=len, reverse=True)
    for run in runs:
        run = run.strip(" ./%=")
        if not re.search(r"\d", run) or len(run) > _MAX_CHARACTERS:
            continue
        formula = _parsed(run)
        said_in_words = written != text
        if formula and (said_in_words or _ASKS_FOR_A_VALUE.search(text) or len(run) >= 0.8 * len(text.strip())):
            return formula
    return None


def _written(text: str) -> str:
    """The text with operations and functions in words rewritten as a formula would have them."""
    for name, forms in _FUNCTIONS.items():
        latin = rf"(?<![A-Za-z])(?:{forms})(?![A-Za-z]) ?(?:of )?\(? ?{_N}{_DEGREES} ?\)?"
        text = re.sub(latin, _as_call(name), text, flags=re.IGNORECASE)
        text = re.sub(rf"{_N}{_DEGREES} ?の ?(?:{forms})", _as_call(name), text)
    for pattern, replacement in _IN_WORDS:
        text = re.sub(pattern, replacement, text, flags=re.IGNORECASE)
    return text


def _as_call(name: str) -> Callable[[re.Match[str]], str]:
    def call(found: re.Match[str]) -> str:
        # functions of angles take radians, in mathematics and in every common library
        return f"{name}({math.radians(float(found[1])) if found[2] else found[1]})"

    return call


def _parsed(text: str) -> Formula | None:
    try:
        body = ast.parse(text, mode="eval").body
        root = _tree(body)
    except (
        SyntaxError,
        ValueError,
        OverflowError,
        MemoryError,
        RecursionError,
    ):  # brackets, leading zeros, huge numbers
        return None
    return Formula(ast.unparse(body), root) if isinstance(root, Operation) else None


def _tree(node: ast.expr) -> Operation | float:
    """The tree of a parsed formula. Raises ValueError for anything that is no arithmetic."""
    match node:
        case ast.Constant(value=int() | float() as number) if math.isfinite(number):
            return float(number) if abs(number) > 2**53 else number
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            value = _tree(operand)
            return Operation("multiply", (-1, value)) if isinstance(value, Operation) else -value
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return Operation(_OPERATORS[type(op)], (_tree(left), _tree(right)))
        case ast.Call(func=ast.Name(id=name), args=[argument]):
            return Operation(name, (_tree(argument),))
    raise ValueError(f"no arithmetic: {type(node).__name__}")
