"""The command line: python -m local demo | ask | chat | serve | event | sessions | replay | export | load."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from infra.choices import ConfigError
from infra.context import choices
from local.chat import Asked, ask, chat, decide
from local.demo import EVENTS, SETTINGS, run_demo
from local.events import read_event, run_events
from local.function import importable
from local.hearing import Hearing
from local.kept import items_in_file, items_in_table, list_sessions, show_sessions
from local.options import (
    DEFAULT_KEEP,
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
from local.remote import Remote
from local.screen import Screen
from local.serve import serve
from local.stack import Choices, local_stack
from local.stored import Source, export_stored, replay_stored
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
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    shared, keeping, session = shared_options(), keep_option(), session_option()

    def add(name: str, text: str, *parents: argparse.ArgumentParser) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=text, description=text, parents=[shared, *parents])

    add("demo", "Run the sample events and show the session table.").set_defaults(run=_demo)
    asking = add("ask", "Ask one question; only the answer goes to standard output.", keeping, session)
    asking.add_argument("question", metavar="QUESTION", nargs="?")
    add_decisions(asking)
    add_address(asking)
    asking.add_argument("--json", action="store_true", help="print the whole answer as JSON")
    asking.set_defaults(run=_ask)
    add("chat", "Talk to the function.", keeping, session).set_defaults(run=_chat)
    serving = add("serve", "Put the function behind HTTP, on this machine only.", keeping)
    serving.add_argument("--port", type=port, default=8000, help="0 takes a free one (default: 8000)")
    serving.add_argument(
        "--cors", metavar="ORIGIN", action="append", default=[], help="allow a web page's origin, or *"
    )
    serving.set_defaults(run=_serve)
    text = "Show the page of a deployed function, on this machine only, with your credentials."
    page = commands.add_parser("page", help=text, description=text)
    page.add_argument("--aws", action="store_true", required=True, help="ask the real function, at your cost")
    page.add_argument("--function", metavar="NAME", required=True, help="its name or ARN, as the deployment printed it")
    page.add_argument("--region", metavar="NAME", help="where it is (default: that of your profile)")
    page.add_argument("--port", type=port, default=0, help="(default: a free one)")
    page.set_defaults(run=_page)
    text = "Print the description of the HTTP API (OpenAPI 3.1), which the function answers at GET /openapi.json."
    commands.add_parser("openapi", help=text, description=text).set_defaults(run=_openapi)
    sending = add("event", "Send events as they are and print the results.")
    sending.add_argument("files", metavar="FILE", type=Path, nargs="+", help="a JSON file, or - for standard input")
    sending.set_defaults(run=_event)
    text = "Put a deployed stack under load: sessions side by side, latency, errors, cost."
    loading = commands.add_parser("load", help=text, description=text)
    add_load(loading)
    loading.set_defaults(run=_load)
    text = "List the kept sessions, or show one of them turn by turn."
    looking = commands.add_parser("sessions", help=text, description=text, parents=[source_options()])
    looking.add_argument("session", metavar="ID", nargs="?", help="the session, direct or of any caller, or its key")
    looking.set_defaults(run=_sessions)
    text = "Run stored turns again with the model's recorded answers and today's tools, and show what differs."
    again = commands.add_parser("replay", help=text, description=text, parents=[turn_options()])
    again.add_argument("--run-side-effects", action="store_true", help="run tools with side effects too")
    again.add_argument("--json", action="store_true", help="print what was found as JSON")
    again.set_defaults(run=_replay)
    text = "Write the model's recorded answers as a script, to be played with --script."
    writing = commands.add_parser("export", help=text, description=text, parents=[turn_options()])
    writing.add_argument("--output", metavar="FILE", type=Path, help="where to write it (default: standard output)")
    writing.set_defaults(run=_export)
    return parser


def _choices(arguments: argparse.Namespace, **settings: str) -> Choices:
    return Choices(
        settings={**settings, **dict(arguments.set)},
        aws=arguments.aws,
        model_url=arguments.model_url,
        model_id=arguments.model,
        script=arguments.script,
        keep=getattr(arguments, "keep", None),
        show_logs=arguments.logs,
    )


def _load(arguments: argparse.Namespace) -> int:
    # The rest asks AWS, and nothing else here does.
    from local.load import load

    chosen = {"environment": arguments.environment} if arguments.environment else {}
    try:
        config = choices(chosen)
    except ConfigError as error:
        raise ProblemError(str(error)) from error
    if not arguments.aws:
        raise ProblemError("load is for a deployed stack, at its account's cost: say --aws.")
    return load(config, arguments.question, arguments.sessions, arguments.turns, Screen(sys.stdout))


def _demo(arguments: argparse.Namespace) -> int:
    screen = Screen(sys.stdout)
    with local_stack(_choices(arguments, **SETTINGS), on_record=screen.tool_use) as stack:
        screen.line(stack.banner, "yellow")
        return 1 if run_demo(stack, screen, sorted(EVENTS.glob("*.json"))) else 0


def _ask(arguments: argparse.Namespace) -> int:
    out, details = sys.stdout, Screen(sys.stderr)
    question, session, verdicts = arguments.question, arguments.session, dict(arguments.verdicts)
    if (question is None) == (not verdicts):
        raise ProblemError("Either a question or decisions (--approve, --deny) must be given.")
    if verdicts and not session:
        raise ProblemError("--approve and --deny need --session, the session that waits.")

    def say(text: str) -> None:
        print(text, file=out)

    can_go_on = bool(arguments.url or arguments.keep)
    # Remote functions are asked for the whole answer, and what nobody reads as it comes is told once.
    hearing = None if arguments.url or arguments.json or not sys.stderr.isatty() else Hearing(details)
    is_shown = hearing and sys.stdout.isatty()
    asked = Asked(
        as_json=arguments.json,
        details=details,
        say=(lambda _: None) if is_shown else say,
        can_go_on=can_go_on,
        hearing=hearing,
    )
    if arguments.url:
        _refuse_beside_url(arguments)
        remote = Remote(arguments.url, arguments.caller or "")
        return decide(remote, session, verdicts, asked) if verdicts else ask(remote, question, session, asked)
    if arguments.caller:
        raise ProblemError("--caller needs --url: asked directly, the function knows no callers.")
    with local_stack(_choices(arguments), on_record=hearing.record if hearing else details.tool_use) as stack:
        details.line(stack.banner, "dim")
        return decide(stack, session, verdicts, asked) if verdicts else ask(stack, question, session, asked)


def _refuse_beside_url(arguments: argparse.Namespace) -> None:
    """What belongs to the function that runs here says nothing to one that runs elsewhere."""
    names = {"aws": "aws", "script": "script", "model_url": "model-url", "model": "model", "set": "set", "keep": "keep"}
    given = [f"--{option}" for name, option in names.items() if getattr(arguments, name)]
    if given:
        raise ProblemError(
            f"{' and '.join(given)} can't go with --url: the function that runs there was started with its own."
        )


def _chat(arguments: argparse.Namespace) -> int:
    screen = Screen(sys.stdout)
    hearing = Hearing(screen)
    with local_stack(_choices(arguments), on_record=hearing.record) as stack:
        screen.line(stack.banner, "yellow")
        return chat(stack, screen, arguments.session, may_approve=sys.stdin.isatty(), hearing=hearing)


def _serve(arguments: argparse.Namespace) -> int:
    screen = Screen(sys.stdout)
    with local_stack(_choices(arguments)) as stack:
        screen.line(stack.banner, "yellow")
        return serve(stack, screen, arguments.port, arguments.cors)


def _page(arguments: argparse.Namespace) -> int:
    from local.page.command import show_page

    return show_page(arguments.function, Screen(sys.stdout), arguments.port, arguments.region)


def _openapi(_arguments: argparse.Namespace) -> int:
    with importable():
        from local.openapi import document
    print(json.dumps(document(), indent=1))
    return 0


def _event(arguments: argparse.Namespace) -> int:
    events = [read_event(path) for path in arguments.files]
    with local_stack(_choices(arguments)) as stack:
        print(stack.banner, file=sys.stderr)
        return 1 if run_events(stack, events) else 0


def _sessions(arguments: argparse.Namespace) -> int:
    _check_source(arguments)
    screen, keep = Screen(sys.stdout), arguments.keep or DEFAULT_KEEP
    if not arguments.session:
        if arguments.table:
            raise ProblemError("Of a real table one session is shown: name its id.")
        list_sessions(screen, keep)
    elif arguments.table:
        show_sessions(screen, [items_in_table(arguments.table, arguments.session)])
    else:
        show_sessions(screen, items_in_file(keep, arguments.session))
    return 0


def _replay(arguments: argparse.Namespace) -> int:
    out = sys.stdout
    return replay_stored(
        _source(arguments),
        Screen(out),
        run_side_effects=arguments.run_side_effects,
        say_json=(lambda text: print(text, file=out)) if arguments.json else None,
    )


def _export(arguments: argparse.Namespace) -> int:
    out, details = sys.stdout, Screen(sys.stderr)

    def say(text: str) -> None:
        if arguments.output is None:
            print(text, file=out)
            return
        try:
            arguments.output.write_text(f"{text}\n", encoding="utf-8")
        except OSError as error:
            raise ProblemError(f"The script {arguments.output} can't be written: {error.strerror}.") from error

    return export_stored(_source(arguments), details, say)


def _check_source(arguments: argparse.Namespace) -> None:
    if arguments.aws != (arguments.table is not None):
        raise ProblemError("--aws and --table NAME go together: they name the real session table.")
    if arguments.aws and arguments.keep:
        raise ProblemError("Sessions come from --keep FILE or from --aws, not from both.")


def _source(arguments: argparse.Namespace) -> Source:
    _check_source(arguments)
    return Source(
        session=arguments.session,
        turn=arguments.turn,
        keep=arguments.keep or DEFAULT_KEEP,
        table=arguments.table,
        settings=dict(arguments.set),
    )


if __name__ == "__main__":
    sys.exit(main())
