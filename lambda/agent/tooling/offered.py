"""Which tool modules there are, and the tools of those that the setting TOOLS chooses.

A module is there by its file alone: the user's in `my_agent/tools`, those that ship in `agent/tools`. What isn't chosen isn't
imported. Whatever keeps a module from being loaded is told with the user's own file and line.
"""

import traceback
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from agent.errors import MisconfiguredError
from agent.tooling.own_code import outcome
from agent.tooling.tool import Tool

_SHIPPED = Path(__file__).parent.parent / "tools"


def load_tools(chosen: Sequence[str], own: Path) -> list[Tool[..., Any]]:
    """The tools of the modules with these names, in this order; `*` stands for all modules of the user's.

    `own` is the user's folder, in a folder of sys.path. Raises MisconfiguredError for a name that no module has or two have,
    for two tools of one name, and from whatever goes wrong in a module.
    """
    found: dict[Tool[..., Any], Path] = {}
    for module in offered(chosen, own):
        tools, error = outcome(partial(_tools_of, module))
        if error:
            said = error.msg if isinstance(error, SyntaxError) else error
            told = f"{type(error).__name__}: {said} ({_place(error, module)})"
            raise MisconfiguredError(detail=f"The tool module {module.stem} can't be loaded: {told}.") from error
        found |= {each: module for each in tools or () if each not in found}
    _refuse_same_names(found)
    return [replace(each, module=module.stem) for each, module in found.items()]


def offered(chosen: Sequence[str], own: Path) -> list[Path]:
    """The files of the modules with these names. Raises MisconfiguredError for a name that no module has or two have."""
    shipped, users = modules_in(_SHIPPED), modules_in(own / "tools")
    names = dict.fromkeys(each for name in chosen for each in (users if name == "*" else [name]))
    there = users | shipped
    unknown = ", ".join(name for name in names if name not in there)
    if unknown:
        raise MisconfiguredError(detail=f"TOOLS names {unknown}, but the tool modules are: {', '.join(there)}.")
    for name in names:
        if name in users and name in shipped:
            file = f"{own.name}/tools/{name}.py"
            raise MisconfiguredError(detail=f"{file} has the name of a module that ships: rename the file.")
    return [there[name] for name in names]


def modules_in(folder: Path) -> dict[str, Path]:
    """The modules in a folder by their names, sorted; none where there is no folder. A file `_name.py` is none."""
    files = sorted(folder.iterdir()) if folder.is_dir() else ()
    return {path.stem: path for path in files if path.suffix == ".py" and not path.name.startswith(("_", "."))}


def _tools_of(file: Path) -> list[Tool[..., Any]]:
    """The module's own functions under `@tool`, in the order of their lines, then what only its TOOLS lists."""
    module = import_module(f"{file.parts[-3]}.tools.{file.stem}")
    made = [each for each in vars(module).values() if isinstance(each, Tool) and each.module == module.__name__]
    listed = [_tool(each) for each in getattr(module, "TOOLS", ())]
    return list(dict.fromkeys([*sorted(made, key=lambda each: each.line), *listed]))


def _tool(each: object) -> Tool[..., Any]:
    if isinstance(each, Tool):
        return each
    from agent.tooling.foreign import adopted  # which few need, and importing is most of a cold start

    return adopted(each)


def _refuse_same_names(found: dict[Tool[..., Any], Path]) -> None:
    places: dict[str, str] = {}
    for each, file in found.items():
        place = _told(file, each.line or _line_of_tools(file), file)
        if each.name in places:
            told = f"{places[each.name]}, and {place}"
            raise MisconfiguredError(detail=f"Two tools have the same name, {each.name}: {told}.")
        places[each.name] = place


def _place(error: BaseException, module: Path) -> str:
    """Where the user's code is wrong: the deepest place in it."""
    places = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    if isinstance(error, SyntaxError):
        places.append((error.filename or "", error.lineno or 0))
    home = module.parent if module.parent == _SHIPPED else module.parents[1]
    own = [(Path(name), line) for name, line in places if Path(name).is_relative_to(home)]
    # what stands in TOOLS is judged once the module is there: no place is its own
    return _told(*(own[-1] if own else (module, _line_of_tools(module))), module)


def _line_of_tools(module: Path) -> int:
    lines = module.read_text(encoding="utf-8", errors="replace").splitlines()
    return next((number for number, line in enumerate(lines, 1) if line.startswith("TOOLS")), 0)


def _told(file: Path, line: int, module: Path) -> str:
    return file.relative_to(module.parents[2]).as_posix() + (f", line {line}" if line else "")
