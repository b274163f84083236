"""Log queries over the function's lines, saved for the console and shown on the dashboard.

One line a turn (message "turn") and one a tool use ("tool use"); names with dots stand in backticks.
"""

from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.config import Config

INPUT, OUTPUT = "`gen_ai.usage.input_tokens`", "`gen_ai.usage.output_tokens`"
CACHE_READ, CACHE_WRITE = "`gen_ai.usage.cache_read.input_tokens`", "`gen_ai.usage.cache_creation.input_tokens`"
TURN_FIELDS = (
    f"@timestamp, session_id, turn, request_id, milliseconds, steps, tool_uses, tool_errors, {INPUT}, {OUTPUT}"
)
TURNS = 'filter message = "turn"'
TOOL_USES = 'filter message = "tool use"'

TOOLS_TABLE = (
    TOOL_USES,
    'stats count(*) as calls, sum(strcontains(status, "error")) as errors, pct(milliseconds, 95) as p95'
    " by `gen_ai.tool.name`",
    "sort calls desc",
)
SESSIONS = (TURNS, "stats count_distinct(session_id) as sessions by bin(1h)")


def saved_queries(config: Config) -> dict[str, tuple[str, ...]]:
    """The saved queries by name, each as its lines."""
    return {
        "turns of one session": (
            f"fields {TURN_FIELDS}, `gen_ai.response.finish_reasons.0`, saved",
            TURNS,
            'filter session_id = "PUT THE SESSION ID HERE"',
            "sort @timestamp asc",
        ),
        "slowest turns": (f"fields {TURN_FIELDS}", TURNS, "sort milliseconds desc", "limit 50"),
        "models": (
            TURNS,
            f"stats count(*) as turns, sum({INPUT}) as input_tokens, sum({OUTPUT}) as output_tokens,"
            f" sum({_cost(config)}) as usd, pct(milliseconds, 95) as p95 by `gen_ai.request.model`",
            "sort turns desc",
        ),
        "tool errors": (
            "fields @timestamp, session_id, `gen_ai.tool.name`, `gen_ai.tool.call.id`, milliseconds",
            TOOL_USES,
            'filter status = "error"',
            "sort @timestamp desc",
            "limit 100",
        ),
        "most expensive turns": (
            f"fields {TURN_FIELDS}, {_cost(config)} as usd",
            TURNS,
            "sort usd desc",
            "limit 50",
        ),
    }


def _cost(config: Config) -> str:
    priced = {
        INPUT: config.price_input,
        OUTPUT: config.price_output,
        CACHE_READ: config.price_cache_read,
        CACHE_WRITE: config.price_cache_write,
    }
    return "(" + " + ".join(f"coalesce({name}, 0) * {price}" for name, price in priced.items()) + ") / 1000000"


class SavedQueries(Construct):
    """The queries in the console's list, in a folder named after the stack."""

    def __init__(self, scope: Construct, construct_id: str, config: Config, group: logs.ILogGroup) -> None:
        super().__init__(scope, construct_id)
        for name, lines in saved_queries(config).items():
            logs.CfnQueryDefinition(
                self,
                name.title().replace(" ", ""),
                name=f"{config.name}/{name}",
                query_string="\n| ".join(lines),
                log_group_names=[group.log_group_name],
            )
