"""A tool: a Python function that the model may call. `@tool` makes its spec from the annotations and the docstring.

What the spec can't express is refused when the module is imported, with TypeError, so that no turn ever meets it.
"""

import copy
import functools
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from logging import Logger
from typing import Annotated, Any, Generic, ParamSpec, TypeVar, get_args, get_origin, get_type_hints, overload

import msgspec

from agent.deadline import Deadline
from agent.tooling.schemas import checked_schema, schema_of_parameters, type_of_schema

P = ParamSpec("P")
R = TypeVar("R")
# Converse takes hyphens too, but Nova then writes calls that can't be parsed
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")


class ToolContext(msgspec.Struct, frozen=True):
    """What a tool may know of the turn it runs in: annotate a parameter with it; the model never sees that one.

    `caller` is blank for direct invocations, `anonymous` over HTTP without an authorizer, else the hash of the caller.
    `deadline` is the tool use's own: its time-out, or the turn's end where that comes first.
    """

    session_id: str
    caller: str
    tool_use_id: str
    deadline: Deadline
    logger: Logger


@dataclass(frozen=True, eq=False)
class Tool(Generic[P, R]):
    """A function with its spec. Calling it calls the function, so that it can be tested like any other."""

    name: str
    spec: dict[str, Any]  # {"toolSpec": ...}
    function: Callable[P, R]
    arguments: type  # what msgspec turns the model's input into
    names: Mapping[str, str]  # attribute of `arguments` -> parameter of the function
    context_parameter: str | None
    side_effects: bool
    needs_approval: bool | Callable[..., bool]
    timeout_seconds: float | None
    # of the function under @tool: its module and first line; a tool made otherwise has neither
    module: str = ""
    line: int = 0

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    def waits(self, value: dict[str, Any]) -> bool:
        """Whether a call with this input needs a person's yes. What can't be told needs one; what can't be run doesn't."""
        if self.needs_approval is False:
            return False
        try:
            arguments = self._arguments(value)
            return self.needs_approval is True or bool(self.needs_approval(**arguments))
        except msgspec.ValidationError:
            return False
        except Exception:  # noqa: BLE001 - code of the tool's author, which must not open the door by failing
            return True

    def bind(self, value: dict[str, Any], context: ToolContext) -> Callable[[], Any]:
        """The call with these arguments, not yet made. Raises msgspec.ValidationError, which names the field."""
        arguments = self._arguments(value)
        if self.context_parameter:
            arguments[self.context_parameter] = context
        function: Callable[..., Any] = self.function
        if inspect.iscoroutinefunction(function):
            import asyncio  # a tenth of a cold start, so only where a tool needs it

            return lambda: asyncio.run(function(**arguments))
        return functools.partial(function, **arguments)

    def _arguments(self, value: dict[str, Any]) -> dict[str, Any]:
        own = copy.deepcopy(value)  # the value stands in a message, and a tool may change what it gets
        parsed: object = msgspec.convert(own, self.arguments)
        given = {parameter: getattr(parsed, attribute) for attribute, parameter in self.names.items()}
        return {name: argument for name, argument in given.items() if argument is not msgspec.UNSET}


@overload
def tool(function: Callable[P, R], /) -> Tool[P, R]: ...
@overload
def tool(
    *,
    name: str = ...,
    side_effects: bool = ...,
    needs_approval: bool | Callable[..., bool] = ...,
    timeout_seconds: float | None = ...,
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...
def tool(
    function: Callable[P, R] | None = None,
    /,
    *,
    name: str = "",
    side_effects: bool = False,
    needs_approval: bool | Callable[..., bool] = False,
    timeout_seconds: float | None = None,
) -> Tool[P, R] | Callable[[Callable[P, R]], Tool[P, R]]:
    """Makes a tool of a function, as `@tool` or `@tool(side_effects=True)`.

    The model reads the docstring, and of each parameter its type and the text of `Annotated[type, "text"]`. Types: str, int,
    float, bool, Literal, Enum, dataclasses, and lists and optional ones of these. `side_effects` has the turn written down
    before the call, so that it is never run twice unasked. `needs_approval`, which implies them, has a person asked before
    the call: always, or where a function of the same arguments says so. `timeout_seconds` replaces TOOL_TIMEOUT_SECONDS.
    Raises TypeError or ValueError at import for what can't be expressed.
    """

    def decorate(function: Callable[P, R]) -> Tool[P, R]:
        before = getattr(function, "__globals__", {}).get(function.__qualname__)
        if isinstance(before, Tool) and before.module == function.__module__:
            raise ValueError(
                f"tool {before.name}: {function.__qualname__} is defined twice, first in line {before.line}"
            )
        changes = side_effects or needs_approval is not False
        return _from_function(function, name or function.__name__, changes, needs_approval, timeout_seconds)

    return decorate if function is None else decorate(function)


def tool_from_schema(
    name: str,
    description: str,
    schema: dict[str, Any],
    function: Callable[..., R],
    *,
    side_effects: bool = False,
    needs_approval: bool | Callable[..., bool] = False,
    timeout_seconds: float | None = None,
) -> Tool[..., R]:
    """Makes a tool from a JSON schema of an object; the function gets its properties as keyword arguments.

    Raises TypeError for a schema that not every model takes, ValueError for a bad name.
    """
    plain = checked_schema(schema)
    arguments, names = type_of_schema(plain)
    return Tool(
        _checked_name(name),
        _spec(name, description, plain),
        function,
        arguments,
        names,
        None,
        side_effects or needs_approval is not False,
        needs_approval,
        timeout_seconds,
    )


def _from_function(
    function: Callable[P, R],
    name: str,
    side_effects: bool,
    needs_approval: bool | Callable[..., bool],
    timeout_seconds: float | None,
) -> Tool[P, R]:
    where = f"tool {_checked_name(name)}"
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError as error:
        raise TypeError(f"{where}: an annotation can't be resolved: {error}") from None
    context, annotated, fields = None, {}, []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"{where}: parameter {parameter.name} must be a plain one, which can be given by name")
        if parameter.name not in hints:
            raise TypeError(f"{where}: parameter {parameter.name} has no annotation")
        hint = hints[parameter.name]
        if (get_args(hint)[0] if get_origin(hint) is Annotated else hint) is ToolContext:
            context = parameter.name
            continue
        required = parameter.default is parameter.empty
        annotated[parameter.name] = (hint, required)
        fields.append((parameter.name, hint) if required else (parameter.name, hint | _Unset, msgspec.UNSET))
    schema = schema_of_parameters(annotated, where)
    # attributes get names of their own, since a parameter may be called like a method of Struct
    names = {f"field_{number}": field[0] for number, field in enumerate(fields)}
    arguments = msgspec.defstruct(
        "Arguments",
        [(attribute, *field[1:]) for attribute, field in zip(names, fields, strict=True)],
        rename=names,
        forbid_unknown_fields=True,
        kw_only=True,
    )
    spec = _spec(name, inspect.getdoc(function) or "", schema)
    code = getattr(inspect.unwrap(function), "__code__", None)
    place = (function.__module__, code.co_firstlineno if code else 0)
    return Tool(name, spec, function, arguments, names, context, side_effects, needs_approval, timeout_seconds, *place)


_Unset = msgspec.UnsetType


def _checked_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"{name!r} can't be the name of a tool: it takes 1 to 64 letters, digits and _, a letter first"
        )
    return name


def _spec(name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    described = {"description": description.strip()} if description.strip() else {}  # Bedrock refuses a blank one
    return {"toolSpec": {"name": name, **described, "inputSchema": {"json": schema}}}
