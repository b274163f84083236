"""What a module's .toml may say, and the sentence for what it may not."""

from pathlib import Path

import pytest

from infra.bundling import SOURCE
from infra.config import SETTINGS
from infra.declared import Declared, DeclaredError, declared
from infra.permissions import Place
from tests.infra.test_agreement import MADE, read_by_settings

PLACE = Place("aws", "eu-west-1", "123456789012")
PERMISSION = """
[[permissions]]
actions = ["dynamodb:GetItem"]
resources = ["arn:{partition}:dynamodb:{region}:{account}:table/orders"]
"""
KEYED = '[secrets]\nORDERS_KEY = "orders/key"\n'


def read(folder: Path, *texts: str) -> dict[str, Declared]:
    """What modules with these .toml declare; they are called a, b, c."""
    modules = [folder / "my_agent" / "tools" / f"{name}.py" for name in "abc"]
    modules[0].parent.mkdir(parents=True, exist_ok=True)
    for module, text in zip(modules, texts, strict=False):
        module.with_suffix(".toml").write_text(text, encoding="utf-8")
    return declared(modules, SETTINGS)


def test_a_module_declares_environment_secrets_and_permissions(tmp_path: Path) -> None:
    found = read(tmp_path, '[environment]\nORDERS_TABLE = "orders"\n' + KEYED + PERMISSION, "")
    assert found.keys() == {"a", "b"}
    assert found["a"].environment == {"ORDERS_TABLE": "orders"}
    assert found["a"].secrets == {"ORDERS_KEY": "orders/key"}
    table = "arn:aws:dynamodb:eu-west-1:123456789012:table/orders"
    key = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:orders/key-??????"
    assert [(each["Action"], each["Resource"]) for each in found["a"].statements(PLACE)] == [
        (["dynamodb:GetItem"], [table]),
        (["secretsmanager:GetSecretValue"], [key]),
    ]
    assert found["a"].wildcards(PLACE) == {}
    assert found["b"] == Declared()


def test_a_secret_given_by_its_arn_is_allowed_by_it(tmp_path: Path) -> None:
    arn = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:orders/key-AbCdEf"
    [statement] = read(tmp_path, f'[secrets]\nORDERS_KEY = "{arn}"\n')["a"].statements(PLACE)
    assert statement["Resource"] == [arn]


def test_a_wildcard_keeps_its_reason(tmp_path: Path) -> None:
    wild = (
        PERMISSION.replace("GetItem", "Get*").replace("table/orders", "table/orders/index/*") + 'reason = "indexes"\n'
    )
    index = "Resource::arn:aws:dynamodb:eu-west-1:123456789012:table/orders/index/*"
    assert read(tmp_path, wild)["a"].wildcards(PLACE) == {"Action::dynamodb:Get*": "indexes", index: "indexes"}


def test_two_modules_may_give_one_name_the_same_value(tmp_path: Path) -> None:
    assert read(tmp_path, KEYED, KEYED)["b"].secrets == {"ORDERS_KEY": "orders/key"}


WRONG = {
    "no toml": ("[environment", "it can't be read: Expected ']'"),
    "another table": (
        '[enviroment]\nA_B = "x"\n',
        "enviroment is no table: there are environment, secrets, permissions",
    ),
    "no table": ('environment = "x"\n', "environment must be a table"),
    "permissions as one table": ("[permissions]\nactions = []\n", "permissions must be tables: [[permissions]]"),
    "a number": ("[environment]\nORDERS = 3\n", "ORDERS is 3, but must be a text in quotes"),
    "a blank value": ('[environment]\nORDERS = " "\n', "but must be a text in quotes that is not blank"),
    "a name that is none": ('[environment]\n"A-B" = "x"\n', "'A-B' can't be a variable"),
    "AWS's own": ('[environment]\nAWS_REGION = "x"\n', "AWS_REGION is a variable of the function's own"),
    "a setting": ('[environment]\nMAX_STEPS = "3"\n', "MAX_STEPS is a variable of the function's own"),
    "the table": ('[secrets]\nTABLE_NAME = "x"\n', "TABLE_NAME is a variable of the function's own"),
    "one name twice": ('[environment]\nORDERS = "x"\n[secrets]\nORDERS = "x"\n', "ORDERS is a variable and a secret"),
    "a secret that is none": ('[secrets]\nORDERS = "a b"\n', "ORDERS is 'a b', but must be a secret's name or ARN"),
    "no actions": ('[[permissions]]\nresources = ["arn:aws:s3:::x"]\n', "actions is None, but must be a list of texts"),
    "an action that is none": (
        PERMISSION.replace("dynamodb:", ""),
        "actions is ['GetItem'], but must be a list of texts",
    ),
    "every action": (PERMISSION.replace("dynamodb:GetItem", "*"), "actions is ['*'], but must be a list of texts"),
    "no ARN": (
        PERMISSION.replace("arn:", ""),
        "but must be a list of texts, ARNs, with {partition}, {region}, {account}",
    ),
    "another part": (PERMISSION.replace("{region}", "{place}"), "but must be a list of texts, ARNs"),
    "another key": (
        PERMISSION + 'effect = "Deny"\n',
        "effect is no key of [[permissions]]: there are actions, resources",
    ),
    "a wildcard": (PERMISSION.replace("orders", "*"), "/* has a wildcard: reason must say why it is needed"),
    "a wildcard with a blank reason": (
        PERMISSION.replace("GetItem", "*") + 'reason = " "\n',
        "dynamodb:* has a wildcard: reason must say why it is needed",
    ),
}


@pytest.mark.parametrize(("text", "told"), WRONG.values(), ids=WRONG)
def test_what_can_not_be_deployed_is_told_in_one_sentence_with_the_file(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(DeclaredError) as raised:
        read(tmp_path, text)
    assert str(raised.value).startswith("my_agent/tools/a.toml: ")
    assert told in str(raised.value)


@pytest.mark.parametrize("other", ['[environment]\nORDERS_KEY = "x"\n', '[secrets]\nORDERS_KEY = "other/key"\n'])
def test_one_name_has_one_value_in_all_modules(tmp_path: Path, other: str) -> None:
    with pytest.raises(DeclaredError) as raised:
        read(tmp_path, KEYED, other)
    assert str(raised.value).startswith("my_agent/tools/b.toml: ORDERS_KEY is ")
    assert str(raised.value).endswith("but 'orders/key' in my_agent/tools/a.toml: one name has one value")


def test_what_the_function_reads_itself_is_no_tools_to_set() -> None:
    assert read_by_settings() | set(MADE) <= set(SETTINGS)


def test_what_ships_declares_what_can_be_deployed() -> None:
    shipped = sorted((SOURCE / "agent" / "tools").glob("[!_]*.py"))
    assert declared(shipped, SETTINGS).keys() == {path.stem for path in (SOURCE / "agent" / "tools").glob("*.toml")}
