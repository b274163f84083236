"""The command line: python -m local demo | ask | chat | serve | event."""

import argparse
import io
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from local.chat import ask, chat
from local.demo import EVENTS, SETTINGS, run_demo
from local.events import read_event, run_events
from local.problem import ProblemError
from local.screen import Screen
from local.serve import serve
from local.stack import Choices, local_stack

DEFAULT_KEEP = Path(".sessions.json")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command. Returns 0, 1 where the function failed, or 2 for a problem with what was asked."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without Japanese shows ? rather than a trace
            stream.reconfigure(errors="replace")
    arguments = build_parser().parse_args(argv)
    try:
        code: int = arguments.run(arguments)
    except ProblemError as error:
        print(f"{arguments.command}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return code


def build_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="python -m local", description="Run the function on this machine, with stand-ins for what it uses of AWS."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    shared, keeping, session = _shared_options(), _keep_option(), _session_option()

    def add(name: str, text: str, *parents: argparse.ArgumentParser) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=text, description=text, parents=[shared, *parents])

    add("demo", "Run the sample events and show the session table.").set_defaults(run=_demo)
    asking = add("ask", "Ask one question; only the answer goes to standard output.", keeping, session)
    asking.add_argument("question", metavar="QUESTION")
    asking.add_argument("--json", action="store_true", help="print the whole answer as JSON")
    asking.set_defaults(run=_ask)
    add("chat", "Talk to the function.", keeping, session).set_defaults(run=_chat)
    serving = add("serve", "Put the function behind HTTP, on this machine only.", keeping)
    serving.add_argument("--port", type=_port, default=8000, help="0 takes a free one (default: 8000)")
    serving.add_argument(
        "--cors", metavar="ORIGIN", action="append", default=[], help="allow a web page's origin, or *"
    )
    serving.set_defaults(run=_serve)
    sending = add("event", "Send events as they are and print the results.")
    sending.add_argument("files", metavar="FILE", type=Path, nargs="+", help="a JSON file, or - for standard input")
    sending.set_defaults(run=_event)
    return parser


def _shared_options() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(add_help=False)
    model = options.add_mutually_exclusive_group()
    model.add_argument("--aws", action="store_true", help="ask real Bedrock, with your credentials and at your cost")
    model.add_argument("--script", metavar="FILE", type=Path, help="let the model play a script of replies and errors")
    options.add_argument("--model", metavar="ID", help="the model id (with --aws, that of cdk.json by default)")
    options.add_argument(
        "--set", metavar="NAME=VALUE", type=_setting, action="append", default=[], help="a setting of the function"
    )
    options.add_argument("--logs", action="store_true", help="show the function's log on standard error")
    return options


def _keep_option() -> argparse.ArgumentParser:
    option = argparse.ArgumentParser(add_help=False)
    text = f"keep the sessions between runs in a file (default: {DEFAULT_KEEP})"
    option.add_argument("--keep", metavar="FILE", type=Path, nargs="?", const=DEFAULT_KEEP, help=text)
    return option


def _session_option() -> argparse.ArgumentParser:
    option = argparse.ArgumentParser(add_help=False)
    option.add_argument("--session", metavar="ID", help="the session to go on with")
    return option


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not re.fullmatch("[A-Z][A-Z0-9_]*", name):
        raise argparse.ArgumentTypeError(f"{text!r} must be NAME=VALUE, such as HISTORY_PAIRS=3")
    return name, value


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} must be a number from 0 to 65535")
    return int(text)


def _choices(arguments: argparse.Namespace, **settings: str) -> Choices:
    return Choices(
        settings={**settings, **dict(arguments.set)},
        aws=arguments.aws,
        model_id=arguments.model,
        script=arguments.script,
        keep=getattr(arguments, "keep", None),
        show_logs=arguments.logs,
    )


def _demo(arguments: argparse.Namespace) -> int:
    screen = Screen(sys.stdout)
    with local_stack(_choices(arguments, **SETTINGS), on_record=screen.tool_use) as stack:
        screen.line(stack.banner, "yellow")
        return 1 if run_demo(stack, screen, sorted(EVENTS.glob("*.json"))) else 0


def _ask(arguments: argparse.Namespace) -> int:
    out, details = sys.stdout, Screen(sys.stderr)
    with local_stack(_choices(arguments), on_record=details.tool_use) as stack:
        details.line(stack.banner, "dim")
        return ask(
            stack,
            arguments.question,
            arguments.session,
            as_json=arguments.json,
            details=details,
            say=lambda text: print(text, file=out),
        )


def _chat(arguments: argparse.Namespace) -> int:
    screen = Screen(sys.stdout)
    with local_stack(_choices(arguments), on_record=screen.tool_use) as stack:
        screen.line(stack.banner, "yellow")
        return chat(stack, screen, arguments.session)


def _serve(arguments: argparse.Namespace) -> int:
    screen = Screen(sys.stdout)
    with local_stack(_choices(arguments)) as stack:
        screen.line(stack.banner, "yellow")
        return serve(stack, screen, arguments.port, arguments.cors)


def _event(arguments: argparse.Namespace) -> int:
    events = [read_event(path) for path in arguments.files]
    with local_stack(_choices(arguments)) as stack:
        print(stack.banner, file=sys.stderr)
        return 1 if run_events(stack, events) else 0


if __name__ == "__main__":
    sys.exit(main())
