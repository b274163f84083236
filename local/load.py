"""A load test of a deployed function: sessions side by side, each asking one question after the other, and what came of it."""

import json
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import boto3
from botocore.config import Config as ClientConfig
from botocore.exceptions import BotoCoreError, ClientError

from infra.account import AccountError, caller, session_of
from infra.config import Config
from local.problem import ProblemError
from local.screen import Screen

Invoke = Callable[[Any], tuple[Any, bool]]
PERCENTILES = (50, 90, 95, 99)
_TOKENS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_write_input_tokens")


@dataclass(frozen=True)
class Asked:
    """One question that was asked: seconds until it was answered, the error's code (blank: none), and the tokens."""

    seconds: float
    error: str = ""
    usage: dict[str, int] = field(default_factory=dict)


def ask_all(
    invoke: Invoke, question: str, *, sessions: int, turns: int, clock: Callable[[], float] = time.perf_counter
) -> list[Asked]:
    """Asks in so many sessions at once, and in each so many times in turn. `invoke` gives an answer and True, or an error."""
    # All begin together, however long a thread takes to start.
    together = threading.Barrier(sessions)

    def ask(session: str) -> Iterator[Asked]:
        together.wait()
        for _ in range(turns):
            began = clock()
            answer, succeeded = invoke({"question": question, "session_id": session})
            seconds = clock() - began
            yield Asked(seconds, usage=answer["usage"]) if succeeded else Asked(seconds, code_of(answer))

    names = [f"load-{secrets.token_hex(8)}" for _ in range(sessions)]
    with ThreadPoolExecutor(sessions) as pool:
        return [asked for found in pool.map(lambda name: list(ask(name)), names) for asked in found]


def code_of(answer: Any) -> str:
    """What a failure is called: our code where it was returned, the error's class where it was raised."""
    told = answer if isinstance(answer, dict) else {}
    error = told.get("error")
    return str(error.get("code") if isinstance(error, dict) else told.get("errorType") or "unreadable")


def percentile(values: Sequence[float], percent: int) -> float:
    """The least of the values that so many percent don't exceed (the nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def report(asked: Sequence[Asked], seconds: float, prices: Config) -> list[tuple[str, str]]:
    """What a load came to, as labels and texts; `seconds` is how long all of it took."""
    answered = [each.seconds for each in asked if not each.error]
    errors = Counter(each.error for each in asked if each.error)
    tokens = {name: sum(each.usage.get(name, 0) for each in asked) for name in _TOKENS}
    price = dict(
        zip(
            _TOKENS,
            (prices.price_input, prices.price_output, prices.price_cache_read, prices.price_cache_write),
            strict=True,
        )
    )
    cost = sum(tokens[name] * price[name] for name in _TOKENS) / 1_000_000
    shown = [f"p{each} {percentile(answered, each):.2f} s" for each in PERCENTILES] if answered else ["no answer"]
    return [
        ("answers", f"{len(answered)} of {len(asked)} in {seconds:.1f} s, {len(answered) / seconds:.2f} a second"),
        ("latency", ", ".join([*shown, *([f"longest {max(answered):.2f} s"] if answered else [])])),
        ("errors", ", ".join(f"{code} {count}" for code, count in errors.most_common()) or "none"),
        ("tokens", f"{tokens['input_tokens']:,} in, {tokens['output_tokens']:,} out"),
        ("cost", f"{cost:.4f} USD for the model, by the prices of cdk.json"),
    ]


def load(config: Config, question: str, sessions: int, turns: int, screen: Screen) -> int:
    """Runs the load against the stack of these choices. Returns 1 where a question failed. Raises ProblemError."""
    try:
        session = session_of()
        account, _ = caller(session)
        function = _function_of(session, config.name)
        told = (
            f"{sessions * turns} turns against {function} in {account}, {session.region_name}, at that account's cost."
        )
        screen.line(told, "yellow")
        began = time.perf_counter()
        asked = ask_all(invoker(session, function, config, sessions), question, sessions=sessions, turns=turns)
    except (AccountError, ClientError, BotoCoreError) as error:
        raise ProblemError(str(error)) from error
    for label, text in report(asked, time.perf_counter() - began, config):
        screen.labelled(label, text)
    return int(any(each.error for each in asked))


def invoker(session: boto3.Session, function: str, config: Config, connections: int) -> Invoke:
    """Invokes the function directly; nothing is sent twice, and what AWS itself refuses is an error by its code."""
    waits = ClientConfig(
        read_timeout=config.timeout_seconds + 10, retries={"total_max_attempts": 1}, max_pool_connections=connections
    )
    client = session.client("lambda", config=waits)

    def invoke(event: Any) -> tuple[Any, bool]:
        try:
            found = client.invoke(FunctionName=function, Payload=json.dumps(event).encode())
        except ClientError as error:
            return {"errorType": error.response["Error"]["Code"]}, False
        except BotoCoreError as error:
            return {"errorType": type(error).__name__}, False
        answer = json.loads(found["Payload"].read())
        return answer, "FunctionError" not in found and "error" not in answer

    return invoke


def _function_of(session: boto3.Session, stack: str) -> str:
    found = session.client("cloudformation").describe_stacks(StackName=stack)["Stacks"][0]
    return next(str(each["OutputValue"]) for each in found["Outputs"] if each["OutputKey"] == "FunctionName")
