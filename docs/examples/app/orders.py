"""app.py's `extend`: a table for a tool, and a question to the agent each morning.

The tool reads the table's name as `os.environ["ORDERS_TABLE"]`.
"""

import aws_cdk as cdk
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets

from infra.stack import AgentStack

QUESTION = {"question": "Which orders are late? Write a summary.", "session_id": "morning"}


def extend(stack: AgentStack) -> None:
    """Makes the table, lets the agent read it, and asks on weekdays at seven (UTC)."""
    orders = dynamodb.Table(
        stack,
        "Orders",
        partition_key=dynamodb.Attribute(name="order_id", type=dynamodb.AttributeType.STRING),
        billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
        point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
            point_in_time_recovery_enabled=True
        ),
        removal_policy=cdk.RemovalPolicy.RETAIN,
    )
    orders.grant(stack.role, "dynamodb:GetItem", "dynamodb:Query")
    stack.function.add_environment("ORDERS_TABLE", orders.table_name)
    # Invoked asynchronously: what fails to the last lies in the failure queue, as does what could not even be invoked.
    question = events.RuleTargetInput.from_object(QUESTION)
    ask = targets.LambdaFunction(stack.target, event=question, dead_letter_queue=stack.failures)
    schedule = events.Schedule.cron(minute="0", hour="7", week_day="MON-FRI")
    events.Rule(stack, "Morning", schedule=schedule, targets=[ask])
