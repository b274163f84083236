"""The four services that the function calls: DynamoDB, Bedrock's runtime, Secrets Manager and SNS, one attempt a call."""

import re
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, urlencode
from zlib import crc32

import msgspec
from msgspec.structs import replace

from agent.aws.credentials import CredentialSource
from agent.aws.endpoints import endpoint_of
from agent.aws.errors import ServiceError, UnreadableError
from agent.aws.signing import Headers, Signer
from agent.aws.transport import Response, Transport
from agent.deadline import Deadline
from agent.errors import MisconfiguredError


class _Service(msgspec.Struct, frozen=True):
    signed_as: str
    content_type: str
    target: str = ""  # of a JSON protocol: what stands before an operation's name
    version: str = ""  # of the Query protocol
    connect: float = 3.0  # seconds
    seconds: float = 900.0  # that a call may take; Lambda's own longest, where it is for the deadline to end it


_SERVICES = {
    "dynamodb": _Service("dynamodb", "application/x-amz-json-1.0", "DynamoDB_20120810.", connect=0.5, seconds=1.4),
    "secretsmanager": _Service("secretsmanager", "application/x-amz-json-1.1", "secretsmanager.", connect=1, seconds=3),
    "sns": _Service(
        "sns", "application/x-www-form-urlencoded; charset=utf-8", version="2010-03-31", connect=1, seconds=3
    ),
    "bedrock-runtime": _Service("bedrock", "application/json"),
}


class AWS:
    """What all clients of a process share: connections and credentials. Raises MisconfiguredError without a region."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = environment
        self.transport = Transport(environment)
        self.credentials = CredentialSource(environment, self.transport)
        self.region = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION") or ""
        if not re.fullmatch("[a-z0-9-]+", self.region):
            raise MisconfiguredError(detail=f"AWS_REGION is {self.region!r}, but must be a region, such as us-east-1.")

    def client(self, service: str) -> "Client":
        """A client of dynamodb, bedrock-runtime, secretsmanager or sns."""
        return Client(self, service)


class Client:
    """One service. Every call raises ServiceError where it is refused, other CallErrors, or MisconfiguredError."""

    def __init__(self, aws: AWS, service: str, *, now: Callable[[], float] = time.time) -> None:
        self._aws, self._service, self._now = aws, _SERVICES[service], now
        self._endpoint = replace(endpoint_of(service, aws.region, aws.environment), connect=self._service.connect)
        self._signer = Signer(self._service.signed_as, aws.region)

    def call(self, operation: str, parameters: Mapping[str, Any], deadline: Deadline) -> dict[str, Any]:
        """An operation of DynamoDB or Secrets Manager, with parameters and answer as their API has them."""
        headers = {"X-Amz-Target": self._service.target + operation}
        response = self.post("/", msgspec.json.encode(parameters), deadline, headers)
        body = response.body()
        wanted = response.headers.get("x-amz-crc32")
        if wanted and wanted != str(crc32(body)):
            raise UnreadableError("the answer's checksum is wrong")
        try:
            answer = msgspec.json.decode(body) if body else {}
        except (ValueError, RecursionError) as error:
            raise UnreadableError("the answer is no JSON") from error
        if not isinstance(answer, dict):
            raise UnreadableError("the answer is no JSON object")
        return answer

    def query(self, operation: str, parameters: Mapping[str, str], deadline: Deadline) -> bytes:
        """An operation of SNS; the answer is XML."""
        fields = {"Action": operation, "Version": self._service.version, **parameters}
        return self.post("/", urlencode(fields).encode(), deadline).body()

    def post(self, path: str, body: bytes, deadline: Deadline, headers: Mapping[str, str] | None = None) -> Response:
        """Sends a signed request; the body of its answer is still to be read. `path` is encoded."""
        service, target, ends = self._service, self._endpoint.path + path, deadline.within(self._service.seconds)
        signed = [("Content-Type", service.content_type), *(headers or {}).items()]
        sent = [*signed]
        trace = self._aws.environment.get("_X_AMZN_TRACE_ID")
        if trace and "AWS_LAMBDA_FUNCTION_NAME" in self._aws.environment:  # by which Lambda notices recursion
            sent.append(("X-Amzn-Trace-Id", quote(trace, safe="-=;:+&[]{}\"',")))
        sent += self._authorization(target, [("Host", self._endpoint.authority), *signed], body, ends).items()
        response = self._aws.transport.send(self._endpoint, "POST", target, sent, body, ends)
        if response.status >= 300:
            raise self._refusal(response)
        return response

    def _authorization(self, target: str, headers: Headers, body: bytes, deadline: Deadline) -> dict[str, str]:
        token = self._aws.environment.get("AWS_BEARER_TOKEN_BEDROCK") if self._service.signed_as == "bedrock" else None
        if not token:
            credentials = self._aws.credentials.current(deadline)
            return self._signer.signature("POST", target, headers, body, credentials, self._now())
        if self._endpoint.scheme != "https":
            raise MisconfiguredError(detail="AWS_BEARER_TOKEN_BEDROCK is sent to https alone: change the endpoint.")
        return {"Authorization": f"Bearer {token}"}

    def _refusal(self, response: Response) -> ServiceError:
        headers, told = response.headers, _told(response.body(), is_xml=bool(self._service.version))
        names = ("__type",) if self._service.target else ("code", "Code", "__type")
        code = next((str(told[name]) for name in names if name in told), "")
        if not (self._service.target or self._service.version):
            code = headers.get("x-amzn-errortype", code)
        code = code.partition(":")[0].rpartition("#")[2] or str(response.status)
        message = str(told.get("message", told.get("Message", "")))
        if "Signature expired" in message or "Signature not yet current" in message:
            message += _skew(headers.get("date", ""), self._now())
        request_id = str(told.get("RequestId", headers.get("x-amzn-requestid", "")))
        return ServiceError(response.status, code, message, request_id, headers, told)


def _told(body: bytes, *, is_xml: bool) -> dict[str, Any]:
    text = body.decode("utf-8", "replace")
    try:
        if is_xml:
            from xml.etree import ElementTree  # which hardly any call needs

            return {
                element.tag.rpartition("}")[2]: element.text or "" for element in ElementTree.fromstring(text).iter()
            }
        found = msgspec.json.decode(body or b"{}")
    except (ValueError, SyntaxError, RecursionError):
        return {} if text.startswith("<html>") else {"message": text}
    return found if isinstance(found, dict) else {}


def _skew(date: str, now: float) -> str:
    from email.utils import parsedate_to_datetime

    try:
        seconds = now - parsedate_to_datetime(date).timestamp()
    except ValueError:
        return ""
    return f" (by AWS's own clock, the one here is {abs(seconds):.0f} s {'ahead' if seconds > 0 else 'behind'})"
