"""From cdk.json to the choices: read, checked one by one and together."""

import json
from collections.abc import Mapping
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path

from infra.checks import problems
from infra.choices import ConfigError, ConfigErrors, Rule, UnreadableError
from infra.config import Config
from infra.default_model import default_model

CDK_JSON = Path(__file__).parent.parent / "cdk.json"


def choices(
    given: Mapping[str, object] | None = None, region: str | None = None, *, cdk_json: Path = CDK_JSON
) -> Config:
    """The choices of cdk.json, over them those of the environment that is asked for, and over both those given.

    `given` holds values by their keys, or texts as `-c` gives them; `environment` among them names one of `environments` in
    cdk.json, whose stack is called after it. Needs no CDK, so the local commands read the function's environment by it. Raises
    ConfigError as from_context does, for a file that is no JSON, and for an environment that there isn't.
    """
    common = _context(cdk_json)
    # The CDK hands on what stands in the file, which is not to go over the environment's.
    over = {key: value for key, value in (given or {}).items() if key not in common or common[key] != value}
    environments, asked = common.pop("environments", {}), over.pop("environment", "")
    if not isinstance(environments, dict) or not all(isinstance(each, dict) for each in environments.values()):
        raise ConfigError("environments", environments, "an object of names, each with an object of keys of its own")
    if not asked:
        return from_context({**common, **over}, region)
    if asked not in environments:
        raise ConfigError(
            "environment", asked, "one of " + (", ".join(environments) or "those in `environments`: there are none")
        )
    own = environments[asked]
    if "name" in own:
        raise ConfigError(
            f"environments.{asked}.name", own["name"], "left out: the stack is called after its environment"
        )
    name = over.get("name", common.get("name", Config.name))
    return from_context({**common, **own, **over, "name": f"{name}-{asked}"}, region)


def _context(cdk_json: Path) -> dict[str, object]:
    try:
        read = json.loads(cdk_json.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UnreadableError(cdk_json.name, error) from error
    context = read.get("context", {}) if isinstance(read, dict) else None
    if not isinstance(context, dict):
        raise UnreadableError(cdk_json.name, "it must be an object, and so must its context")
    return dict(context)


def from_context(context: Mapping[str, object], region: str | None = None) -> Config:
    """The choices that a context makes for a region (None: not known yet); a key that it leaves out has its default.

    Raises ConfigError for unknown keys, wrong values, and choices that can't go together or not in the region: for all at once.
    """
    rules: dict[str, Rule] = {item.name: item.metadata["rule"] for item in fields(Config)}
    values: dict[str, object] = {"model_id": default_model(region)}
    wrong = []
    for key, value in context.items():
        if key in rules:
            try:
                values[key] = rules[key].parse(value)
            except (ValueError, TypeError, KeyError):
                wrong.append(ConfigError(key, value, rules[key].allowed))
        # The CDK's own keys all hold a colon or a slash.
        elif not set(key) & set(":/"):
            near = get_close_matches(key, rules, n=1)
            hint = f"did you mean {near[0]}?" if near else "`python -m infra.config` lists those there are"
            wrong.append(ConfigError(key, value, f"left out: there is no such key, {hint}"))
    config = Config(**values)  # type: ignore[arg-type]
    told = {error.key for error in wrong}
    wrong += [error for error in problems(config, region) if error.key not in told]
    if wrong:
        raise wrong[0] if len(wrong) == 1 else ConfigErrors(wrong)
    return config


def config_sentences(error: ConfigError, option: str = "-c") -> str:
    """What a person is told of wrong choices, which cdk.json or the option gave: a line each."""
    source = "" if isinstance(error, UnreadableError) else f"cdk.json or {option}: "
    lines = [f"{source}{line}" for line in str(error).splitlines()]
    return "\n".join(line if line.endswith((".", "?")) else f"{line}." for line in lines)
