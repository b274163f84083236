"""The options of a CDK command line that we read, too."""

from collections.abc import Sequence


def given(arguments: Sequence[str], *names: str) -> list[str]:
    """The values of an option in a command line: behind it, or behind an equals sign."""
    found = []
    for number, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if argument in names and number + 1 < len(arguments):
            found.append(arguments[number + 1])
        elif equals and name in names and name.startswith("--"):
            found.append(value)
    return found


def profile_of(arguments: Sequence[str]) -> str | None:
    """The profile of the AWS CLI that is asked for."""
    return next(iter(given(arguments, "--profile")), None)


def chosen(arguments: Sequence[str]) -> dict[str, str]:
    """The choices that `-c key=value` makes."""
    pairs = (pair.partition("=") for pair in given(arguments, "-c", "--context"))
    return {key: value for key, _, value in pairs}
