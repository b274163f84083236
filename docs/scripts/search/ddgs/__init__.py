"""Stands in for the ddgs library: every search finds the same made-up page."""


class DDGS:
    """The part of ddgs.DDGS that the tool `search_web` uses."""

    def __init__(self, timeout: int) -> None:
        self.timeout = timeout

    def text(self, query: str, max_results: int) -> list[dict[str, str]]:
        """The page, whatever the query."""
        page = {"title": "Candles by Hanako Aoki", "href": "https://example.com/aoki"}
        return [{**page, "body": "Hanako Aoki (62) has made candles since she was 20."}][:max_results]
