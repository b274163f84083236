"""The CDK app: one stack, made from the choices in cdk.json, and what only you need."""

from typing import TYPE_CHECKING

from infra.main import synthesise

if TYPE_CHECKING:
    from infra.stack import AgentStack


def extend(stack: "AgentStack") -> None:
    """Yours: what the stack lacks, on its own parts (function, role, api, table, alarms). See docs/examples/app/."""


synthesise(extend)
