"""Search of the web through ddgs, which asks several engines and needs no key. Opt-in: questions leave for strangers.

It weighs 11 MB in the bundle and is slow to import, so it has its own lock and is imported at the first search.
"""

from importlib import import_module
from typing import Annotated, Any

from agent.errors import ToolError
from agent.tooling.tool import ToolContext, tool

_ENGINE_SECONDS = 8  # for one engine to answer: two rounds of engines fit into a tool's usual time
_MOST = 10
_LONGEST = {"title": 200, "address": 500, "text": 1000}  # characters
_NAMES = {"title": "title", "address": "href", "text": "body"}  # ours -> those of ddgs


@tool
def search_web(
    query: Annotated[str, "what to search for, as one would type it into a search engine"],
    context: ToolContext,
    max_results: Annotated[int, "how many results, 1 to 10; 5 where it isn't given"] = 5,
) -> dict[str, list[dict[str, str]]]:
    """Search the web. Each result has a title, the address of the page and an extract of its text."""
    if not query.strip():
        raise ToolError("query must say what to search for.")
    if not 1 <= max_results <= _MOST:
        raise ToolError(f"max_results must be 1 to {_MOST}, not {max_results}.")
    return {"results": [_result(found) for found in _search(query, max_results, context)]}


def _search(query: str, max_results: int, context: ToolContext) -> list[dict[str, Any]]:
    try:
        ddgs, errors = import_module("ddgs"), import_module("ddgs.exceptions")
    except ImportError as error:
        context.logger.error("web_search needs the packages of its lock", extra={"reason": str(error)})
        raise ToolError("The web can't be searched here: a package that this needs is not installed.") from error
    try:
        found: list[dict[str, Any]] = ddgs.DDGS(timeout=_ENGINE_SECONDS).text(query, max_results=max_results)
    except errors.RatelimitException as error:
        raise ToolError("The search engines refuse more searches for now. Try again later.") from error
    except errors.TimeoutException as error:
        raise ToolError("The search engines did not answer in time.") from error
    except (errors.DDGSException, OSError) as error:
        if "no results" in str(error).lower():  # no class of its own tells it from a failure
            return []
        raise ToolError("The search engines can't be reached, or gave no answer that can be read.") from error
    return found[:max_results]


def _result(found: dict[str, Any]) -> dict[str, str]:
    texts = {ours: str(found.get(theirs) or "").strip() for ours, theirs in _NAMES.items()}
    return {name: text if len(text) <= (most := _LONGEST[name]) else text[:most] + "…" for name, text in texts.items()}
