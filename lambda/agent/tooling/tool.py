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
from agent.tooling.own_code import outcome
from agent.tooling.schemas import Schema, Value, WrongArgumentsError, converter, schema_of_values, takes_none

P = ParamSpec("P")
R = TypeVar("R")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
# Anthropic refuses every request with another one at the root of a schema: aws-solutions-library-samples/
# accelerated-intelligent-document-processing-on-aws#709
_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")


class ToolContext(msgspec.Struct, frozen=True):
    """What a tool may know of the turn it runs in: annotate a parameter with it; the model never sees that one.

    `caller` is blank for direct invocations, `anonymous` over HTTP without an authorizer, else the hash of the caller.
    `approver` is who said yes to this very call, likewise a hash or `anonymous`, `direct` for a direct invocation, and blank
    where nobody was asked.
    `deadline` is the tool use's own: its time-out, or the turn's end where that comes first. `secrets` are those that the .toml
    of the tool's module names.
    """

    session_id: str
    caller: str
    tool_use_id: str
    deadline: Deadline
    logger: Logger
    secrets: Mapping[str, str] = {}
    approver: str = ""


@dataclass(frozen=True, eq=False)
class Tool(Generic[P, R]):
    """A function with its spec. Calling it calls the function, so that it can be tested like any other."""

    name: str
    spec: dict[str, Any]  # {"toolSpec": ...}
    function: Callable[P, R]
    arguments: Callable[[dict[str, Any]], dict[str, Any]]  # the function's, for an input; raises WrongArgumentsError
    context_parameter: str | None
    side_effects: bool
    needs_approval: bool | Callable[..., bool]
    timeout_seconds: float | None
    # of the function under @tool: its module and first line, else blank; once it is loaded, the module that offers it
    module: str = ""
    line: int = 0

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    def waits(self, value: dict[str, Any]) -> bool:
        """Whether a call with this input needs a person's yes. What can't be told needs one; what can't be run doesn't."""
        if self.needs_approval is False:
            return False
        waits, error = outcome(lambda: self._waits(self.arguments(copy.deepcopy(value))))
        # a rule that fails must not open the door
        return not isinstance(error, WrongArgumentsError) if error else bool(waits)

    def _waits(self, arguments: dict[str, Any]) -> bool:
        return self.needs_approval(**arguments) if callable(self.needs_approval) else self.needs_approval

    def bind(self, value: dict[str, Any], context: ToolContext) -> Callable[[], Any]:
        """The call with these arguments, not yet made. Raises WrongArgumentsError, which names the field."""
        arguments = self.arguments(
            copy.deepcopy(value)
        )  # the value stands in a message, and a tool may change what it gets
        if self.context_parameter:
            arguments[self.context_parameter] = context
        function: Callable[..., Any] = self.function
        if inspect.iscoroutinefunction(function):
            import asyncio  # a tenth of a cold start, so only where a tool needs it

            return lambda: asyncio.run(function(**arguments))
        return functools.partial(function, **arguments)


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
    schema: Mapping[str, Any],
    function: Callable[..., R],
    *,
    side_effects: bool = False,
    needs_approval: bool | Callable[..., bool] = False,
    timeout_seconds: float | None = None,
) -> Tool[..., R]:
    """Makes a tool from a JSON schema (Draft 2020-12) of an object; the function gets its properties as keyword arguments.

    The values are those that came, judged by the schema itself; a parameter annotated ToolContext gets the context. What
    OpenAI's API takes as a tool is taken as `schema`, too. The .in of the module has to name jsonschema and google-re2.
    Raises TypeError for a schema that no model can be told, ValueError for a bad name.
    """
    if isinstance(schema, dict) and schema.get("type") == "function":
        schema = schema.get("function") or schema
        name, description = name or schema.get("name", ""), description or schema.get("description", "")
        schema = schema.get("parameters") or {}
    where = f"tool {_checked_name(name)}"
    try:
        from agent.tooling.validation import judged  # slow to import, and few need it

        told, check = judged(schema)
        signature = _signature(function)
    except (TypeError, NameError) as error:
        raise TypeError(f"{where}: {error}") from None
    contexts = (
        [each.name for each in signature.parameters.values() if _is_context(each.annotation)] if signature else []
    )
    context = contexts[0] if contexts else None
    if context in told.schema["properties"]:
        raise TypeError(f"{where}: its schema has a property {context}, which is the parameter for the context")

    def arguments(value: dict[str, Any]) -> dict[str, Any]:
        check(value)
        try:
            if signature:
                signature.bind(**value, **({context: None} if context else {}))
        except TypeError as error:  # the schema allows what the function doesn't know
            raise WrongArgumentsError(str(error)) from None
        return value

    changes = side_effects or needs_approval is not False
    spec = spec_of(name, f"{description or ''}\n\n{told.sentence}", told.schema)
    return Tool(name, spec, function, arguments, context, changes, needs_approval, timeout_seconds)


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function, eval_str=True)
    except ValueError:  # a builtin doesn't always tell
        return None


def _is_context(hint: Any) -> bool:
    return (get_args(hint)[0] if get_origin(hint) is Annotated else hint) is ToolContext


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
    context, parameters = None, {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"{where}: parameter {parameter.name} must be a plain one, which can be given by name")
        if parameter.name not in hints:
            raise TypeError(f"{where}: parameter {parameter.name} has no annotation")
        hint = hints[parameter.name]
        if _is_context(hint):
            context = parameter.name
            continue
        has_default = parameter.default is not parameter.empty
        parameters[parameter.name] = Value(hint, has_default, not has_default and not takes_none(hint))
    spec = spec_of(name, inspect.getdoc(function) or "", schema_of_values(parameters, where))
    arguments = converter(parameters)
    code = getattr(inspect.unwrap(function), "__code__", None)
    place = (function.__module__, code.co_firstlineno if code else 0)
    return Tool(name, spec, function, arguments, context, side_effects, needs_approval, timeout_seconds, *place)


def _checked_name(name: str) -> str:
    if not _NAME.fullmatch(str(name or "")):
        raise ValueError(
            f"{name!r} can't be the name of a tool: it takes 1 to 64 letters, digits, _ and -, a letter first"
        )
    return name


def spec_of(name: str, description: str, schema: Schema) -> dict[str, Any]:
    """The spec of a tool. Raises TypeError for a parameter that no provider takes by its name."""
    for parameter in schema["properties"]:
        if not _PROPERTY.fullmatch(parameter):
            raise TypeError(
                f"tool {name}: a parameter can't be called {parameter!r}: it takes 1 to 64 of a-z A-Z 0-9 _ . -"
            )
    described = {"description": description.strip()} if description.strip() else {}  # Bedrock refuses a blank one
    return {"toolSpec": {"name": name, **described, "inputSchema": {"json": schema}}}
