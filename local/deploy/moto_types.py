"""The CloudFormation resource types that the stack needs and moto lacks, made by calls to the same moto server."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from botocore.session import Session
from moto.core.common_models import CloudFormationModel

Properties = Mapping[str, Any]
# A resource's physical id, and what Fn::GetAtt finds.
Made = tuple[str, dict[str, str]]


@dataclass(frozen=True)
class Clients:
    """Clients for the moto server."""

    endpoint: str

    def __call__(self, service: str, region: str) -> Any:
        """A client of one service."""
        return Session().create_client(
            service,
            region_name=region,
            endpoint_url=self.endpoint,
            aws_access_key_id="testing",
            aws_secret_access_key="testing",
        )


@dataclass(frozen=True)
class Kind:
    """How resources of a type are made and removed, by the client of its service."""

    service: str
    # From the client, the properties and a name to use.
    create: Callable[[Any, Properties, str], Made]
    delete: Callable[[Any, Properties, str], Any]
    attributes: tuple[str, ...] = ()


def register_types(clients: Clients) -> None:
    """Makes moto's CloudFormation know the types. Once in a process: moto finds classes by their base."""
    for name, kind in KINDS.items():
        _model(f"AWS::{name}", kind, clients)


def _model(type_name: str, kind: Kind, clients: Clients) -> type:
    """A class as moto wants it: a subclass that it asks for the type's name, and to make and delete resources."""

    def create(cls: Any, /, resource_name: str, document: Any, _account: str, region: str, **_more: Any) -> Any:
        resource = cls()
        resource.properties = document.get("Properties", {})
        made = kind.create(clients(kind.service, region), resource.properties, resource_name)
        resource.physical_resource_id, resource.made_attributes = made
        return resource

    def delete(self: Any, _account: str, region: str) -> None:
        client = clients(kind.service, region)
        try:
            kind.delete(client, self.properties, self.physical_resource_id)
        except client.exceptions.ClientError as error:
            # It went with what it belonged to: an API takes its routes along.
            if error.response["ResponseMetadata"]["HTTPStatusCode"] != 404:
                raise

    members = {
        "cloudformation_type": staticmethod(lambda: type_name),
        "cloudformation_name_type": staticmethod(lambda: ""),
        "has_cfn_attr": classmethod(lambda _cls, attribute: attribute in kind.attributes),
        "create_from_cloudformation_json": classmethod(create),
        "delete": delete,
        "is_created": lambda _self: True,
        "get_cfn_attribute": lambda self, attribute: self.made_attributes[attribute],
    }
    model = type(type_name.replace("::", ""), (CloudFormationModel,), members)
    # moto asks for the subclasses, which are kept alive by nothing else.
    _MODELS.append(model)
    return model


_MODELS: list[type] = []


def _taken(properties: Properties, *names: str) -> dict[str, Any]:
    return {name: properties[name] for name in names if name in properties}


def _numbers(properties: Properties, kinds: Mapping[str, type]) -> dict[str, Any]:
    """The properties, with numbers as boto3 wants them: moto hands on the texts of the template."""
    return {name: kinds[name](value) if name in kinds else value for name, value in properties.items()}


def _api(client: Any, properties: Properties, _name: str) -> Made:
    made = client.create_api(**_taken(properties, "Name", "ProtocolType", "CorsConfiguration", "Description"))
    return made["ApiId"], {"ApiId": made["ApiId"], "ApiEndpoint": made["ApiEndpoint"]}


def _integration(client: Any, properties: Properties, _name: str) -> Made:
    made = client.create_integration(**_numbers(properties, {"TimeoutInMillis": int}))
    return made["IntegrationId"], {}


def _route(client: Any, properties: Properties, _name: str) -> Made:
    return client.create_route(**properties)["RouteId"], {}


def _authorizer(client: Any, properties: Properties, _name: str) -> Made:
    return client.create_authorizer(**properties)["AuthorizerId"], {}


def _stage(client: Any, properties: Properties, _name: str) -> Made:
    taken = _taken(properties, "ApiId", "StageName", "AutoDeploy", "AccessLogSettings", "StageVariables")
    limits = {"ThrottlingBurstLimit": int, "ThrottlingRateLimit": float}
    if "DefaultRouteSettings" in properties:
        taken["DefaultRouteSettings"] = _numbers(properties["DefaultRouteSettings"], limits)
    client.create_stage(**taken)
    return properties["StageName"], {}


def _alarm(client: Any, properties: Properties, name: str) -> Made:
    numbers = {"EvaluationPeriods": int, "Period": int, "Threshold": float}
    wanted = _numbers(properties, numbers)
    if "Metrics" in wanted:
        wanted["Metrics"] = [_alarm_part(part) for part in wanted["Metrics"]]
    client.put_metric_alarm(AlarmName=name, **wanted)
    [alarm] = client.describe_alarms(AlarmNames=[name])["MetricAlarms"]
    return name, {"Arn": alarm["AlarmArn"]}


def _alarm_part(part: Properties) -> dict[str, Any]:
    numbered = dict(part)
    if "MetricStat" in part:
        numbered["MetricStat"] = _numbers(part["MetricStat"], {"Period": int})
    return _numbers(numbered, {"ReturnData": lambda value: str(value).lower() == "true"})  # type: ignore[dict-item]


def _version(client: Any, properties: Properties, _name: str) -> Made:
    made = client.publish_version(FunctionName=properties["FunctionName"])
    return made["FunctionArn"], {"Version": made["Version"]}


def _alias(client: Any, properties: Properties, _name: str) -> Made:
    made = client.create_alias(**_taken(properties, "FunctionName", "Name", "FunctionVersion"))
    return made["AliasArn"], {"AliasArn": made["AliasArn"]}


def _url(client: Any, properties: Properties, _name: str) -> Made:
    made = client.create_function_url_config(
        FunctionName=properties["TargetFunctionArn"], AuthType=properties["AuthType"]
    )
    # AWS's ends with a slash.
    url = made["FunctionUrl"].rstrip("/") + "/"
    return properties["TargetFunctionArn"], {"FunctionUrl": url, "FunctionArn": made["FunctionArn"]}


def _invoke_config(client: Any, properties: Properties, _name: str) -> Made:
    numbers = {"MaximumEventAgeInSeconds": int, "MaximumRetryAttempts": int}
    client.put_function_event_invoke_config(**_numbers(properties, numbers))
    return properties["FunctionName"], {}


def _of_api(operation: str, parameter: str) -> Callable[[Any, Properties, str], Any]:
    """Deletes a part of an API by the name of the operation."""
    return lambda client, properties, made: getattr(client, operation)(ApiId=properties["ApiId"], **{parameter: made})


def _of_function(operation: str) -> Callable[[Any, Properties, str], Any]:
    return lambda client, _properties, made: getattr(client, operation)(FunctionName=made)


KINDS = {
    "ApiGatewayV2::Api": Kind(
        "apigatewayv2", _api, lambda client, _, made: client.delete_api(ApiId=made), ("ApiId", "ApiEndpoint")
    ),
    "ApiGatewayV2::Integration": Kind("apigatewayv2", _integration, _of_api("delete_integration", "IntegrationId")),
    "ApiGatewayV2::Route": Kind("apigatewayv2", _route, _of_api("delete_route", "RouteId")),
    "ApiGatewayV2::Stage": Kind("apigatewayv2", _stage, _of_api("delete_stage", "StageName")),
    "ApiGatewayV2::Authorizer": Kind("apigatewayv2", _authorizer, _of_api("delete_authorizer", "AuthorizerId")),
    "CloudWatch::Alarm": Kind(
        "cloudwatch", _alarm, lambda client, _, made: client.delete_alarms(AlarmNames=[made]), ("Arn",)
    ),
    # moto knows this one, but not the number that an alias asks it for.
    "Lambda::Version": Kind("lambda", _version, _of_function("delete_function"), ("Version",)),
    "Lambda::Alias": Kind(
        "lambda",
        _alias,
        lambda client, properties, _: client.delete_alias(**_taken(properties, "FunctionName", "Name")),
        ("AliasArn",),
    ),
    "Lambda::Url": Kind("lambda", _url, _of_function("delete_function_url_config"), ("FunctionUrl", "FunctionArn")),
    "Lambda::EventInvokeConfig": Kind("lambda", _invoke_config, _of_function("delete_function_event_invoke_config")),
}
