"""The session table and its file."""

from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from moto import mock_aws

from local.problem import ProblemError
from local.session_table import SessionTable

pytestmark = pytest.mark.slow


@pytest.fixture
def empty() -> Iterator[SessionTable]:
    with mock_aws():
        yield SessionTable(boto3.client("dynamodb"), "empty")


@pytest.fixture
def filled(empty: SessionTable) -> SessionTable:
    client = boto3.client("dynamodb")
    table = SessionTable(client, "filled")
    for session, turn, created in (("b", "1", "2026-01-01"), ("a", "2", "2026-01-03"), ("a", "10", "2026-01-04")):
        item = {"session_id": {"S": session}, "turn": {"N": turn}, "status": {"S": "done"}, "question": {"S": "何？"}}
        client.put_item(
            TableName="filled", Item=item | {"created_at": {"S": created}, "expires_at": {"N": "1800000000"}}
        )
    return table


def test_rows_come_oldest_first_and_typed(filled: SessionTable) -> None:
    rows = filled.rows()
    assert [(row.session_id, row.turn) for row in rows] == [("b", 1), ("a", 2), ("a", 10)]
    assert (rows[0].status, rows[0].question, rows[0].expires_at) == ("done", "何？", 1800000000)
    assert rows[0].size > len("何？".encode())


def test_the_table_is_made_as_the_function_needs_it(empty: SessionTable) -> None:
    client = boto3.client("dynamodb")
    table = client.describe_table(TableName="empty")["Table"]
    assert [(key["AttributeName"], key["KeyType"]) for key in table["KeySchema"]] == [
        ("session_id", "HASH"),
        ("turn", "RANGE"),
    ]
    time_to_live = client.describe_time_to_live(TableName="empty")["TimeToLiveDescription"]
    assert time_to_live["AttributeName"] == "expires_at"


def test_a_session_is_forgotten_whole_and_alone(filled: SessionTable) -> None:
    filled.forget("a")
    assert [row.session_id for row in filled.rows()] == ["b"]


def test_sessions_survive_in_a_file(filled: SessionTable, empty: SessionTable, tmp_path: Path) -> None:
    file = tmp_path / "kept.json"
    filled.save(file)
    empty.load(file)
    assert empty.rows() == filled.rows()
    assert file.stat().st_mode & 0o077 == 0
    assert list(tmp_path.iterdir()) == [file]


def test_a_file_that_is_not_there_yet_holds_nothing(empty: SessionTable, tmp_path: Path) -> None:
    empty.load(tmp_path / "new.json")
    assert empty.rows() == []


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"sessions": [1]}', '{"sessions": [{"session_id": {"S": "a"}}]}'])
def test_a_file_of_anything_else_is_refused_by_name(empty: SessionTable, tmp_path: Path, text: str) -> None:
    file = tmp_path / "kept.json"
    file.write_text(text)
    with pytest.raises(ProblemError, match=r"kept\.json holds no sessions"):
        empty.load(file)


def test_a_folder_that_is_not_there_is_told(filled: SessionTable, tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="can't be kept in"):
        filled.save(tmp_path / "no" / "kept.json")
