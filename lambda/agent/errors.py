"""The family of errors: what went wrong, in a code for programs and a sentence for a person.

`message` reaches the caller, so it never names an ARN, an account, a class or a path. `detail` is for the log alone.
"""


class AgentError(Exception):
    """The root. `code` is the contract's; `retry_after` is in whole seconds, or None where a retry can't help."""

    code = "internal"
    default = "Something went wrong inside the agent. Its log has the details."
    retry_after: int | None = None

    def __init__(self, message: str = "", *, detail: str = "") -> None:
        self.message = message or self.default
        self.detail = detail
        super().__init__(self.message)


class InternalError(AgentError):
    """A bug of ours."""


class InvalidRequestError(AgentError):
    """Not one of our events or bodies."""

    code = "invalid_request"
    default = "The request is not valid."


class ForbiddenError(AgentError):
    """Only others may do this."""

    code = "forbidden"
    default = "This needs the decision of an approver, and this caller is none."


class NotFoundError(AgentError):
    """No such route, or nothing is kept under that name."""

    code = "not_found"
    default = "There is nothing here."


class MethodNotAllowedError(AgentError):
    """The route exists, but not with this method."""

    code = "method_not_allowed"
    default = "This method is not allowed here."

    def __init__(self, message: str = "", *, detail: str = "", allowed: tuple[str, ...] = ()) -> None:
        super().__init__(message, detail=detail)
        self.allowed = allowed


class PayloadTooLargeError(AgentError):
    """The body, the question or the conversation exceeds a limit."""

    code = "payload_too_large"
    default = "The request is too large."


class PromptTooLongError(PayloadTooLargeError):
    """The model refused the request because it exceeds the context window."""

    default = "The question is too long for the model."


class SessionBusyError(AgentError):
    """Another request holds this session; `retry_after` is what is left of its lease, in seconds."""

    code = "session_busy"
    default = "Another request is using this session. Try again later."

    def __init__(self, message: str = "", *, detail: str = "", retry_after: int = 5) -> None:
        super().__init__(message, detail=detail)
        self.retry_after = retry_after


class ModelThrottledError(AgentError):
    """The model's quota is used up for now."""

    code = "model_throttled"
    default = "The model is receiving too many requests. Try again later."

    def __init__(self, message: str = "", *, detail: str = "", retry_after: int = 5) -> None:
        super().__init__(message, detail=detail)
        self.retry_after = retry_after


class ModelError(AgentError):
    """The model failed on this request, or refused it; `remedies` name what it may be asked without, the likeliest first."""

    code = "model_error"
    default = "The model could not process the request."

    def __init__(self, message: str = "", *, detail: str = "", remedies: tuple[str, ...] = ()) -> None:
        super().__init__(message, detail=detail)
        self.remedies = remedies


class ModelUnavailableError(AgentError):
    """The model can't be reached, or did not answer."""

    code = "model_unavailable"
    default = "The model is not available at the moment. Try again later."
    retry_after = 5


class StorageUnavailableError(AgentError):
    """The session can't be read or reserved."""

    code = "storage_unavailable"
    default = "The session store is not available at the moment. Try again later."
    retry_after = 5


class OutOfTimeError(AgentError):
    """The time ended before one model call did."""

    code = "out_of_time"
    default = "The time ran out before the model answered."


class MisconfiguredError(AgentError):
    """A setting or a permission is wrong; `detail` says what to fix. With `another_may_do` it is the choice of the model."""

    code = "misconfigured"
    default = "The agent is not set up correctly. Its log says what to fix."

    def __init__(self, message: str = "", *, detail: str = "", another_may_do: bool = False) -> None:
        super().__init__(message, detail=detail)
        self.another_may_do = another_may_do


class ToolError(AgentError):
    """Raised by a tool for what the model should read; it never leaves the loop."""

    code = "tool_error"
    default = "The tool failed and gave no reason."
