"""Each misdeed, at the real server, told apart by the real adapter."""

import time
from pathlib import Path

import httpx
import pytest

from shortdrama_pipeline.providers.ports import (
    AcceptedJob,
    AnsweredInline,
    CreateOutcome,
    Finished,
    GenerationFailed,
    HttpAnswer,
    QueryFailed,
    QueryOutcome,
    Rejected,
    RejectionClass,
    ResultExpired,
    StillWorking,
    Unknown,
    Unrecognised,
)
from shortdrama_pipeline.providers.rehearsal import RehearsalAdapter
from shortdrama_pipeline.rehearsal import serving
from tests.rehearsal_.conftest import Desk, open_desk

ADAPTER = RehearsalAdapter()
FATES = ("fail", "fail_charged", "expire", "stall")


def answer_of(response: httpx.Response) -> HttpAnswer:
    return HttpAnswer(response.status_code, dict(response.headers), response.content)


def created(desk: Desk, kind: str, client_id: str) -> CreateOutcome:
    """Post as the transport would: what breaks on the way proves nothing."""
    try:
        return ADAPTER.read_create(answer_of(desk.post(kind, client_id)))
    except httpx.TransportError as error:
        return Unknown(type(error).__name__)


def queried(desk: Desk, video_id: str) -> QueryOutcome:
    try:
        response = desk.http.get("/v1/videos", params={"ids": video_id})
    except httpx.TransportError as error:
        return QueryFailed(type(error).__name__)
    return ADAPTER.read_query(answer_of(response), [video_id])[video_id]


@pytest.mark.parametrize("kind", ["video", "image"])
@pytest.mark.parametrize(
    "fault",
    [
        "drop_after_accept",
        "error_after_accept",
        "html_after_accept",
        "no_id",
        "empty_answer",
        "malformed_answer",
        "truncated_answer",
    ],
)
def test_after_acceptance_nothing_is_proven_but_the_look_up_finds_it(
    desk: Desk, kind: str, fault: str
) -> None:
    client_id = f"{fault}-{kind}"
    desk.script({"fault": fault, "kind": kind})
    assert isinstance(created(desk, kind, client_id), Unknown)
    (entry,) = desk.book(client_id)
    assert entry["accepted"]
    if kind == "video":
        found = ADAPTER.read_lookup(answer_of(desk.http.get("/v1/requests", params={"client_id": client_id})))
        assert isinstance(found, AcceptedJob)
        assert found.external_id == entry["request_id"]
        assert desk.ended(found.external_id)["status"] == "succeeded"


@pytest.mark.parametrize("fault", ["drop_before_accept", "error_before_accept", "html_before_accept"])
def test_before_acceptance_nothing_is_proven_and_the_look_up_finds_nothing(desk: Desk, fault: str) -> None:
    desk.script({"fault": fault})
    assert isinstance(created(desk, "video", fault), Unknown)
    (entry,) = desk.book(fault)
    assert not entry["accepted"]
    assert ADAPTER.read_lookup(answer_of(desk.http.get("/v1/requests", params={"client_id": fault}))) is None


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("invalid_params", RejectionClass.FINAL),
        ("content_refused", RejectionClass.FINAL),
        ("bad_key", RejectionClass.MENDABLE),
        ("insufficient_balance", RejectionClass.MENDABLE),
        ("rate_limited", RejectionClass.CAPACITY),
    ],
)
def test_a_listed_code_proves_that_nothing_was_accepted(desk: Desk, code: str, kind: RejectionClass) -> None:
    desk.script({"fault": code, "retry_after_s": 7})
    outcome = created(desk, "speech", f"refused-{code}")
    assert isinstance(outcome, Rejected)
    assert (outcome.code, outcome.kind) == (code, kind)
    assert outcome.retry_after_s == (7 if code == "rate_limited" else None)
    (entry,) = desk.book(f"refused-{code}")
    assert (entry["accepted"], entry["charged"]) == (False, {"micros": 0, "currency": "XRH"})


def test_a_slow_answer_is_an_answer(desk: Desk) -> None:
    desk.script({"fault": "slow_answer", "seconds": 0.3})
    response = desk.post("text", "slow")
    assert response.elapsed.total_seconds() > 0.3
    assert isinstance(ADAPTER.read_create(answer_of(response)), AnsweredInline)


def test_each_fate_of_a_video_is_a_case_of_its_own(desk: Desk) -> None:
    for_each: list[dict[str, object]] = [{"fault": each, "match": f"fate-{each}{{"} for each in FATES]
    desk.script(*for_each)
    ids = {}
    for fate in FATES:
        accepted = created(desk, "video", f"fate-{fate}")
        assert isinstance(accepted, AcceptedJob)
        ids[fate] = accepted.external_id
    for fate in ("fail", "fail_charged", "expire"):
        desk.ended(ids[fate])
    failed, charged = queried(desk, ids["fail"]), queried(desk, ids["fail_charged"])
    assert isinstance(failed, GenerationFailed)
    assert isinstance(charged, GenerationFailed)
    assert failed.cost_micros == 0 < charged.cost_micros
    assert isinstance(queried(desk, ids["expire"]), ResultExpired)
    assert isinstance(queried(desk, ids["stall"]), StillWorking)


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("query_drop", QueryFailed),
        ("query_error", QueryFailed),
        ("query_html", QueryFailed),
        ("query_truncated", QueryFailed),
        ("query_bad_key", QueryFailed),
        ("query_rate_limited", QueryFailed),
        ("unknown_status", Unrecognised),
        ("query_missing", Unrecognised),
    ],
)
def test_a_failed_query_says_nothing_about_the_job(desk: Desk, fault: str, kind: type) -> None:
    video_id = desk.post("video", f"asked-{fault}").json()["id"]
    desk.ended(video_id)
    desk.script({"fault": fault, "kind": "video", "match": f"asked-{fault}", "retry_after_s": 3})
    outcome = queried(desk, video_id)
    assert isinstance(outcome, kind)
    if isinstance(outcome, QueryFailed):
        assert outcome.auth == (fault == "query_bad_key")
    if fault == "query_rate_limited":
        assert isinstance(outcome, QueryFailed)
        assert outcome.retry_after_ms == 3000
    assert isinstance(queried(desk, video_id), Finished)


@pytest.mark.parametrize("fault", ["lookup_error", "lookup_drop"])
def test_a_failed_look_up_proves_nothing(desk: Desk, fault: str) -> None:
    desk.script({"fault": fault})
    try:
        answer = answer_of(desk.http.get("/v1/requests", params={"client_id": "anyone"}))
    except httpx.TransportError:
        return
    assert isinstance(ADAPTER.read_lookup(answer), Unknown)


def test_each_trouble_of_a_download_passes_and_the_file_is_whole_after(desk: Desk) -> None:
    video_id = desk.post("video", "download").json()["id"]
    result = desk.ended(video_id)["result"]
    assert isinstance(result, dict)
    desk.script(
        {"fault": "expired_url"}, {"fault": "file_error"}, {"fault": "html_file"}, {"fault": "truncated_file"}
    )
    statuses = []
    for _ in range(3):
        response = httpx.get(result["url"], trust_env=False)
        statuses.append(response.status_code)
        assert response.content[4:8] != b"ftyp"
    assert statuses == [410, 500, 200]
    with pytest.raises(httpx.RemoteProtocolError):
        httpx.get(result["url"], trust_env=False)
    assert httpx.get(result["url"], trust_env=False).content[4:8] == b"ftyp"


def test_a_forged_link_opens_nothing(desk: Desk) -> None:
    video_id = desk.post("video", "forged").json()["id"]
    desk.ended(video_id)
    forged = f"{desk.running.base_url}/v1/files/{video_id}.9999999999.{'0' * 32}"
    assert httpx.get(forged, trust_env=False).status_code == 404


def test_a_rule_is_used_as_often_as_it_says(desk: Desk) -> None:
    desk.script({"fault": "content_refused", "kind": "text", "match": "twice", "times": 2})
    codes = [desk.post("text", name).status_code for name in ("twice", "other", "twice", "twice")]
    assert codes == [422, 200, 422, 200]


@pytest.mark.parametrize(
    "rule", [{"fault": "sulk"}, {"fault": "no_id", "times": 0}, {"fault": "no_id", "kind": "song"}]
)
def test_a_rule_that_means_nothing_is_refused(desk: Desk, rule: dict[str, object]) -> None:
    assert desk.http.post("/v1/rehearsal/faults", json={"rules": [rule]}).status_code == 400


def test_a_slow_query_and_a_slow_file_come_late_and_whole(desk: Desk) -> None:
    desk.script({"fault": "query_slow", "seconds": 0.3}, {"fault": "file_slow", "seconds": 0.3})
    video = created(desk, "video", "slow-ones")
    assert isinstance(video, AcceptedJob)
    begun = time.monotonic()
    assert isinstance(queried(desk, video.external_id), StillWorking | Finished)
    assert time.monotonic() - begun >= 0.3
    result = desk.ended(video.external_id)["result"]
    assert isinstance(result, dict)
    begun = time.monotonic()
    film = desk.http.get(str(result["url"]))
    assert time.monotonic() - begun >= 0.3
    assert film.content[4:8] == b"ftyp"


def test_rules_in_the_home_are_taken_in_once_and_not_again_after_a_restart(home: Path) -> None:
    home.mkdir()
    (home / "faults.json").write_text('{"rules": [{"fault": "content_refused", "times": 1}]}')
    with open_desk(serving.start(home)) as desk:
        assert isinstance(created(desk, "image", "first"), Rejected)
        assert isinstance(created(desk, "image", "second"), AnsweredInline)
    with open_desk(serving.start(home)) as desk:
        assert isinstance(created(desk, "image", "third"), AnsweredInline)
