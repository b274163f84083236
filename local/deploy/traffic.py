"""What the rehearsal sends to the deployed function: the sample events, and requests through the API's routes."""

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from local.deploy.readback import Check
from local.events import read_event
from local.gateway import Gateway
from local.screen import describe_failure, failed

EVENTS = Path(__file__).parent.parent.parent / "events"
SESSION = "rehearsal"
QUESTION = {"question": "Hello.", "session_id": SESSION}
KEY_ID = "AKIAIOSFODNN7EXAMPLE"
CALLER = {
    "accessKey": KEY_ID,
    "accountId": "123456789012",
    "callerId": "AIDACKCEVSQ6C2EXAMPLE",
    "userArn": "arn:aws:iam::123456789012:user/rehearsal",
    "userId": "AIDACKCEVSQ6C2EXAMPLE",
}
Invoke = Callable[[Any], tuple[Any, bool]]


def send_events(invoke: Invoke, folder: Path = EVENTS) -> Iterator[Check]:
    """A question, and each event of the folder, which is the user's, in order of their names: answered and saved."""
    yield _sent(invoke, "a direct question", {"question": "Hello.", "session_id": f"{SESSION}-direct"})
    for path in sorted(folder.glob("*.json")):
        yield _sent(invoke, f"event {path.stem}", read_event(path))


def _sent(invoke: Invoke, name: str, event: Any) -> Check:
    result, succeeded = invoke(event)
    told = describe_failure(result) if failed(result, succeeded) else "answered"
    if isinstance(result, Mapping) and result.get("saved") is False:
        told = "answered, but not saved"
    return Check(name, "answered", told)


@dataclass(frozen=True)
class Api:
    """What was deployed of an HTTP API: its routes with the type of authorization of each, its CORS, its time-out."""

    routes: Mapping[str, str]
    region: str
    cors: Mapping[str, Any] | None
    timeout_seconds: float

    @property
    def closed(self) -> str:
        """The type of authorization that callers need."""
        return self.routes["POST /chat"]

    def gateway(self, invoke: Invoke) -> Gateway:
        """A stand-in for API Gateway that serves it."""

        def authorize(event: dict[str, Any]) -> dict[str, Any] | None:
            return _identity(self.routes[event["routeKey"]], event["headers"].get("authorization", ""))

        return Gateway(
            invoke, routes=self.routes, authorizer=authorize, cors=self.cors, timeout_seconds=self.timeout_seconds
        )

    def credentials(self) -> str:
        """What curl needs for a closed route."""
        if self.closed == "AWS_IAM":
            return f' --aws-sigv4 "aws:amz:{self.region}:execute-api" --user {KEY_ID}:testing'
        return ' -H "Authorization: Bearer me"' if self.closed == "JWT" else ""


def send_requests(invoke: Invoke, api: Api) -> Iterator[Check]:
    """Requests through the deployed routes."""
    closed, region = api.closed, api.region
    with api.gateway(invoke) as gateway:

        def status(method: str, path: str, body: Any = None, *, signed: bool = True) -> int:
            return _send(method, gateway.url + path, body, closed if signed else "NONE", region)

        yield Check("GET /health, unsigned", 200, status("GET", "/health", signed=False))
        if closed != "NONE":
            yield Check("POST /chat, unsigned", 401, status("POST", "/chat", QUESTION, signed=False))
        yield Check("POST /chat", 200, status("POST", "/chat", QUESTION))
        yield Check("POST /chat with no question", 400, status("POST", "/chat", {"session_id": SESSION}))
        yield Check("GET /sessions/{session_id}", 200, status("GET", f"/sessions/{SESSION}"))
        yield Check("DELETE /sessions/{session_id}", 204, status("DELETE", f"/sessions/{SESSION}"))
        yield Check("GET /sessions/{session_id}, once deleted", 404, status("GET", f"/sessions/{SESSION}"))
        yield Check("GET /nowhere", 404, status("GET", "/nowhere"))


def _identity(authorization_type: str, authorization: str) -> dict[str, Any] | None:
    """What an authorizer of the type tells the function of the caller; None where it refuses."""
    if authorization_type == "AWS_IAM":
        # That the signature is right is for AWS to check; that there is one, and whose, is checked here.
        return {"iam": CALLER} if authorization.startswith(f"AWS4-HMAC-SHA256 Credential={KEY_ID}/") else None
    if authorization_type == "JWT":
        claims = {"iss": "https://example.com/", "sub": "rehearsal"}
        return {"jwt": {"claims": claims, "scopes": None}} if authorization.startswith("Bearer ") else None
    return {}


def _send(method: str, url: str, body: Any, authorization_type: str, region: str) -> int:
    """The status of a request with the credentials that the type of authorization asks for."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"content-type": "application/json"} if data else {}
    if authorization_type == "AWS_IAM":
        request = AWSRequest(method, url, data=data, headers=headers)
        SigV4Auth(Credentials(KEY_ID, "testing"), "execute-api", region).add_auth(request)
        headers = dict(request.headers.items())
    elif authorization_type == "JWT":
        headers["authorization"] = "Bearer rehearsal"
    # No proxy of the machine's: the request stays on it.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(urllib.request.Request(url, data, headers, method=method)) as response:
            return int(response.status)
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code
