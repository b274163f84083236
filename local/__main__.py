"""The command line: python -m local demo | ask | chat | serve | event | sessions | replay | export | load."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from local import commands
from local.options import (
    add_address,
    add_decisions,
    add_load,
    keep_option,
    port,
    session_option,
    shared_options,
    source_options,
    turn_options,
)
from local.problem import ProblemError
from local.terminal import visible_output


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command. Returns 0, 1 where the function failed, or 2 for a problem with what was asked."""
    with visible_output():
        return _run(build_parser().parse_args(argv))


def _run(arguments: argparse.Namespace) -> int:
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
    added = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    shared, keeping, session = shared_options(), keep_option(), session_option()

    def add(name: str, text: str, *parents: argparse.ArgumentParser) -> argparse.ArgumentParser:
        return added.add_parser(name, help=text, description=text, parents=[shared, *parents])

    add("demo", "Run the sample events and show the session table.").set_defaults(run=commands.do_demo)
    asking = add("ask", "Ask one question; only the answer goes to standard output.", keeping, session)
    asking.add_argument("question", metavar="QUESTION", nargs="?")
    add_decisions(asking)
    add_address(asking)
    asking.add_argument("--json", action="store_true", help="print the whole answer as JSON")
    asking.set_defaults(run=commands.do_ask)
    add("chat", "Talk to the function.", keeping, session).set_defaults(run=commands.do_chat)
    serving = add("serve", "Put the function behind HTTP, on this machine only.", keeping)
    serving.add_argument("--port", type=port, default=8000, help="0 takes a free one (default: 8000)")
    serving.add_argument(
        "--cors", metavar="ORIGIN", action="append", default=[], help="allow a web page's origin, or *"
    )
    serving.set_defaults(run=commands.do_serve)
    text = "Show the page of a deployed function, on this machine only, with your credentials."
    page = added.add_parser("page", help=text, description=text)
    page.add_argument("--aws", action="store_true", required=True, help="ask the real function, at your cost")
    page.add_argument("--function", metavar="NAME", required=True, help="its name or ARN, as the deployment printed it")
    page.add_argument("--region", metavar="NAME", help="where it is (default: that of your profile)")
    page.add_argument("--port", type=port, default=0, help="(default: a free one)")
    page.set_defaults(run=commands.do_page)
    text = "Print the description of the HTTP API (OpenAPI 3.1), which the function answers at GET /openapi.json."
    added.add_parser("openapi", help=text, description=text).set_defaults(run=commands.do_openapi)
    sending = add("event", "Send events as they are and print the results.")
    sending.add_argument("files", metavar="FILE", type=Path, nargs="+", help="a JSON file, or - for standard input")
    sending.set_defaults(run=commands.do_event)
    text = "Put a deployed stack under load: sessions side by side, latency, errors, cost."
    loading = added.add_parser("load", help=text, description=text)
    add_load(loading)
    loading.set_defaults(run=commands.do_load)
    _add_stored(added)
    return parser


def _add_stored(added: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Those that read kept sessions."""
    text = "List the kept sessions, or show one of them turn by turn."
    looking = added.add_parser("sessions", help=text, description=text, parents=[source_options()])
    looking.add_argument("session", metavar="ID", nargs="?", help="the session, direct or of any caller, or its key")
    looking.set_defaults(run=commands.do_sessions)
    text = "Run stored turns again with the model's recorded answers and today's tools, and show what differs."
    again = added.add_parser("replay", help=text, description=text, parents=[turn_options()])
    again.add_argument("--run-side-effects", action="store_true", help="run tools with side effects too")
    again.add_argument("--json", action="store_true", help="print what was found as JSON")
    again.set_defaults(run=commands.do_replay)
    text = "Write the model's recorded answers as a script, to be played with --script."
    writing = added.add_parser("export", help=text, description=text, parents=[turn_options()])
    writing.add_argument("--output", metavar="FILE", type=Path, help="where to write it (default: standard output)")
    writing.set_defaults(run=commands.do_export)


if __name__ == "__main__":
    sys.exit(main())
