"""What each command does with its arguments. Each returns the exit code, and may raise ProblemError."""

import argparse
import json
import sys

from infra.choices import ConfigError
from infra.context import choices
from local.chat import Asked, ask, chat, decide
from local.demo import EVENTS, SETTINGS, run_demo
from local.events import read_event, run_events
from local.function import importable
from local.hearing import Hearing
from local.kept import items_in_file, items_in_table, list_sessions, show_sessions
from local.options import DEFAULT_KEEP
from local.problem import ProblemError
from local.remote import Remote
from local.screen import Screen
from local.serve import serve
from local.stack import Choices, local_stack
from local.stored import Source, export_stored, replay_stored


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


def do_load(arguments: argparse.Namespace) -> int:
    """Put a deployed stack under load."""
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


def do_demo(arguments: argparse.Namespace) -> int:
    """Run the sample events."""
    screen = Screen(sys.stdout)
    with local_stack(_choices(arguments, **SETTINGS), on_record=screen.tool_use) as stack:
        screen.line(stack.banner, "yellow")
        return 1 if run_demo(stack, screen, sorted(EVENTS.glob("*.json"))) else 0


def do_ask(arguments: argparse.Namespace) -> int:
    """Ask one question, or decide on what waits."""
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


def do_chat(arguments: argparse.Namespace) -> int:
    """Talk to the function until the user leaves."""
    screen = Screen(sys.stdout)
    hearing = Hearing(screen)
    with local_stack(_choices(arguments), on_record=hearing.record) as stack:
        screen.line(stack.banner, "yellow")
        return chat(stack, screen, arguments.session, may_approve=sys.stdin.isatty(), hearing=hearing)


def do_serve(arguments: argparse.Namespace) -> int:
    """Put the function behind HTTP until interrupted."""
    screen = Screen(sys.stdout)
    with local_stack(_choices(arguments)) as stack:
        screen.line(stack.banner, "yellow")
        return serve(stack, screen, arguments.port, arguments.cors)


def do_page(arguments: argparse.Namespace) -> int:
    """Show the page of a deployed function."""
    from local.page.command import show_page

    return show_page(arguments.function, Screen(sys.stdout), arguments.port, arguments.region)


def do_openapi(_arguments: argparse.Namespace) -> int:
    """Print the description of the HTTP API."""
    with importable():
        from local.openapi import document
    print(json.dumps(document(), indent=1))
    return 0


def do_event(arguments: argparse.Namespace) -> int:
    """Send events as they are."""
    events = [read_event(path) for path in arguments.files]
    with local_stack(_choices(arguments)) as stack:
        print(stack.banner, file=sys.stderr)
        return 1 if run_events(stack, events) else 0


def do_sessions(arguments: argparse.Namespace) -> int:
    """List the kept sessions, or show one."""
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


def do_replay(arguments: argparse.Namespace) -> int:
    """Run stored turns again."""
    out = sys.stdout
    return replay_stored(
        _source(arguments),
        Screen(out),
        run_side_effects=arguments.run_side_effects,
        say_json=(lambda text: print(text, file=out)) if arguments.json else None,
    )


def do_export(arguments: argparse.Namespace) -> int:
    """Write stored turns as a script."""
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
