"""Refusals as providers word them, and what each of them means: which error, whether it is sent again, what may mend it."""

import pytest

from agent.adapters.refusals import read_refusal, shortened
from agent.errors import (
    AgentError,
    MisconfiguredError,
    ModelError,
    ModelThrottledError,
    ModelUnavailableError,
    PromptTooLongError,
)


def read(status: int, code: str, message: str) -> tuple[AgentError, bool]:
    return read_refusal(status, code, message, f"{status} {code} {message}", "the settings")


# (status, code, message): as reported by users of Bedrock (ValidationException), OpenAI, Azure, Mistral, Groq, DeepSeek, Gemini,
# LiteLLM, vLLM, llama.cpp, Ollama, OpenRouter
REMEDIES = {
    "ids": [
        (400, "3280", "Tool call id was turn1_0 but must be a-z, A-Z, 0-9, with a length of 9."),
        (500, "500", 'raise_exception("Tool call IDs should be alphanumeric strings with length 9!") ^ Error: Jinja'),
        (400, "", "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a maximum length of 40"),
        (400, "", "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"),
        (400, "ValidationException", "Value at 'toolUse.toolUseId' failed: length less than or equal to 64"),
    ],
    "single_calls": [
        (500, "500", "Error: Jinja Exception: This model only supports single tool-calls at once!"),
        (400, "BAD_REQUEST", "Multiple tool calls are not supported."),
    ],
    "unexplained_calls": [
        (400, "", "The `reasoning_content` in the thinking mode must be passed back to the API."),
        (400, "", "Missing `reasoning_content` field in the assistant message at message index 2"),
        (400, "400", "Function call is missing a thought_signature in functionCall parts."),
        (400, "", "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`."),
    ],
    "extras": [
        (422, "", "[body, messages, 5, assistant, reasoning_content]: Extra inputs are not permitted"),
        (400, "wrong_api_format", "messages.2.assistant.reasoning_content: property 'x' is unsupported"),
    ],
    "text_beside_calls": [(400, "", "Assistant message must have either content or tool_calls, but not both.")],
    "system": [
        (400, "ValidationException", "This model doesn't support system messages. Try again without a system message."),
        (400, "", "System role not supported"),
        (400, "unsupported_value", "'messages[0].role' does not support 'system' with this model."),
        (400, "400", "Developer instruction is not enabled for models/gemma-3-1b-it"),
    ],
    "tool_messages": [
        (500, "500", "Error: Jinja Exception: Conversation roles must alternate user/assistant/user/assistant/..."),
        (400, "", "Only user and assistant roles are supported!"),
        (400, "", "Unexpected role 'tool'"),
    ],
    "stop": [
        (
            400,
            "ValidationException",
            "This model doesn't support the stopSequences field. Remove stopSequences and try again.",
        ),
        (400, "unsupported_parameter", "Unsupported parameter: 'stop' is not supported with this model."),
    ],
    "sampling": [
        (
            400,
            "unsupported_value",
            "'temperature' does not support 0.2 with this model. Only the default (1) is supported.",
        ),
        (400, "ValidationException", "`temperature` is deprecated for this model."),
        (400, "ValidationException", "This model doesn't support the topP field. Remove topP and try again."),
    ],
    "streaming": [
        (400, "ValidationException", "This model doesn't support tool use in streaming mode."),
        (400, "ValidationException", "The model is unsupported for streaming."),
    ],
    "tell": [
        (400, "tool_use_failed", "Failed to call a function. Please adjust your prompt."),
        (400, "tool_use_failed", "tool call validation failed: parameters for tool f did not match schema"),
        (424, "ModelErrorException", "Model produced invalid sequence as part of ToolUse."),
        (500, "api_error", "error parsing tool call: raw='{', err=unexpected end of JSON input"),
    ],
}


@pytest.mark.parametrize(
    ("remedy", "status", "code", "message"),
    [(remedy, *refusal) for remedy, refusals in REMEDIES.items() for refusal in refusals],
)
def test_the_likeliest_remedy_comes_first(remedy: str, status: int, code: str, message: str) -> None:
    error, again = read(status, code, message)
    assert isinstance(error, ModelError)
    assert error.remedies[0] == remedy
    assert not again
    assert message[-20:] in error.detail


def test_a_template_that_wants_alternating_roles_may_mean_the_system_text() -> None:
    error, _ = read(400, "", "Conversation roles must alternate user/assistant/user/assistant/...")
    assert isinstance(error, ModelError)
    assert error.remedies == ("tool_messages", "system")


OTHERS: list[tuple[type[AgentError], bool, int, str, str]] = [
    (
        PromptTooLongError,
        False,
        429,
        "rate_limit_exceeded",
        "Request too large for o3 on tokens per min: Limit 9, Requested 10.",
    ),
    (
        PromptTooLongError,
        False,
        429,
        "tokens",
        "The input or output tokens must be reduced in order to run successfully.",
    ),
    (
        PromptTooLongError,
        False,
        429,
        "rate_limit_exceeded",
        "Rate limit reached: Limit 30000, Used 0, Requested 34567.",
    ),
    (PromptTooLongError, False, 413, "rate_limit_exceeded", "Request too large, please reduce your message size"),
    (
        PromptTooLongError,
        False,
        400,
        "model_max_prompt_tokens_exceeded",
        "prompt token count of 9 exceeds the limit of 8",
    ),
    (
        PromptTooLongError,
        False,
        400,
        "",
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    ),
    (
        ModelThrottledError,
        True,
        429,
        "rate_limit_exceeded",
        "Rate limit reached: Limit 10000, Used 9000, Requested 2000.",
    ),
    (ModelThrottledError, True, 429, "ThrottlingException", "Too many tokens, please wait before trying again."),
    (
        ModelThrottledError,
        True,
        429,
        "rate_limit_error",
        "exceed your organization's rate limit of 30,000 input tokens per minute",
    ),
    (ModelThrottledError, False, 429, "insufficient_quota", "You exceeded your current quota"),
    (ModelUnavailableError, True, 409, "conflict", "Try again."),
    (ModelUnavailableError, True, 500, "", "Internal Server Error"),
    (ModelUnavailableError, True, 503, "", "loading model"),
    (ModelUnavailableError, False, 504, "", "Gateway Timeout"),
    (ModelError, False, 400, "ValidationException", "messages.3: wrong"),
]


@pytest.mark.parametrize(("raised", "again", "status", "code", "message"), OTHERS)
def test_a_refusal_becomes_the_error_that_says_what_it_means(
    raised: type[AgentError], again: bool, status: int, code: str, message: str
) -> None:
    error, may_be_sent_again = read(status, code, message)
    assert (type(error), may_be_sent_again) == (raised, again)


@pytest.mark.parametrize(
    ("status", "code", "message", "hint"),
    [
        (400, "400", "/chat/completions: Invalid model name passed in model=nosuch. Call `/v1/models`", "MODEL_ID"),
        (400, "", "Unsupported model nosuch, please use models API to get a list of supported models", "MODEL_ID"),
        (400, "invalid_request_error", "Model Not Exist", "MODEL_ID"),
        (400, "", "deepseek/deepseek-coder is not a valid model ID", "MODEL_ID"),
        (
            400,
            "model_decommissioned",
            "The model `x` has been decommissioned and is no longer supported.",
            "end of its life",
        ),
        (400, "no_db_connection", "No connected db.", "the settings"),
        (400, "", "API key not valid. Please pass a valid API key.", "the settings"),
        (400, "ValidationException", "The provided model identifier is invalid.", "end of its life"),
        (
            404,
            "ResourceNotFoundException",
            "This Model is marked by provider as Legacy and you have not",
            "end of its life",
        ),
        (404, "ResourceNotFoundException", "This model version has reached the end of its life.", "end of its life"),
        (
            400,
            "ValidationException",
            "Invocation of model ID x with on-demand throughput isn’t supported.",
            "inference profile",
        ),
        (400, "ValidationException", "This model doesn't support tool use.", "MODEL_TOOL_USE=react"),
        (400, "api_error", "registry.ollama.ai/library/gemma:2b does not support tools", "MODEL_TOOL_USE=react"),
        (404, "404", "No endpoints found that support tool use.", "MODEL_TOOL_USE=react"),
        (400, "", "`tool calling` is not supported with this model", "MODEL_TOOL_USE=react"),
        (
            400,
            "",
            '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
            "MODEL_TOOL_USE=react",
        ),
        (400, "400", "Function calling is not enabled for models/gemma-3-1b-it", "MODEL_TOOL_USE=react"),
    ],
)
def test_a_model_that_can_not_be_had_is_misconfigured_with_what_to_fix_and_another_may_do(
    status: int, code: str, message: str, hint: str
) -> None:
    error, again = read(status, code, message)
    assert isinstance(error, MisconfiguredError)
    assert hint in error.detail
    assert error.another_may_do
    assert not again


@pytest.mark.parametrize(("status", "code"), [(401, "invalid_api_key"), (403, "AccessDeniedException"), (402, "")])
def test_a_key_or_a_right_that_is_missing_is_no_reason_for_another_model(status: int, code: str) -> None:
    error, _ = read(status, code, "You have no access to the model with the specified model ID.")
    assert isinstance(error, MisconfiguredError)
    assert not error.another_may_do


def test_a_long_reason_keeps_its_beginning_and_its_end() -> None:
    told = shortened("While executing " + "x" * 2000 + " Error: the reason")
    assert told.startswith("While executing")
    assert told.endswith("Error: the reason")
    assert len(told) < 500
