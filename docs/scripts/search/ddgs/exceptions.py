"""The errors of ddgs; the stand-in raises none of them."""


class DDGSException(Exception):
    """What ddgs raises."""


class RatelimitException(DDGSException):
    """The engines refuse more."""


class TimeoutException(DDGSException):
    """The engines did not answer in time."""
