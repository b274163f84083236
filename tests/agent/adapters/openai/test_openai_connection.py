"""Where requests go, with which key, over which connection, and for how long."""

import datetime
import logging
import ssl
import time
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from agent.adapters.bedrock.model import Inference
from agent.adapters.openai.model import OpenAIModel
from agent.aws.transport import Transport
from agent.deadline import Deadline
from agent.errors import MisconfiguredError, ModelUnavailableError, OutOfTimeError
from tests.agent.adapters.openai.openai_client import MODEL, ask, model_of, request
from tests.agent.adapters.openai.openai_server import Answer, OpenAIServer, completion, error

LONG = Answer(b" " * 1000, mischief="drip")


@pytest.mark.parametrize("ending", ["", "/", "/chat/completions", "/chat/completions/"])
def test_the_base_url_may_end_as_people_write_it(ending: str) -> None:
    with OpenAIServer(completion("a")) as server:
        server.url += ending
        ask(server)
    assert server.asked[0].path == "/v1/chat/completions"


def test_a_local_server_needs_no_key_and_others_get_theirs() -> None:
    with OpenAIServer(completion("a"), completion("b")) as server:
        ask(server)
        ask(server, key=lambda: " sk-key\n")
    assert "Authorization" not in server.asked[0].headers
    assert "api-key" not in server.asked[0].headers
    assert server.asked[1].headers["Authorization"] == "Bearer sk-key"
    assert server.asked[1].headers["Content-Type"] == "application/json"


def test_azure_keeps_its_path_and_version_and_gets_its_own_header() -> None:
    with OpenAIServer(completion("a"), key="sk-key") as server:
        server.url = server.url.replace("/v1", "/openai/deployments/mine?api-version=2024-10-21")
        ask(server, key=lambda: "sk-key")
    assert server.asked[0].path == "/openai/deployments/mine/chat/completions?api-version=2024-10-21"
    assert "Authorization" not in server.asked[0].headers


def test_the_key_is_read_at_the_first_call_and_again_when_it_is_refused() -> None:
    keys = ["old", "new", "never read"]
    with OpenAIServer(*[completion("a")] * 3, key="old") as server:
        model = model_of(server, key=lambda: keys.pop(0))
        assert len(keys) == 3
        for _ in range(2):
            model.converse(request(), Deadline.after(20))
        server.key = "new"
        assert model.converse(request(), Deadline.after(20)).content == [{"text": "a"}]
    assert keys == ["never read"]
    assert len(server.asked) == 4


def test_a_key_that_stays_wrong_is_misconfigured() -> None:
    keys = iter(["wrong", "old"])
    with OpenAIServer(key="right") as server, pytest.raises(MisconfiguredError) as failed:
        ask(server, key=lambda: next(keys))
    assert len(server.asked) == 2
    assert "401" in failed.value.detail


def test_a_key_that_is_refused_and_still_the_same_is_not_sent_again() -> None:
    with OpenAIServer(key="right") as server, pytest.raises(MisconfiguredError):
        ask(server, key=lambda: "wrong")
    assert len(server.asked) == 1


def test_a_key_that_is_refused_at_the_last_attempt_is_told_as_that() -> None:
    with OpenAIServer(error(500), error(500), error(401)) as server, pytest.raises(MisconfiguredError):
        ask(server, key=lambda: "sk-key")
    assert len(server.asked) == 3


@pytest.mark.parametrize("key", ["sk-a\nb", "sk-é", "sk-\x00"])
def test_a_key_that_no_header_can_hold_is_told_without_it(key: str) -> None:
    with OpenAIServer() as server, pytest.raises(MisconfiguredError) as failed:
        ask(server, key=lambda: key)
    assert server.asked == []
    assert "sk-" not in failed.value.detail


def test_what_reading_the_key_raises_is_raised() -> None:
    def fails() -> str:
        raise MisconfiguredError(detail="no such secret")

    with OpenAIServer() as server, pytest.raises(MisconfiguredError, match="not set up"):
        ask(server, key=fails)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:11434/v1",
        "ftp://localhost/v1",
        "http://",
        "http://u:password@localhost/v1",
        "http://[::1/v1",
        "http://localhost:99999/v1",
        "http://localhost:0/v1",
        "http://localhost:x/v1",
    ],
)
def test_a_url_that_is_none_is_told_without_it(url: str) -> None:
    with pytest.raises(MisconfiguredError) as failed:
        OpenAIModel(Transport({}), url, MODEL, str, Inference(64))
    assert "OPENAI_BASE_URL" in failed.value.detail
    assert "password@" not in failed.value.detail


def test_a_guardrail_is_never_left_out_silently() -> None:
    with OpenAIServer() as server, pytest.raises(MisconfiguredError) as failed:
        model_of(server, guardrail=("g", "1"))
    assert "GUARDRAIL_ID" in failed.value.detail


def test_one_connection_serves_many_calls_and_failures_too() -> None:
    answers = [completion("a"), error(500, "no"), completion("b"), error(400, "no")]
    with OpenAIServer(*answers) as server:
        model = model_of(server)
        for _ in range(2):
            model.converse(request(), Deadline.after(20))
    assert len(server.asked) == 3
    assert len({asked.connection for asked in server.asked}) == 1


def test_a_redirect_is_not_followed() -> None:
    with OpenAIServer(completion("stolen")) as other:
        redirect = Answer(status=307, headers={"Location": other.url + "/chat/completions"})
        with OpenAIServer(redirect) as server, pytest.raises(MisconfiguredError):
            ask(server, key=lambda: "sk-key")
    assert other.asked == []


@pytest.mark.parametrize("mischief", ["drop", "cut"])
def test_a_connection_that_breaks_is_made_again(mischief: str) -> None:
    broken = Answer(completion("a").body, mischief=mischief)  # type: ignore[arg-type]
    with OpenAIServer(broken, broken, completion("b")) as server:
        assert ask(server).content == [{"text": "b"}]
    with OpenAIServer(*[broken] * 3) as server, pytest.raises(ModelUnavailableError):
        ask(server)
    assert len(server.asked) == 3


def test_an_endpoint_that_is_not_there_is_unavailable() -> None:
    with OpenAIServer() as server:
        pass
    waits: list[float] = []
    with pytest.raises(ModelUnavailableError):
        ask(server, waits=waits)
    assert len(waits) == 2


@pytest.mark.parametrize("slow", [Answer(mischief="hang"), LONG])
def test_the_deadline_bounds_a_call_whatever_still_arrives(slow: Answer) -> None:
    began = time.monotonic()
    with OpenAIServer(slow) as server, pytest.raises(OutOfTimeError):
        ask(server, seconds=0.3)
    assert time.monotonic() - began < 3
    assert len(server.asked) == 1


def test_without_time_nothing_is_asked() -> None:
    keys = ["sk-key"]
    with OpenAIServer() as server, pytest.raises(OutOfTimeError):
        ask(server, seconds=0, key=keys.pop)
    assert server.asked == []
    assert keys == ["sk-key"]


def test_reading_the_key_is_bounded_too() -> None:
    given: list[Deadline] = []

    def key(deadline: Deadline) -> str:
        given.append(deadline)
        return ""

    deadline = Deadline.after(5)
    with OpenAIServer(completion("a")) as server:
        OpenAIModel(Transport({}), server.url, MODEL, key, Inference(64)).converse(request(), deadline)
    assert given == [deadline]


def test_a_call_waits_for_no_delayed_acknowledgement() -> None:
    with OpenAIServer(*[completion("a")] * 6) as server:
        model = model_of(server)
        model.converse(request(), Deadline.after(20))
        began = time.monotonic()
        for _ in range(5):
            model.converse(request(), Deadline.after(20))
        assert time.monotonic() - began < 5 * 0.04


def test_a_path_that_people_write_with_spaces_and_umlauts_is_encoded() -> None:
    with OpenAIServer(completion("a")) as server:
        server.url = server.url.replace("/v1", "/my models/é%20?a=b c")
        ask(server)
    assert server.asked[0].path == "/my%20models/%C3%A9%20/chat/completions?a=b%20c"


def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(self_signed(tmp_path))
    with OpenAIServer(completion("stolen"), tls=context) as server, pytest.raises(MisconfiguredError) as failed:
        ask(server, key=lambda: "sk-key")
    assert server.asked == []
    assert "certificate" in failed.value.detail


def test_logs_hold_neither_key_nor_bodies(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), OpenAIServer(completion("the answer"), error(400, "no")) as server:
        model = model_of(server, key=lambda: "sk-key")
        model.converse(request(), Deadline.after(20))
    assert "sk-key" not in caplog.text
    assert "question" not in caplog.text
    assert "the answer" not in caplog.text


def self_signed(folder: Path) -> Path:
    """A file with a key and a certificate for 127.0.0.1."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    form, nothing = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    file = folder / "server.pem"
    file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, form, nothing)
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    return file
