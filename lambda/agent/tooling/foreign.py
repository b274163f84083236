"""Tools made with LangChain or LlamaIndex, taken over as they are.

Neither package is imported, so that nobody needs it who doesn't use it: their tools are known by their attributes.
"""

import asyncio
import dataclasses
import hashlib
import inspect
import re
import traceback
from collections.abc import Callable
from typing import Any

from agent.errors import ToolError
from agent.tooling.schemas import Schema, checked_schema
from agent.tooling.tool import Tool, tool_from_schema

_LONGEST_NAME = 64
_CONTEXT = "agent.tooling.tool.ToolContext"  # the keyword argument of the context: no property of a schema is called so


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
        told, schema_of, call_of = thing, _langchain_schema, _langchain_call
    elif all(hasattr(thing, name) for name in ("metadata", "call", "acall")):
        told, schema_of, call_of = thing.metadata, _llamaindex_schema, _llamaindex_call
    else:
        name = getattr(thing, "__name__", None)
        hint = f"the function {name}: put @tool above it" if inspect.isfunction(thing) else f"a {type(thing).__name__}"
        raise TypeError(f"a tool is made by @tool, by LangChain or by LlamaIndex, and this is {hint}")
    try:
        name = _valid_name(str(told.name or ""))
        schema = checked_schema(schema_of(thing))
        schema.pop("description", None)  # LangChain puts the tool's own there again
        made = tool_from_schema(
            name,
            str(told.description or ""),
            schema,
            call_of(thing, name),
            side_effects=side_effects,
            needs_approval=needs_approval,
            timeout_seconds=timeout_seconds,
        )
    except (TypeError, ValueError, NameError, RuntimeError) as error:  # Pydantic's own errors are of these
        raise TypeError(f"tool {told.name}: {error}") from error
    return dataclasses.replace(made, context_parameter=_CONTEXT)


def _valid_name(name: str) -> str:
    """The name, or one like it that every model takes; a mark tells those apart that are cut or have no letter left."""
    valid = re.sub(r"[^A-Za-z0-9_]+", "_", name).lstrip("_")
    mark = hashlib.sha256(name.encode()).hexdigest()[:8]
    if not valid:
        return f"tool_{mark}"
    if not valid[0].isalpha():
        valid = f"tool_{valid}"
    return valid if len(valid) <= _LONGEST_NAME else f"{valid[: _LONGEST_NAME - 9]}_{mark}"


def _json_schema(schema: Any) -> Schema:
    """The JSON schema of a Pydantic class, of the old kind too, or the schema itself."""
    if isinstance(schema, dict):
        return schema
    make = schema.model_json_schema if hasattr(schema, "model_json_schema") else schema.schema
    made: Schema = make()
    return made


def _langchain_schema(thing: Any) -> Schema:
    if thing.args_schema is None and "tool_input" in thing.args:  # `Tool`, whose function takes one text
        return {"type": "object", "properties": thing.args, "required": ["tool_input"]}
    offered = thing.tool_call_schema
    if not isinstance(thing.args_schema, dict):
        known = getattr(offered, "model_fields", {})
        for name, field in getattr(thing.get_input_schema(), "model_fields", {}).items():
            given = any(
                getattr(mark, "__name__", type(mark).__name__) == "InjectedToolCallId" for mark in field.metadata
            )
            if name not in known and field.is_required() and not given:
                raise TypeError(f"its parameter {name} is given by LangChain's own agents alone")
    return _json_schema(offered)


def _langchain_call(thing: Any, name: str) -> Callable[..., Any]:
    def call(**arguments: Any) -> Any:
        context = arguments.pop(_CONTEXT, None)
        # as a call of a model, so that an error that the tool handles itself is still told from a success
        use = {"type": "tool_call", "name": thing.name, "args": arguments, "id": context.tool_use_id if context else ""}
        try:
            answer = _invoked(thing, use)
        except Exception as error:
            if any(kind.__name__ == "ToolException" for kind in type(error).__mro__):
                raise ToolError(str(error)) from error
            if _is_of_schema(error, thing.args_schema):
                raise ToolError(_wrong_arguments(name, error)) from error
            raise
        if not (hasattr(answer, "content") and hasattr(answer, "status")):
            return answer
        blocks = [answer.content] if isinstance(answer.content, str) else answer.content
        text = "\n".join(each if isinstance(each, str) else _text(each["type"], each.get("text")) for each in blocks)
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


def _text(kind: str, text: str | None) -> str:
    """What a block of a result says."""
    return f"[{kind}: left out, only text is passed on]" if text is None else text


def _wrong_arguments(name: str, error: Any) -> str:
    problems = [f"{'.'.join(map(str, each['loc'])) or 'input'}: {each['msg']}" for each in error.errors()]
    return f"{name} was not run, its arguments are wrong: {'; '.join(problems)}."


def _is_of_schema(error: Exception, schema: Any) -> bool:
    """Whether Pydantic refused the arguments, and not something else that the tool itself gave to a Pydantic class."""
    if type(error).__name__ != "ValidationError" or not inspect.isclass(schema):
        return False
    title = getattr(schema, "model_config", {}).get("title") or schema.__name__
    return title == getattr(error, "title", None) or schema is getattr(error, "model", None)


def _llamaindex_schema(thing: Any) -> Schema:
    if getattr(thing, "requires_context", False):
        raise TypeError("it needs the context of a workflow, which LlamaIndex's own agents alone give")
    schema: Schema = thing.metadata.get_parameters_dict()
    return schema


def _llamaindex_call(thing: Any, name: str) -> Callable[..., Any]:
    def call(**arguments: Any) -> Any:
        arguments.pop(_CONTEXT, None)
        try:
            if thing.metadata.fn_schema is not None:
                thing.metadata.fn_schema.model_validate(arguments)  # which LlamaIndex itself doesn't
        except ValueError as error:
            raise ToolError(_wrong_arguments(name, error)) from error
        if inspect.iscoroutinefunction(getattr(thing, "real_fn", None)):
            output = asyncio.run(thing.acall(**arguments))
        else:
            output = thing.call(**arguments)
        if output.is_error:
            raise ToolError(output.content)
        if output.content == str(output.raw_output):
            return output.raw_output
        return "\n".join(_text(each.block_type, getattr(each, "text", None)) for each in output.blocks)

    return call
