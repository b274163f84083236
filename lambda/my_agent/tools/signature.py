"""E-mail signatures, with what only the company knows."""

from typing import Annotated

from agent.tooling.tool import tool

_COMPANY = "DevOps株式会社"
_PHONE = "03-1234-5678"


@tool
def create_signature(
    name: Annotated[str, "full name of the employee"],
    department: Annotated[str, "department, such as 開発部"],
    title: Annotated[str, "job title, such as エンジニア"],
    email: Annotated[str, "e-mail address"],
) -> str:
    """Create an e-mail signature for an employee of the company."""
    rule = "-" * 32
    return "\n".join([rule, _COMPANY, f"{department} {title}", name, f"TEL: {_PHONE}", f"E-mail: {email}", rule])
