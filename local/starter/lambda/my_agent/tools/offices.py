"""Phone numbers of the offices: a tool to begin with."""

from typing import Annotated, Literal

from agent.tooling.tool import tool

_PHONES = {"Tokyo": "03-1234-5678", "Osaka": "06-1234-5678"}


@tool
def find_office_phone(city: Annotated[Literal["Tokyo", "Osaka"], "where the office is"]) -> str:
    """Look up the phone number of an office."""
    return _PHONES[city]
