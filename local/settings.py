"""What the function is started with: the settings that a deployment would give it, and over them those that were given here."""

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from infra.choices import ConfigError
from infra.config import SETTINGS, Config
from infra.context import CDK_JSON, choices, config_sentences
from infra.declared import Declared, DeclaredError, declared
from local.problem import ProblemError

# They say which model answers and how it is asked, so they count only where it is asked.
_OF_THE_MODEL = (
    "MODEL_ID",
    "FALLBACK_MODEL_IDS",
    "MODEL_REQUEST_FIELDS",
    "MODEL_PROVIDER",
    "MODEL_TOOL_USE",
    "MODEL_FAMILY",
    "OPENAI_BASE_URL",
    "OPENAI_API_KEY_SECRET",
    "GUARDRAIL_ID",
    "GUARDRAIL_VERSION",
)
_READ_BY_A_TOOL = re.compile(r"""(?:environ(?:\.get\(|\[)|getenv\()\s*["']([A-Za-z_][A-Za-z0-9_]*)["']""")


@dataclass(frozen=True)
class Start:
    """The choices of a deployment, and `given`: the variables of the function that were set for this run alone.

    `own` are the variables that the .toml beside each module of the user's sets, by module. What a module that ships sets names
    things of the deployment's account, so that it doesn't count here.
    """

    config: Config
    given: Mapping[str, str]
    own: Mapping[str, Mapping[str, str]]

    def environment(self, provider: str | None, developers: Mapping[str, str]) -> dict[str, str]:
        """The function's environment but for what was given: as it would be deployed, with the developer's own over it.

        `provider` (bedrock, openai) is who answers here, if one does: what is for a model of another one is left out.
        """
        others = () if provider == self.config.model_provider else _OF_THE_MODEL
        deployed = {name: value for name, value in self.config.environment().items() if name not in others}
        tools = {**deployed, **developers, **self.given}.get("TOOLS", "*")
        offered = {part.strip() for part in tools.split(",")}
        for module, variables in self.own.items():
            deployed |= variables if offered & {module, "*"} else {}
        return {**deployed, **developers}


def start_from(
    settings: Mapping[str, str], root: Path, region: str | None = None, *, cdk_json: Path = CDK_JSON
) -> Start:
    """The start with these settings, each named by its key in cdk.json or by its variable.

    `root` is the folder of the function, whose tools may read variables of their own; by the region the default model differs.
    Raises ProblemError for a name that nothing reads, and for a choice that can't be.
    """
    keys = {item.name: bool(item.metadata["setting"]) for item in fields(Config)}
    variables = {name.upper() for name, is_setting in keys.items() if is_setting}
    own = _declared(root / "my_agent")
    of_tools = set(_read_by_tools(root)).union(*(each.environment.keys() | each.secrets for each in own.values()))
    given, chosen = {}, {}
    for name, value in settings.items():
        if keys.get(name) is False:  # a choice of the deployment that the function doesn't read
            chosen[name] = value
        elif name.upper() in variables and name in (name.lower(), name.upper()):
            given[name.upper()] = value
        elif name in of_tools or name.startswith("POWERTOOLS_"):
            given[name] = value
        else:
            raise ProblemError(
                f"There is no setting {name}: {_nearest(name, variables | of_tools, keys)} is the nearest."
            )
    try:
        config = choices(chosen, region, cdk_json=cdk_json)
    except ConfigError as error:
        raise ProblemError(config_sentences(error, "--set")) from error
    return Start(config, given, {module: each.environment for module, each in own.items()})


def _declared(own: Path) -> dict[str, Declared]:
    """What the .toml files of the user's modules say. Raises ProblemError for one that a deployment would refuse."""
    try:
        return declared(sorted((own / "tools").glob("[!._]*.py")), SETTINGS)
    except DeclaredError as error:
        raise ProblemError(f"{error}.") from error


def _read_by_tools(root: Path) -> Iterable[str]:
    """The variables that the tools' modules read."""
    for folder in (root / "my_agent" / "tools", root / "agent" / "tools"):
        for path in folder.glob("*.py"):
            yield from _READ_BY_A_TOOL.findall(path.read_text(encoding="utf-8", errors="replace"))


def _nearest(name: str, variables: Iterable[str], keys: Iterable[str]) -> str:
    """The known name that is most like it, written as it was: as a key of cdk.json or as a variable."""
    known = sorted(keys if name == name.lower() else variables)
    return max(known, key=lambda each: difflib.SequenceMatcher(None, name.upper(), each.upper()).ratio())
