"""A stand-in for AWS on a port of this machine: a moto server that also makes what moto's CloudFormation leaves out."""

import logging
import warnings
from collections.abc import Iterable
from typing import Any, Self

from moto.awslambda.models import LambdaFunction
from moto.cloudformation.parsing import get_model_map
from moto.dynamodb.models.table import Table
from moto.server import ThreadedMotoServer

from local.deploy.moto_types import Clients, register_types

REGION = "us-east-1"
ACCOUNT = "123456789012"
# The CDK's bootstrap stack, as far as a deploy looks at it: a bucket for assets and the version of the stack.
ASSETS = f"cdk-hnb659fds-assets-{ACCOUNT}-{{region}}"
BOOTSTRAP_VERSION = "/cdk-bootstrap/hnb659fds/version"


class MotoCloud:
    """Serves from its making until `close` (or as a context manager). One in a process, since it extends moto."""

    def __init__(self, region: str = REGION) -> None:
        self.region = region
        # A line for each request, and for each type that is left out, would hide what the rehearsal tells.
        for name in ("werkzeug", "moto"):
            logging.getLogger(name).setLevel(logging.ERROR)
        warnings.filterwarnings("ignore", message="Tried to parse", category=UserWarning)
        self._server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        self._server.start()
        # moto finds a template in a bucket only if the address says localhost.
        self.endpoint = f"http://localhost:{self._server.get_host_and_port()[1]}"
        self._clients = Clients(self.endpoint)
        register_types(self._clients)
        _keep_table_settings(self._clients)
        _keep_function_settings()
        self.client("s3").create_bucket(Bucket=ASSETS.format(region=region), **_location(region))
        self.client("ssm").put_parameter(Name=BOOTSTRAP_VERSION, Value="30", Type="String")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stops serving; everything in it is gone."""
        self._server.stop()

    def client(self, service: str) -> Any:
        """A client for a service of it."""
        return self._clients(service, self.region)

    def left_out(self, types: Iterable[str]) -> list[str]:
        """Those of the resource types that it leaves out of a stack without a word."""
        return sorted(set(types) - set(get_model_map()))

    def environment(self) -> dict[str, str]:
        """The variables that lead an AWS SDK here, and nowhere else."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AWS_SESSION_TOKEN": "testing",
            "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
            "AWS_EC2_METADATA_DISABLED": "true",
            "NO_PROXY": "localhost,127.0.0.1",
            "no_proxy": "localhost,127.0.0.1",
        }


def _location(region: str) -> dict[str, Any]:
    # S3 takes no location for its first region.
    return {} if region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": region}}


def _keep_table_settings(clients: Clients) -> None:
    """moto makes a table from a template without its time to live and its backups."""
    made_by_moto = Table.create_from_cloudformation_json.__func__  # type: ignore[attr-defined]

    def create(cls: Any, /, name: str, document: Any, account: str, region: str, **more: Any) -> Any:
        table = made_by_moto(cls, name, document, account, region, **more)
        properties, client = document["Properties"], clients("dynamodb", region)
        if expiry := properties.get("TimeToLiveSpecification"):
            specification = {"AttributeName": expiry["AttributeName"], "Enabled": True}
            client.update_time_to_live(TableName=table.name, TimeToLiveSpecification=specification)
        if properties.get("PointInTimeRecoverySpecification"):
            client.update_continuous_backups(
                TableName=table.name, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
            )
        return table

    Table.create_from_cloudformation_json = classmethod(create)  # type: ignore[assignment]


def _keep_function_settings() -> None:
    """moto makes a function from a template without its processor and its tracing."""
    made_by_moto = LambdaFunction.create_from_cloudformation_json.__func__  # type: ignore[attr-defined]

    def create(cls: Any, /, name: str, document: Any, account: str, region: str, **more: Any) -> Any:
        function = made_by_moto(cls, name, document, account, region, **more)
        properties = document["Properties"]
        function.architectures = properties.get("Architectures", function.architectures)
        function.tracing_config = properties.get("TracingConfig", function.tracing_config)
        return function

    LambdaFunction.create_from_cloudformation_json = classmethod(create)  # type: ignore[assignment]
