"""The whole function of tests/agent/edge: one a test module, and no request that the model was sent may break a rule."""

from tests.agent.edge.conftest import one_function, whole

__all__ = ["one_function", "whole"]
