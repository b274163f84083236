"""Which tool modules there are, and the tools of those that the setting TOOLS chooses.

A module is there by its file alone: the user's in `my_agent/tools`, those that ship in `agent/tools`. What isn't chosen isn't
imported.
"""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from agent.errors import MisconfiguredError
from agent.tooling.tool import Tool

_SHIPPED = Path(__file__).parent.parent / "tools"


def load_tools(chosen: Sequence[str], own: Path) -> list[Tool[..., Any]]:
    """The tools of the modules with these names, in this order; `*` stands for all modules of the user's.

    `own` is the user's folder, in a folder of sys.path. Raises MisconfiguredError for a name that no module has or two have,
    and for what is no tool.
    """
    shipped, users = modules_in(_SHIPPED), modules_in(own / "tools")
    names = list(dict.fromkeys(each for name in chosen for each in (users if name == "*" else [name])))
    unknown = [name for name in names if name not in (*users, *shipped)]
    if unknown:
        there = ", ".join((*users, *shipped))
        raise MisconfiguredError(detail=f"TOOLS names {', '.join(unknown)}, but the tool modules are: {there}.")
    twice = [name for name in names if name in users and name in shipped]
    if twice:
        raise MisconfiguredError(
            detail=f"{own.name}/tools/{twice[0]}.py has the name of a module that ships: rename the file."
        )
    packages = {name: "agent.tools" if name in shipped else f"{own.name}.tools" for name in names}
    return [each for name, package in packages.items() for each in _tools_of(import_module(f"{package}.{name}"))]


def modules_in(folder: Path) -> list[str]:
    """The names of the modules in a folder, sorted; none where there is no folder. A file `_name.py` is none."""
    files = folder.iterdir() if folder.is_dir() else ()
    return sorted(path.stem for path in files if path.suffix == ".py" and not path.name.startswith(("_", ".")))


def _tools_of(module: ModuleType) -> list[Tool[..., Any]]:
    """The module's own functions under `@tool`, in the order of their lines, then what only its TOOLS lists."""
    made = [each for each in vars(module).values() if isinstance(each, Tool) and each.module == module.__name__]
    listed = [_tool(each, module.__name__) for each in getattr(module, "TOOLS", ())]
    return list(dict.fromkeys([*sorted(made, key=lambda each: each.line), *listed]))


def _tool(each: object, module: str) -> Tool[..., Any]:
    if isinstance(each, Tool):
        return each
    from agent.tooling.foreign import adopted  # which few need, and importing is most of a cold start

    try:
        return adopted(each)
    except TypeError as error:
        file = module.replace(".", "/")
        raise MisconfiguredError(detail=f"TOOLS of {file}.py can't be offered: {error}.") from error
