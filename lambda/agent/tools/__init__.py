"""The tools that exist, by the name of their module. To add one, write a module with `TOOLS` beside these and name it here."""

from importlib import import_module
from typing import Any

from agent.errors import MisconfiguredError
from agent.tooling.tool import Tool

MODULES = ("signature", "fortune", "arithmetic", "calculator")
OPT_IN = ("web_search", "tickets", "shell")  # reach outside, so that they are offered only where TOOLS names them


def load_tools(names: tuple[str, ...] | None) -> list[Tool[..., Any]]:
    """The tools of the named modules; of all that aren't opt-in for None. Only these modules are imported.

    Tools of LangChain and LlamaIndex may stand in a module's `TOOLS`, too. Raises MisconfiguredError for a name that isn't
    listed here, and for what is no tool.
    """
    chosen = MODULES if names is None else names
    unknown = [name for name in chosen if name not in MODULES + OPT_IN]
    if unknown:
        allowed = ", ".join(MODULES + OPT_IN)
        raise MisconfiguredError(detail=f"TOOLS names {', '.join(unknown)}, but the tool modules are: {allowed}.")
    return [_tool(each, name) for name in chosen for each in import_module(f"agent.tools.{name}").TOOLS]


def _tool(each: object, module: str) -> Tool[..., Any]:
    if isinstance(each, Tool):
        return each
    from agent.tooling.foreign import adopted  # which few need, and importing is most of a cold start

    try:
        return adopted(each)
    except TypeError as error:
        raise MisconfiguredError(detail=f"TOOLS of agent/tools/{module}.py can't be offered: {error}.") from error
