"""What may come from a store or a model, for hypothesis: JSON of every kind, blocks and messages right and wrong."""

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tests.fakes import thought

EXAMPLES = settings(
    deadline=None, derandomize=True, max_examples=100, database=None, suppress_health_check=[HealthCheck.too_slow]
)

TEXTS = st.one_of(
    st.sampled_from(
        ["", " ", "\n", "\u3000", "a", "東京🌞", "\ud83c", "\udf1e x", "<thinking>x</thinking>", "<thinking>"]
    ),
    st.text(max_size=8),
)
NUMBERS = st.one_of(
    st.integers(-5, 5),
    st.sampled_from([2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1, 10**40]),
    st.floats(),
)
JSON: SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
IDS = st.one_of(st.sampled_from(["t1", "t2", "t1_2", "a b", "x" * 64, "x" * 65, "", None, 5]), TEXTS)
NAMES = st.one_of(st.sampled_from(["echo", "boom", "save", 'open(url="x")', "a.b", "", "y" * 65, None, 7]), TEXTS)
INPUTS: SearchStrategy[Any] = st.one_of(st.just({}), st.fixed_dictionaries({"text": TEXTS}), JSON)


def _block(kind: str, value: SearchStrategy[Any]) -> SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({kind: value})


USES = _block("toolUse", st.fixed_dictionaries({}, optional={"toolUseId": IDS, "name": NAMES, "input": INPUTS}))
_RESULT_CONTENT = st.lists(_block("text", TEXTS) | _block("json", JSON) | JSON, max_size=2) | JSON
RESULTS = _block(
    "toolResult",
    st.fixed_dictionaries(
        {},
        optional={
            "toolUseId": IDS,
            "content": _RESULT_CONTENT,
            "status": st.sampled_from(["success", "error", "maybe", None]),
        },
    ),
)
REASONING = st.one_of(
    st.builds(thought, st.text(max_size=5), st.sampled_from(["c2ln", "c2lnbmVk"])),
    _block("reasoningContent", st.fixed_dictionaries({"redactedContent": st.binary(min_size=1, max_size=5)})),
)
UNKNOWN = st.sampled_from(
    [{}, {"SDK_UNKNOWN_MEMBER": {"name": "x"}}, {"cachePoint": {"type": "default"}}, {"text": None}]
)
CITATIONS = _block("citationsContent", st.fixed_dictionaries({"content": st.lists(_block("text", TEXTS), max_size=2)}))

MODEL_BLOCKS = st.one_of(_block("text", TEXTS), USES, USES, REASONING, CITATIONS, RESULTS, UNKNOWN)
STORED_BLOCKS = st.one_of(MODEL_BLOCKS, RESULTS, JSON)
STORED_MESSAGES = st.lists(
    st.one_of(
        st.fixed_dictionaries(
            {
                "role": st.sampled_from(["user", "assistant", "user", "assistant", "system", 1]),
                "content": st.lists(STORED_BLOCKS, max_size=4),
            }
        ),
        JSON,
    ),
    max_size=7,
)
