"""The options of the commands, and what their texts may be."""

import argparse
import re
from pathlib import Path
from typing import Any

DEFAULT_KEEP = Path(".sessions.json")


def shared_options() -> argparse.ArgumentParser:
    """Of all commands that run the function."""
    options = argparse.ArgumentParser(add_help=False)
    model = options.add_mutually_exclusive_group()
    model.add_argument("--aws", action="store_true", help="ask real Bedrock, with your credentials and at your cost")
    model.add_argument("--script", metavar="FILE", type=Path, help="let the model play a script of replies and errors")
    text = "ask an OpenAI-compatible endpoint, such as http://localhost:11434/v1; its key, if any, is OPENAI_API_KEY"
    model.add_argument("--model-url", metavar="URL", help=text)
    options.add_argument("--model", metavar="ID", help="the model id (with --aws, that of cdk.json by default)")
    _add_settings(options)
    options.add_argument("--logs", action="store_true", help="show the function's log on standard error")
    return options


def keep_option() -> argparse.ArgumentParser:
    """Of those that can keep sessions."""
    option = argparse.ArgumentParser(add_help=False)
    text = f"keep the sessions between runs in a file (default: {DEFAULT_KEEP})"
    option.add_argument("--keep", metavar="FILE", type=Path, nargs="?", const=DEFAULT_KEEP, help=text)
    return option


def session_option() -> argparse.ArgumentParser:
    """Of those that can go on with a session."""
    option = argparse.ArgumentParser(add_help=False)
    option.add_argument("--session", metavar="ID", help="the session to go on with")
    return option


def add_load(parser: argparse.ArgumentParser) -> None:
    """How much is asked of a deployed stack."""
    parser.add_argument(
        "--aws", action="store_true", help="ask the deployed function, with your credentials and at your cost"
    )
    parser.add_argument("--environment", metavar="NAME", help="the stack of this environment of cdk.json")
    parser.add_argument("--sessions", metavar="N", type=_count, default=10, help="sessions side by side (default: 10)")
    parser.add_argument("--turns", metavar="N", type=_count, default=3, help="questions in each (default: 3)")
    parser.add_argument("--question", metavar="TEXT", default="What is the sine of 1?", help="what is asked each time")


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text) <= 1000:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 to 1000, not {text!r}")
    return int(text)


def source_options() -> argparse.ArgumentParser:
    """Where kept sessions are."""
    options = argparse.ArgumentParser(add_help=False)
    text = f"the file that keeps the sessions (default: {DEFAULT_KEEP})"
    options.add_argument("--keep", metavar="FILE", type=Path, help=text)
    options.add_argument("--aws", action="store_true", help="read a real table, with your credentials")
    options.add_argument("--table", metavar="NAME", help="with --aws, the name of the session table")
    return options


def turn_options() -> argparse.ArgumentParser:
    """Which kept turns are to be run again, and with which settings."""
    options = argparse.ArgumentParser(add_help=False, parents=[source_options()])
    options.add_argument("session", metavar="SESSION")
    options.add_argument("turn", metavar="TURN", type=int, nargs="?", help="its number (default: all that are kept)")
    _add_settings(options)
    return options


def add_decisions(parser: argparse.ArgumentParser) -> None:
    """What may be said of tool uses that wait, in any order and number."""
    parser.add_argument(
        "--approve",
        metavar="ID",
        type=lambda text: (text, True),
        action="append",
        dest="verdicts",
        default=[],
        help="let a tool use run that waits",
    )
    parser.add_argument(
        "--deny",
        metavar="ID[=WHY]",
        type=_denial,
        action="append",
        dest="verdicts",
        default=[],
        help="don't let it run, and tell the model why",
    )


def add_address(parser: argparse.ArgumentParser) -> None:
    """Where the function is asked in place of here, and by whom."""
    parser.add_argument("--url", metavar="URL", help="ask the function behind HTTP, such as a `serve` that runs")
    parser.add_argument("--caller", metavar="NAME", help="with --url, who asks, as the authorizer of `serve` takes it")


def _add_settings(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--set",
        metavar="NAME=VALUE",
        type=_setting,
        action="append",
        default=[],
        help="a setting of the function, over that of cdk.json: its key there, or its variable",
    )


def _denial(text: str) -> tuple[str, dict[str, Any]]:
    name, _, reason = text.partition("=")
    return name, {"approved": False, "reason": reason}


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name):
        raise argparse.ArgumentTypeError(f"{text!r} must be NAME=VALUE, such as HISTORY_PAIRS=3")
    return name, value


def port(text: str) -> int:
    """A port number. Raises argparse.ArgumentTypeError."""
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} must be a number from 0 to 65535")
    return int(text)
