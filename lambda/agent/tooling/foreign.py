"""Tools made with LangChain or LlamaIndex, taken over as they are.

Neither package is imported, so that nobody needs it who doesn't use it: their tools are known by their attributes. What the
model sends is checked by the tool's own Pydantic class before anything runs; only a tool with a JSON schema needs jsonschema.
"""

import asyncio
import hashlib
import inspect
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from agent.errors import ToolError
from agent.tooling.schemas import WrongArgumentsError
from agent.tooling.told_schemas import Schema, Told, plain_schema, told_schema
from agent.tooling.tool import Tool, spec_of

_LONGEST_NAME = 64
_CONTEXT = "agent.tooling.tool.ToolContext"  # the keyword argument of the context: no property of a schema is called so
# What LangChain gives a function beside the model's arguments, outside of its own agents, too
_GIVEN = re.compile("InjectedToolCallId|RunnableConfig|CallbackManagerForToolRun")
_INJECTED = re.compile("Injected|ToolRuntime")  # the types of what the model isn't told of


class _Field(NamedTuple):
    name: str
    told: str  # the name that Pydantic takes
    mark: str  # its type and what is said of it
    required: bool


_Check = Callable[[dict[str, Any]], dict[str, Any]]


def adopted(
    thing: Any,
    *,
    side_effects: bool = False,
    needs_approval: bool | Callable[..., bool] = False,
    timeout_seconds: float | None = None,
) -> Tool[..., Any]:
    """A tool that runs this LangChain tool or LlamaIndex FunctionTool; the options are those of `@tool`.

    What stands in TOOLS as it is goes through here without options. Where the name is none that every model takes, it is
    changed to one. Raises TypeError for what is neither, and for what can't be told to a model or be run here.
    """
    if all(hasattr(thing, name) for name in ("name", "description", "args_schema", "invoke", "ainvoke")):
        about, make = thing, _langchain
    elif all(hasattr(thing, name) for name in ("metadata", "call", "acall")):
        about, make = thing.metadata, _llamaindex
    else:
        name = getattr(thing, "__name__", None)
        hint = f"the function {name}: put @tool above it" if inspect.isfunction(thing) else f"a {type(thing).__name__}"
        raise TypeError(f"a tool is made by @tool, by LangChain or by LlamaIndex, and this is {hint}")
    try:
        name = _valid_name(str(about.name or ""))
        told, arguments, call = make(thing)
        spec = spec_of(name, f"{about.description or ''}\n\n{told.sentence}", told.schema)
    except (TypeError, ValueError, NameError, AttributeError, RuntimeError) as error:  # Pydantic's own are of these
        raise TypeError(f"tool {about.name}: {error}") from error
    changes = side_effects or needs_approval is not False
    return Tool(name, spec, call, arguments, _CONTEXT, changes, needs_approval, timeout_seconds)


def _valid_name(name: str) -> str:
    """The name, or one like it that every model takes; a mark tells those apart that are cut or have no letter left."""
    valid = re.sub(r"[^A-Za-z0-9_-]+", "_", name).lstrip("_-")
    mark = hashlib.sha256(name.encode()).hexdigest()[:8]
    if not valid:
        return f"tool_{mark}"
    if not valid[0].isalpha():
        valid = f"tool_{valid}"
    return valid if len(valid) <= _LONGEST_NAME else f"{valid[: _LONGEST_NAME - 9]}_{mark}"


def _langchain(thing: Any) -> tuple[Told, _Check, Callable[..., Any]]:
    function = getattr(thing, "func", None) or getattr(thing, "coroutine", None) or thing._run
    parameters = inspect.signature(function).parameters.values()
    wanted = {each.name: str(each.annotation) for each in parameters if each.default is each.empty}
    variadic = {each.name for each in parameters if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD)}
    if isinstance(thing.args_schema, dict):
        from agent.tooling.validation import judged  # needs packages that no other tool does

        told, check = judged(thing.args_schema)
        _refuse_missing(wanted, variadic | told.schema["properties"].keys())
        return told, check, _langchain_call(thing)
    if thing.args_schema is None and "tool_input" in thing.args:  # `Tool`, whose function takes one text
        return _told({"type": "object", "properties": thing.args}), _one_text, _langchain_call(thing)
    kind = thing.get_input_schema()
    fields = list(_fields(kind))
    hidden = {each.name for each in fields if _INJECTED.search(each.mark)}
    offered = {each.name for each in fields} - hidden or set(_json_schema(kind).get("properties", ()))
    wanted |= {each.name: each.mark for each in fields if each.name in hidden and each.required}
    _refuse_missing(wanted, variadic | offered)
    untold = {each.told for each in fields if each.name in hidden or (each.name in variadic and not each.required)}
    schema = _json_schema(kind)
    schema["properties"] = {name: each for name, each in schema.get("properties", {}).items() if name not in untold}
    schema["required"] = [name for name in schema.get("required", ()) if name not in untold]
    told = _told(schema)
    filled = [each.name for each in fields if each.name in hidden and _GIVEN.search(each.mark)]
    return told, _checked_by(kind, told, filled), _langchain_call(thing)


def _refuse_missing(wanted: Mapping[str, str], offered: Iterable[str]) -> None:
    for name, mark in wanted.items():
        if name not in offered and not _GIVEN.search(mark):
            raise TypeError(f"its parameter {name} is given by LangChain's own agents alone")


def _langchain_call(thing: Any) -> Callable[..., Any]:
    def call(**arguments: Any) -> Any:
        context = arguments.pop(_CONTEXT, None)
        # as a call of a model, so that an error that the tool handles itself is still told from a success
        use = {"type": "tool_call", "name": thing.name, "args": arguments, "id": context.tool_use_id if context else ""}
        try:
            answer = _invoked(thing, use)
        except Exception as error:
            if any(kind.__name__ == "ToolException" for kind in type(error).__mro__):
                raise ToolError(str(error)) from error
            raise
        if not (hasattr(answer, "content") and hasattr(answer, "status")):
            return answer
        blocks = [answer.content] if isinstance(answer.content, str) else answer.content
        text = "\n".join(each if isinstance(each, str) else _said(each["type"], each.get("text")) for each in blocks)
        if answer.status == "error":
            raise ToolError(text)
        return text

    return call


def _invoked(thing: Any, use: dict[str, Any]) -> Any:
    try:
        return thing.invoke(use)
    except NotImplementedError as error:
        *_, (deepest, _) = traceback.walk_tb(error.__traceback__)
        if deepest.f_code.co_name != "_run":  # which is how LangChain's tools say that they are async only
            raise
    return asyncio.run(thing.ainvoke(use))


def _said(kind: str, text: str | None) -> str:
    """What a block of a result says."""
    return f"[{kind}: left out, only text is passed on]" if text is None else text


def _llamaindex(thing: Any) -> tuple[Told, _Check, Callable[..., Any]]:
    if getattr(thing, "requires_context", False):
        raise TypeError("it needs the context of a workflow, which LlamaIndex's own agents alone give")
    told, kind = _told(thing.metadata.get_parameters_dict()), thing.metadata.fn_schema
    if kind is None:
        return told, _one_text, _llamaindex_call(thing, {})
    return told, _checked_by(kind, told, []), _llamaindex_call(thing, {each.told: each.name for each in _fields(kind)})


def _llamaindex_call(thing: Any, names: Mapping[str, str]) -> Callable[..., Any]:
    def call(**arguments: Any) -> Any:
        arguments.pop(_CONTEXT, None)
        arguments = {names.get(name, name): value for name, value in arguments.items()}
        if inspect.iscoroutinefunction(getattr(thing, "real_fn", None)):
            output = asyncio.run(thing.acall(**arguments))
        else:
            output = thing.call(**arguments)
        if output.is_error:
            raise ToolError(output.content)
        if output.content == str(output.raw_output):
            return output.raw_output
        return "\n".join(_said(each.block_type, getattr(each, "text", None)) for each in output.blocks)

    return call


def _told(schema: Schema) -> Told:
    """What to tell of a schema of Pydantic's, whose titles repeat the names, and whose description is the tool's."""
    return told_schema(plain_schema({key: value for key, value in schema.items() if key != "description"}, ("title",)))


def _json_schema(kind: Any) -> Schema:
    """The JSON schema of a Pydantic class, of the old kind too, or the schema itself."""
    if isinstance(kind, dict):
        return kind
    made: Schema = kind.model_json_schema() if hasattr(kind, "model_json_schema") else kind.schema()
    return made


def _fields(kind: Any) -> Iterator[_Field]:
    """The fields of a Pydantic class, of the old kind too."""
    found = kind.model_fields if hasattr(kind, "model_fields") else getattr(kind, "__fields__", {})
    for name, field in found.items():
        alias = getattr(field, "validation_alias", None) or field.alias or name
        alias = getattr(alias, "choices", [alias])[0]
        if not isinstance(alias, str):
            raise TypeError(f"its parameter {name} is taken out of another one")
        required = field.is_required() if hasattr(field, "is_required") else field.required
        yield _Field(name, alias, f"{getattr(field, 'metadata', '')} {field.annotation}", bool(required))


def _checked_by(kind: Any, told: Told, filled: Iterable[str]) -> _Check:
    """What checks arguments by a Pydantic class, which passes over names that it doesn't know."""
    known, takes_others = told.schema["properties"], told.schema.get("additionalProperties")
    validate = kind.model_validate if hasattr(kind, "model_validate") else kind.parse_obj

    def check(value: dict[str, Any]) -> dict[str, Any]:
        unknown = [name for name in value if name not in known and not takes_others]
        if unknown:
            raise WrongArgumentsError(f"{', '.join(unknown)}: the parameters are {', '.join(known)}")
        try:
            validate({**value, **dict.fromkeys(filled, "")})
        except ValueError as error:
            if not hasattr(error, "errors"):
                raise
            problems = [f"{'.'.join(map(str, each['loc'])) or 'input'}: {each['msg']}" for each in error.errors()]
            raise WrongArgumentsError("; ".join(problems)) from error
        return value

    return check


def _one_text(value: dict[str, Any]) -> dict[str, Any]:
    if len(value) != 1 or not all(isinstance(each, str) for each in value.values()):
        raise WrongArgumentsError("it takes one text")
    return value
