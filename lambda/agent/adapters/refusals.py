"""What a provider's refusal means, whoever words it: which error of ours it is, and what a second request can mend.

Codes are few and differ between providers, so their sentences are read too, in lower case, as they were reported in public.
"""

import re

from agent.errors import (
    AgentError,
    MisconfiguredError,
    ModelError,
    ModelThrottledError,
    ModelUnavailableError,
    PromptTooLongError,
)

TELL = "tell"  # the remedy for a call of the model's own that was malformed
_MAX_DETAIL = 400  # characters of a refusal in the log
_FORM = (
    400,
    404,
    422,
    424,
    500,
)  # statuses under which a request's form is refused; llama.cpp says 500, Nova's own failures are 424
# Whoever waited in vain may still be served: 504 and Cloudflare's 524 come from a proxy before the model.
_TIMED_OUT = (408, 504, 524)
_THROTTLED = ("ThrottlingException", "ServiceQuotaExceededException", "TooManyRequestsException")
_UNAVAILABLE = ("InternalServerException", "ServiceUnavailableException", "ModelNotReadyException", "InternalFailure")
_USED_UP = ("ServiceQuotaExceededException", "insufficient_quota")  # no pause of ours helps

_REFUSED = (
    r"n.t (?:support|take|accept|allow|permit)|not (?:supported|permitted|allowed|enabled|recogni[sz]ed|accepted)"
    r"|\b(?:unsupported|unrecogni[sz]ed|unknown|unexpected|forbidden|deprecated|only the default)"
)
# What a model may be asked without, where all of these stand in its refusal. All that fit are tried, the narrowest first.
_UNFIT = (
    ("streaming", r"\bstreaming\b", _REFUSED),  # Llama with tools on Bedrock
    # karthink/gptel#1203 (Mistral), BerriAI/litellm#34239 (Bedrock), BerriAI/litellm#12941 (OpenAI)
    ("ids", r"(?:call|use)[\w\]\[. ]{0,9}id", r"length|alphanumeric|pattern|too long|must be a-z"),
    # the template of Llama 3.1; natefleming/dao-ai#94 (Databricks)
    ("single_calls", r"(?:single|one|multiple|parallel|several)[ _]tool[- _]?(?:call|use)"),
    # crewAIInc/crewAI#5878 (DeepSeek), Gitlawb/openclaude#67 (Gemini), Claude behind LiteLLM
    ("unexplained_calls", r"passed back|missing|\bexpected", r"reasoning_content|thought_signature|.thinking."),
    ("text_beside_calls", r"either content or tool_calls"),  # mistral-common
    # OpenAI's o1, 567-labs/instructor#1753 (Bedrock), sgl-project/sglang#892 (Gemma), Gemma behind Gemini's endpoint
    ("system", r"\b(?:system|developer)\b", rf"{_REFUSED}|got system"),
    # Gemma 2 and old templates of Mistral; microsoft/autogen#1037 for the system text
    ("tool_messages", r"roles must alternate|only user|\brole.{0,30}\btool\b|\btool.{0,3} (?:role|message)"),
    ("system", r"roles must alternate|only user"),
    # BerriAI/litellm#30835 (Mistral), Kilo-Org/kilocode#10375 (Cerebras), SimonSchubert/Kai#265 (Groq)
    ("extras", r"assistant|messages", rf"extra_forbidden|extra inputs|{_REFUSED}"),
    # langgenius/dify-official-plugins#1767 (Bedrock), OpenAI's reasoning models
    ("stop", r"\bstop(?:_?sequences)?\b", _REFUSED),
    ("sampling", r"\b(?:temperature|top_?p)\b", _REFUSED),  # QwenLM/qwen-code#921 (OpenAI), Claude 4.7
)
_TOO_LONG = re.compile(
    r"too long|context.(?:length|size|window|limit)|too many input tokens|input tokens? |maximum prompt length"
    r"|reduce (?:the length|your (?:message|prompt))|too large for model|prompt token count"
)
# Beside what is sent too quickly, providers call 429 what never fits into a minute's tokens: SWE-agent/SWE-agent#1296.
_NEVER_FITS = re.compile(r"request too large|tokens must be reduced|context.length")
_REQUESTED = re.compile(r"limit:? (\d+), (?:used:? \d+, )?requested:? (\d+)")
# The model wrote a call that its provider could not read: pydantic/pydantic-ai#2759 (Groq), strands-agents/harness-sdk#649
# (Nova), and what Ollama and llama.cpp say.
_MALFORMED = re.compile(
    r"tool_use_failed|failed to call a function|tool call validation failed|invalid sequence as part of tooluse"
    r"|malformed.function.call|(?:parsing|parse) (?:the )?tool.call"
)
_NO_TOOLS = re.compile(
    r"(?:support|enable|require).{0,40}\b(?:tools?|tool.(?:use|calls?|calling|choice)|function.calling)\b"
    r"|\b(?:tool|function).(?:use|calls?|calling).{0,20}not (?:support|enable)|requires --(?:jinja|enable-auto)"
)
_WRONG_KEY = re.compile(r"api.?key|authenticat|unauthori[sz]ed|no connected db|requires --|operation not allowed")
_WRONG_MODEL = re.compile(
    r"(?:invalid|unsupported|unknown|no such|wrong) model|model.(?:name|id|identifier)|model_(?:not_found|decommissioned)"
    r"|\bmodels?\b.{0,90}(?:not (?:exist|found|a valid)|n.t exist|decommissioned)|not a valid model|no models? (?:is )?loaded"
    r"|end of (?:its|their) life|legacy|on-demand throughput|inference profile"
)
_ANOTHER = "(MODEL_ID may need an inference profile, such as us. or global., be mistyped, or name a model at the end of its life)"


def read_refusal(status: int, code: str, message: str, detail: str, check: str) -> tuple[AgentError, bool]:
    """Our error for a refusal, and whether the same request may be sent again.

    `code` holds all codes of the provider, `detail` is for the log, `check` says what to look at where the setup is wrong.
    """
    text, detail = f"{code} {message}".lower(), shortened(detail)
    if any(each in code for each in _THROTTLED) or (status == 429 and code not in _UNAVAILABLE):
        requested = _REQUESTED.search(text)
        if _NEVER_FITS.search(text) or (requested and int(requested[2]) > int(requested[1])):
            return PromptTooLongError(detail=detail), False
        return ModelThrottledError(detail=detail), not any(each in code for each in _USED_UP)
    if status in _FORM:
        error = _form(text, detail)
        if error:
            return error, False
    if status == 413 or (status not in (401, 403) and _TOO_LONG.search(text)):
        return PromptTooLongError(detail=detail), False
    if code == "ModelErrorException":
        return ModelError(detail=detail), False
    if status in _TIMED_OUT or code == "ModelTimeoutException":
        return ModelUnavailableError(detail=detail), False
    if status == 409 or status >= 500 or code in _UNAVAILABLE:
        return ModelUnavailableError(detail=detail), True
    if status not in (401, 402, 403) and _WRONG_MODEL.search(text):
        return MisconfiguredError(detail=f"{detail} {_ANOTHER}", another_may_do=True), False
    if status < 400 or status in (401, 402, 403, 404, 405) or _WRONG_KEY.search(text):
        return MisconfiguredError(detail=f"{detail} {check}", another_may_do=status == 400), False
    return ModelError(detail=detail), False


def _form(text: str, detail: str) -> AgentError | None:
    """What is wrong with the form of the request, or of the model's own call."""
    if _MALFORMED.search(text):
        return ModelError(detail=detail, remedies=(TELL,))
    remedies = tuple(name for name, *words in _UNFIT if all(re.search(each, text) for each in words))
    if remedies:
        return ModelError(detail=detail, remedies=remedies)
    if _NO_TOOLS.search(text):
        told = f"{detail} (this model has no tool use of its own: set MODEL_TOOL_USE=react)"
        return MisconfiguredError(detail=told, another_may_do=True)
    return None


def shortened(text: str) -> str:
    """The beginning and the end of a text, where llama.cpp and others put the reason."""
    half = _MAX_DETAIL // 2
    return text if len(text) <= _MAX_DETAIL else f"{text[:half]} … {text[-half:]}"
