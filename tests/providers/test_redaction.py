"""No key survives a receipt, a log or a screen, however it is written; what only looks like one stays."""

import json

import pytest

from shortdrama_pipeline.cli import output
from shortdrama_pipeline.errors import Outside
from shortdrama_pipeline.providers.redaction import GONE, blank, blank_json, redact, redact_json

SECRET = "hunter2hunter2"
SPELLINGS = [
    f"Authorization: Bearer {SECRET}",
    f"authorization: 'Basic {SECRET}'",
    f"Bearer {SECRET}",
    f"postgresql+psycopg://u:{SECRET}@h/db",
    f"sk-{SECRET}",
    f"{{'api_key': '{SECRET}'}}",
    f'{{"api_key":"{SECRET} and more"}}',
    rf"{{\"api_key\": \"{SECRET}\", \"a\": 1}}",
    f"api_key => '{SECRET}'",
    f"apiKey: {SECRET}",
    f"password={SECRET}&x=1",
    f"aws_secret_access_key = {SECRET}",
    f"client_secret={SECRET}",
    f"Cookie: {SECRET}",
    f"--token {SECRET}",
    f"https://h/x?X-Amz-Signature={SECRET}&y=1",
    f"https://h/x?sig={SECRET}",
    f"https://h/x?AWSAccessKeyId={SECRET}",
]
HARMLESS = [
    "lease_token=3",
    "the token is fine",
    "--idempotency-key KEY",
    "credential = env:VENDOR_KEY",
    "https://h/x?page=2",
    "the secret garden",
    "tokens: 12",
]


@pytest.mark.parametrize("text", SPELLINGS)
def test_a_secret_is_gone_in_every_spelling_and_everywhere(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    output.note(text)
    output.fail(Outside(text, hint=text, said=text))
    told = (blank(text), redact(text), json.dumps([blank_json([text]), redact_json({"a": text})]))
    for each in (*told, capsys.readouterr().err):
        assert SECRET not in each
        assert GONE in each
    assert blank(blank(text)) == blank(text)


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(text: str) -> None:
    assert blank(text) == redact(text) == text


@pytest.mark.parametrize("name", ["api_key", "Authorization", "token", "password", "access_token"])
def test_a_text_under_a_secret_s_name_is_gone_whatever_it_looks_like(name: str) -> None:
    value = {"outer": [{name: "x", "lease_token": 3}]}
    assert redact_json(value) == blank_json(value) == {"outer": [{name: GONE, "lease_token": 3}]}


def test_a_blanked_json_is_still_json() -> None:
    text = json.dumps({"api_key": "x y", "a": 1})
    assert json.loads(blank(text)) == {"api_key": GONE, "a": 1}


def test_a_known_secret_is_gone_wherever_it_stands() -> None:
    assert blank("it said mysecretvalue!", ["mysecretvalue"]) == f"it said {GONE}!"
