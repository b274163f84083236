"""What the cloud says it holds after a deploy, against what the template asked for."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol


class Cloud(Protocol):
    """Where something was deployed."""

    def client(self, service: str) -> Any:
        """A client for a service of it."""


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    name: str
    expected: Any
    found: Any

    @property
    def holds(self) -> bool:
        """Whether it is as it should be."""
        return bool(self.expected == self.found)


@dataclass(frozen=True)
class Template:
    """A synthesised template."""

    resources: Mapping[str, Mapping[str, Any]]

    @classmethod
    def read(cls, path: Path) -> "Template":
        """Reads it from a file."""
        return cls(json.loads(path.read_text())["Resources"])

    def all(self, kind: str) -> list[Mapping[str, Any]]:
        """The properties of the resources of a type, given without its "AWS::"."""
        found = [item for item in self.resources.values() if item["Type"] == f"AWS::{kind}"]
        return [item.get("Properties", {}) for item in found]

    def one(self, kind: str) -> Mapping[str, Any]:
        """The properties of the one resource of a type."""
        [properties] = self.all(kind)
        return properties


def read_back(cloud: Cloud, template: Template, outputs: Mapping[str, str]) -> list[Check]:
    """Table, function, API and alarms as deployed, each beside what the template says."""
    api_id = outputs["ApiUrl"].split("//")[1].partition(".")[0]
    return [
        *_table(cloud.client("dynamodb"), template, outputs["TableName"]),
        *_function(cloud.client("lambda"), template, outputs),
        *_api(cloud.client("apigatewayv2"), template, api_id),
        *_watching(cloud, template),
    ]


def _table(client: Any, template: Template, name: str) -> list[Check]:
    wanted, found = template.one("DynamoDB::Table"), client.describe_table(TableName=name)["Table"]
    expiry = client.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
    backups = client.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
    recovery = backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"]
    return [
        Check("table: keys", wanted["KeySchema"], found["KeySchema"]),
        Check("table: billing", wanted["BillingMode"], found["BillingModeSummary"]["BillingMode"]),
        Check("table: time to live", wanted["TimeToLiveSpecification"]["AttributeName"], expiry["AttributeName"]),
        Check("table: time to live is on", "ENABLED", expiry["TimeToLiveStatus"]),
        Check("table: point-in-time recovery", "ENABLED", recovery),
    ]


def _function(client: Any, template: Template, outputs: Mapping[str, str]) -> list[Check]:
    wanted = template.one("Lambda::Function")
    found = client.get_function_configuration(FunctionName=outputs["FunctionName"])
    # The table's name is known to the cloud alone.
    environment = {**wanted["Environment"]["Variables"], "TABLE_NAME": outputs["TableName"]}
    retries = client.get_function_event_invoke_config(FunctionName=outputs["FunctionName"])
    plain = ("Runtime", "Handler", "MemorySize", "Timeout", "Architectures")
    return [
        *(Check(f"function: {name}", wanted[name], found[name]) for name in plain),
        Check("function: environment", environment, found["Environment"]["Variables"]),
        Check("function: tracing", wanted.get("TracingConfig", {}).get("Mode", "PassThrough"), _tracing(found)),
        Check(
            "function: asynchronous retries",
            template.one("Lambda::EventInvokeConfig")["MaximumRetryAttempts"],
            retries["MaximumRetryAttempts"],
        ),
    ]


def _tracing(found: Mapping[str, Any]) -> Any:
    return found.get("TracingConfig", {}).get("Mode", "PassThrough")


def _api(client: Any, template: Template, api_id: str) -> list[Check]:
    routes = template.all("ApiGatewayV2::Route")
    [integration] = client.get_integrations(ApiId=api_id)["Items"]
    [stage] = client.get_stages(ApiId=api_id)["Items"]
    return [
        Check(
            "API: routes and who may call them",
            {route["RouteKey"]: route["AuthorizationType"] for route in routes},
            deployed_routes(client, api_id),
        ),
        Check(
            "API: time-out, ms",
            template.one("ApiGatewayV2::Integration")["TimeoutInMillis"],
            integration["TimeoutInMillis"],
        ),
        Check(
            "API: throttling",
            template.one("ApiGatewayV2::Stage")["DefaultRouteSettings"],
            stage["DefaultRouteSettings"],
        ),
        Check(
            "API: CORS",
            template.one("ApiGatewayV2::Api").get("CorsConfiguration"),
            client.get_api(ApiId=api_id).get("CorsConfiguration"),
        ),
    ]


def deployed_routes(client: Any, api_id: str) -> dict[str, str]:
    """Route key -> authorization type, as the API has them."""
    return {route["RouteKey"]: route["AuthorizationType"] for route in client.get_routes(ApiId=api_id)["Items"]}


def _watching(cloud: Cloud, template: Template) -> list[Check]:
    cloudwatch = cloud.client("cloudwatch")
    alarms = cloudwatch.describe_alarms()["MetricAlarms"]
    groups = cloud.client("logs").describe_log_groups()["logGroups"]
    return [
        Check(
            "alarms and their thresholds",
            sorted((alarm["AlarmDescription"], alarm["Threshold"]) for alarm in template.all("CloudWatch::Alarm")),
            sorted((alarm["AlarmDescription"], alarm["Threshold"]) for alarm in alarms),
        ),
        Check("dashboards", 1, len(cloudwatch.list_dashboards()["DashboardEntries"])),
        Check(
            "log groups and their days",
            sorted(group["RetentionInDays"] for group in template.all("Logs::LogGroup")),
            sorted(group["retentionInDays"] for group in groups),
        ),
    ]


def left_over(cloud: Cloud) -> list[str]:
    """What of the stack is still there, by kind and name."""
    found = {
        "table": cloud.client("dynamodb").list_tables()["TableNames"],
        "function": [item["FunctionName"] for item in cloud.client("lambda").list_functions()["Functions"]],
        "API": [item["ApiId"] for item in cloud.client("apigatewayv2").get_apis()["Items"]],
        "queue": cloud.client("sqs").list_queues().get("QueueUrls", []),
        "log group": [item["logGroupName"] for item in cloud.client("logs").describe_log_groups()["logGroups"]],
        "alarm": [item["AlarmName"] for item in cloud.client("cloudwatch").describe_alarms()["MetricAlarms"]],
        "dashboard": [
            item["DashboardName"] for item in cloud.client("cloudwatch").list_dashboards()["DashboardEntries"]
        ],
        "role": [item["RoleName"] for item in cloud.client("iam").list_roles()["Roles"]],
        "stack": [item["StackName"] for item in cloud.client("cloudformation").describe_stacks()["Stacks"]],
    }
    return [f"{kind} {name}" for kind, names in found.items() for name in names]
