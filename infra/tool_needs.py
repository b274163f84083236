"""What a tool needs beyond the function's own: grants, environment, secrets, AWS services. The one place for it.

A tool module gets its needs only where the key `tools` of cdk.json names it, and so do its locked requirements, which
lie beside it as lambda/agent/tools/<module>.lock. A tool that reads a bucket and calls a service with a key:

    TOOL_NEEDS = {
        "invoices": ToolNeeds(
            statements=({"Effect": "Allow", "Action": ["s3:GetObject"], "Resource": ["arn:aws:s3:::my-invoices/*"]},),
            services=("s3",),
            environment={"INVOICE_BUCKET": "my-invoices"},
            secrets={"INVOICE_KEY_SECRET": "invoices/api-key"},
        ),
    }
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aws_cdk import Fn


@dataclass(frozen=True)
class ToolNeeds:
    """The needs of one tool module."""

    # IAM statements as JSON policies write them.
    statements: tuple[dict[str, Any], ...] = ()
    # Names of botocore's service models that the bundle keeps: the folders of botocore/data.
    services: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    # Environment variable -> name of an existing secret in Secrets Manager, which the function may read. The variable
    # holds the secret's name, never its value.
    secrets: Mapping[str, str] = field(default_factory=dict)


# A table that is there already: its records are not this stack's to make or to delete.
TICKETS_TABLE = "agent-tickets"
TOOL_NEEDS: Mapping[str, ToolNeeds] = {
    "tickets": ToolNeeds(
        statements=(
            {
                "Effect": "Allow",
                "Action": ["dynamodb:GetItem", "dynamodb:UpdateItem"],
                "Resource": [
                    Fn.sub(
                        f"arn:${{AWS::Partition}}:dynamodb:${{AWS::Region}}:${{AWS::AccountId}}:table/{TICKETS_TABLE}"
                    )
                ],
            },
        ),
        environment={"TICKETS_TABLE": TICKETS_TABLE},
    ),
}


def needs_of(modules: Iterable[str] | None, known: Mapping[str, ToolNeeds]) -> list[ToolNeeds]:
    """The needs of the tool modules that the key `tools` names; none where it is null."""
    return [known[module] for module in modules or () if module in known]
