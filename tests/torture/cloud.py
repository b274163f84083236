"""DynamoDB and Bedrock behind one port of this machine, which injects faults and notes what went through.

DynamoDB is moto, in this process and one call at a time: moto reads and writes in separate steps, so only so are its conditional
writes atomic. Bedrock is the stand-in, with all its rules.
"""

import http.client
import json
import os
import re
import signal
import threading
import time
from collections import Counter, defaultdict
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import botocore.session
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.test import Client

from local.bedrock.server import BedrockServer
from local.session_table import SessionTable
from tests.torture.faults import FREEZE, MADE, MODEL, MODEL_ERRORS, SECONDS, STORAGE_ERRORS, Plan
from tests.torture.witness import Witness

_TAG = re.compile(rb"torture-\w+")
_GARBAGE = b"<html><body>no answer of a service</body></html>"


@dataclass
class Traffic:
    """What went through for one session: calls by operation, answers of the model that arrived whole, and what is planned."""

    calls: Counter[str] = field(default_factory=Counter)
    delivered: list[str] = field(default_factory=list)
    together: int = 0  # model calls that began while another was under way
    under_way: int = 0
    plan: Plan | None = None
    victim: "Future[int]" = field(default_factory=Future)  # the pid of the process that the plan may kill
    frozen: threading.Event = field(default_factory=threading.Event)


class Cloud:
    """Serves until it is closed; a context manager. `table` is the name of the session table in it."""

    def __init__(self, table: str) -> None:
        self.table = table
        self.faults: Counter[str] = Counter()
        self.traffic: defaultdict[str, Traffic] = defaultdict(Traffic)
        self.lock = threading.Lock()
        self._bedrock = BedrockServer(Witness())
        self._moto = Client(DomainDispatcherApplication(create_backend_app))
        self._one_at_a_time = threading.Lock()
        self._server = _Server(self)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._bedrock.start()
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        dynamodb: Any = botocore.session.get_session().create_client(
            "dynamodb",
            endpoint_url=self.url,
            region_name="us-east-1",
            aws_access_key_id="testing",
            aws_secret_access_key="testing",
        )
        self.dynamodb = dynamodb
        SessionTable(dynamodb, table)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.dynamodb.delete_table(TableName=self.table)
        self.dynamodb.close()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._bedrock.close()

    def items(self, tag: str, caller: str = "anonymous") -> list[dict[str, Any]]:
        """The items of a caller's session, oldest first."""
        found = self.dynamodb.query(
            TableName=self.table,
            KeyConditionExpression="session_id = :key",
            ExpressionAttributeValues={":key": {"S": f"{caller}#{tag}"}},
            ConsistentRead=True,
        )
        return list(found["Items"])

    def broken_rules(self) -> list[str]:
        """The requests that Bedrock would have refused, as the rules that they broke."""
        return [
            f"{found.rule}: {found.message}"
            for request in list(self._bedrock.requests)
            for found in request.violations
            if found.level == "error"
        ]

    def call(
        self, operation: str, path: str, headers: dict[str, str], body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        """Makes a call; status, headers and body of its answer."""
        if operation == MODEL:
            address = self._bedrock.url.removeprefix("http://")
            connection = http.client.HTTPConnection(address)
            try:
                connection.request("POST", path, body, headers)
                answer = connection.getresponse()
                return answer.status, dict(answer.getheaders()), answer.read()
            finally:
                connection.close()
        with self._one_at_a_time:
            response = self._moto.post(path, data=body, headers=headers)
        return response.status_code, dict(response.headers), response.get_data()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Killed processes leave their connections: no news."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 64 * 1024

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        target = self.headers.get("X-Amz-Target", "")
        operation = target.rpartition(".")[2] if target else MODEL
        found = _TAG.search(body)
        cloud = self.server.cloud
        with cloud.lock:
            traffic = cloud.traffic[found[0].decode() if found else ""]
            traffic.calls[operation] += 1
            fault = traffic.plan.fault_for(operation) if traffic.plan else None
            if fault:
                cloud.faults[f"{'model' if operation == MODEL else 'storage'} {fault}"] += 1
            if operation == MODEL:
                traffic.together += traffic.under_way > 0
                traffic.under_way += 1
        try:
            self._serve(operation, body, traffic, fault)
        finally:
            if operation == MODEL:
                with cloud.lock:
                    traffic.under_way -= 1

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def _serve(self, operation: str, body: bytes, traffic: Traffic, fault: str | None) -> None:
        self._delivered = traffic.delivered  # another list, once the process that asked is known to be no more
        if fault == "kill_before":
            self._kill(traffic)
        errors = MODEL_ERRORS if operation == MODEL else STORAGE_ERRORS
        if fault in errors:
            self._refuse(operation, *errors[fault])
        elif fault is None or fault in MADE:
            headers = {n: v for n, v in self.headers.items() if n.lower() not in ("content-length", "connection")}
            status, answered, answer = self.server.cloud.call(operation, self.path, headers, body)
            if fault == "kill_after":
                self._kill(traffic)
            elif fault == FREEZE:
                os.kill(traffic.victim.result(timeout=10), signal.SIGSTOP)
                traffic.frozen.set()
            self._pass_on(operation, status, answered, answer, traffic, fault)
        else:
            self._leave(wait=fault == "silent")

    def _pass_on(
        self, operation: str, status: int, headers: dict[str, str], answer: bytes, traffic: Traffic, fault: str | None
    ) -> None:
        if fault in ("drop_after", "kill_after"):
            self._leave(wait=False)
            return
        time.sleep(SECONDS.get(fault or "", 0))
        kept = {n: v for n, v in headers.items() if n.lower() in ("content-type", "x-amzn-errortype", "x-amz-crc32")}
        victim = (
            traffic.victim
        )  # who asked: once it has its answer it may end, and the next request's process be the victim
        whole = fault in (None, "slow", "kill_answered", FREEZE)
        if whole and operation == MODEL and status == 200:
            self._note(answer)
        self._send(status, kept, _GARBAGE if fault == "garbage" else answer, cut=fault == "drop_middle")
        if fault == "kill_answered":
            with suppress(ProcessLookupError):
                os.kill(victim.result(timeout=10), signal.SIGKILL)

    def _note(self, answer: bytes) -> None:
        reply = json.loads(answer)
        if reply["stopReason"] == "end_turn":
            self._delivered.append(reply["output"]["message"]["content"][0]["text"])

    def _kill(self, traffic: Traffic) -> None:
        with suppress(ProcessLookupError):
            os.kill(traffic.victim.result(timeout=10), signal.SIGKILL)

    def _refuse(self, operation: str, status: int, name: str) -> None:
        if operation == MODEL:
            self._send(status, {"x-amzn-ErrorType": name}, json.dumps({"message": "injected"}).encode())
        else:
            error = {"__type": f"com.amazonaws.dynamodb.v20120810#{name}", "message": "injected"}
            self._send(status, {"Content-Type": "application/x-amz-json-1.0"}, json.dumps(error).encode())

    def _leave(self, *, wait: bool) -> None:
        if wait:
            self.connection.recv(1)  # until the caller has left
        self.close_connection = True

    def _send(self, status: int, headers: dict[str, str], body: bytes, *, cut: bool = False) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if cut else body)
        self.wfile.flush()
        self.close_connection = self.close_connection or cut
