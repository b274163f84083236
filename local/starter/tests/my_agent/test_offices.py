"""What the agent does with its tool; docs/testing.md tells what else a test can say."""

from local.testing import Agent, says, uses


def test_a_phone_number_is_looked_up(agent: Agent) -> None:
    answer = agent.ask("Osaka's number?", uses("find_office_phone", city="Osaka"), says("06-1234-5678"))
    assert answer["answer"] == "06-1234-5678"
    assert agent.steps[0].result == [{"text": "06-1234-5678"}]
