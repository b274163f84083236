"""What is told to the person at the terminal in one sentence, without a trace."""


class ProblemError(Exception):
    """The command can't go on; the text says what is wrong and what is allowed."""
