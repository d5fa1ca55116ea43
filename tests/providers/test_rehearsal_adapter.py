"""The adapter of the embedded provider against the contract suite, and at the real server."""

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from shortdrama_pipeline.errors import SettingsError
from shortdrama_pipeline.providers.ports import (
    AcceptedJob,
    AnsweredInline,
    Binding,
    Finished,
    GenerationFailed,
    HttpAnswer,
    HttpCall,
    Json,
    ListPage,
    ListWindow,
    QueryFailed,
    Rejected,
    ResultExpired,
    StillWorking,
    Unknown,
    Unrecognised,
)
from shortdrama_pipeline.providers.registry import ADAPTERS, register
from shortdrama_pipeline.providers.rehearsal import CONTRACT, RehearsalAdapter, sign_callback
from shortdrama_pipeline.rehearsal import serving
from shortdrama_pipeline.rehearsal.refusals import STATUS_BY_CODE
from shortdrama_pipeline.rehearsal.voices import offered
from tests.providers.contract_suite import Case, ContractSuite, answer
from tests.rehearsal_.conftest import PARAMS, Desk, open_desk

ADAPTER = RehearsalAdapter()
PICTURE = b"a picture"
SHA256 = hashlib.sha256(PICTURE).hexdigest()
JOB = "rv_1"
INLINE = {"charged_micros": 5, "currency": "XRH", "request_id": "rq_1"}
DONE = {"url": "http://127.0.0.1:9/v1/files/x", "media_type": "video/mp4", "duration_ms": 250}


def binding(base_url: str = "http://127.0.0.1:9") -> Binding:
    return Binding(
        id="rehearsal-video",
        kind="video",
        protocol="rehearsal",
        model="animatic-1",
        base_url=base_url,
        credential="file:/nowhere/key",
        egress=(),
        allow_private=True,
        requests_per_minute=600,
        in_flight_max=16,
    )


def item(kind: str, **changes: object) -> Json:
    return {"kind": kind, "product_model": "animatic-1", "params": PARAMS[kind] | changes}


LISTED: Json = {
    "id": JOB,
    "client_id": "att_1",
    "kind": "video",
    "model": "animatic-1",
    "seed": 7,
    "received_at": "2026-08-03T04:05:06.007Z",
    "status": "queued",
}


def video(status: str, **changes: object) -> HttpAnswer:
    known = {
        "id": JOB,
        "status": status,
        "result": None,
        "error": None,
        "charged_micros": 5,
        "currency": "XRH",
    }
    return answer(200, {"videos": [known | changes]})


def sign(body: bytes, timestamp: str, event_id: str) -> Mapping[str, str]:
    return {
        "X-Rehearsal-Timestamp": timestamp,
        "X-Rehearsal-Event": event_id,
        "X-Rehearsal-Signature": sign_callback(
            b"secret", timestamp=timestamp, event_id=event_id, raw_body=body
        ),
    }


class TestRehearsalContract(ContractSuite):
    @pytest.fixture
    def case(self) -> Case:
        encoded = base64.b64encode(PICTURE).decode()
        return Case(
            adapter=ADAPTER,
            binding=binding(),
            media={SHA256: PICTURE},
            requests={
                "text": item("text"),
                "speech": item("speech"),
                "image": item("image", references=[{"sha256": SHA256, "role": "character", "title": "x"}]),
                "video": item("video", frame={"sha256": SHA256}),
            },
            accepted={
                "text": answer(200, INLINE | {"output": {"title": "x"}}),
                "image": answer(
                    200, INLINE | {"images": [{"slot": 0, "media_type": "image/png", "base64": encoded}]}
                ),
                "speech": answer(
                    200,
                    INLINE | {"audio": {"media_type": "audio/wav", "base64": encoded, "duration_ms": 9}},
                ),
                "video": answer(202, {"id": JOB, "status": "queued"}),
            },
            rejection=lambda code: answer(STATUS_BY_CODE[code], {"error": {"code": code, "message": "no"}}),
            job=JOB,
            queries={
                StillWorking: video("running"),
                Finished: video("succeeded", result=DONE),
                GenerationFailed: video("failed", error={"code": "generation_failed", "message": "x"}),
                ResultExpired: video("expired"),
                Unrecognised: video("levitating"),
                QueryFailed: answer(503, {"error": {"code": "busy"}}),
            },
            looked_up=answer(
                200, {"requests": [{"client_id": "att_1", "kind": "video", "id": JOB, "status": "queued"}]}
            ),
            looked_up_nothing=answer(200, {"requests": []}),
            listed=answer(200, {"jobs": [LISTED], "next": None}),
            callback_body=json.dumps({"id": JOB, "status": "succeeded"}).encode(),
            sign=sign,
        )


def test_media_travel_by_their_hash_each_once() -> None:
    request = item(
        "video", frame={"sha256": SHA256}, references=[{"sha256": SHA256, "role": "place", "title": ""}]
    )
    call = ADAPTER.build_create(binding(), request, client_id="a", read_media=lambda _: PICTURE)
    assert call.json is not None
    assert call.json["media"] == {SHA256: base64.b64encode(PICTURE).decode()}
    assert "callback_url" not in call.json


def test_two_requests_of_one_identity_are_for_a_person() -> None:
    known = {"client_id": "a", "kind": "video", "status": "queued"}
    found = answer(200, {"requests": [known | {"id": "rv_1"}, known | {"id": "rv_2"}]})
    assert isinstance(ADAPTER.read_lookup(found), Unknown)


def test_a_retry_after_is_advice_and_anything_else_is_ignored() -> None:
    for value, expected in (("7", 7), ("soon", None), ("-1", None), ("²", None)):
        sample = answer(429, {"error": {"code": "rate_limited"}}, **{"retry-after": value})
        outcome = ADAPTER.read_create(sample)
        assert isinstance(outcome, Rejected)
        assert outcome.retry_after_s == expected


@pytest.mark.parametrize("cost", [None, "5", -1, 1.5])
def test_a_result_without_a_whole_price_is_not_taken(cost: object) -> None:
    broken = answer(200, INLINE | {"charged_micros": cost, "output": {"title": "x"}})
    assert isinstance(ADAPTER.read_create(broken), Unknown)
    done = video("succeeded", result=DONE, charged_micros=cost)
    assert isinstance(ADAPTER.read_query(done, [JOB])[JOB], Unrecognised)


def test_the_contract_names_the_voices_the_server_offers() -> None:
    assert set(CONTRACT.voices) == {str(each["name"]) for each in offered()}


def test_the_contract_lists_exactly_the_refusals_of_the_server() -> None:
    assert set(CONTRACT.rejection_codes) == set(STATUS_BY_CODE)


def test_a_protocol_without_a_contract_is_refused() -> None:
    class Careless:
        """An adapter that promises nothing."""

    assert set(ADAPTERS) >= {"rehearsal"}
    with pytest.raises(SettingsError, match="no written contract"):
        register([Careless()])  # type: ignore[list-item]
    with pytest.raises(SettingsError, match="Two adapters"):
        register([RehearsalAdapter(), RehearsalAdapter()])


# --- at the real server ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with open_desk(serving.start(tmp_path_factory.mktemp("provider"))) as desk:
        yield desk


def sent(desk: Desk, call: HttpCall) -> HttpAnswer:
    response: httpx.Response = desk.http.request(call.method, call.path, json=call.json)
    return HttpAnswer(response.status_code, dict(response.headers), response.content)


@pytest.mark.parametrize("kind", ["text", "image", "speech"])
def test_a_synchronous_kind_is_bought_and_found_again(desk: Desk, kind: str) -> None:
    call = ADAPTER.build_create(binding(), item(kind), client_id=f"real {kind}&", read_media=lambda _: b"")
    outcome = ADAPTER.read_create(sent(desk, call))
    assert isinstance(outcome, AnsweredInline)
    lookup = ADAPTER.build_lookup(binding(), f"real {kind}&")
    assert lookup is not None
    assert ADAPTER.read_lookup(sent(desk, lookup)) == outcome


def test_a_video_is_bought_asked_for_and_found_again(desk: Desk) -> None:
    call = ADAPTER.build_create(binding(), item("video"), client_id="real", read_media=lambda _: b"")
    accepted = ADAPTER.read_create(sent(desk, call))
    assert isinstance(accepted, AcceptedJob)
    desk.ended(accepted.external_id)
    outcomes = ADAPTER.read_query(
        sent(desk, ADAPTER.build_query(binding(), [accepted.checkpoint])), [accepted.external_id]
    )
    finished = outcomes[accepted.external_id]
    assert isinstance(finished, Finished)
    assert finished.cost_micros == desk.book("real")[0]["charged"]["micros"]  # type: ignore[index]
    lookup = ADAPTER.build_lookup(binding(), "real")
    assert lookup is not None
    assert ADAPTER.read_lookup(sent(desk, lookup)) == accepted


@pytest.mark.parametrize(
    "broken", [{"id": ""}, {"received_at": "2026-08-03T04:05:06"}, {"received_at": "noon"}]
)
def test_a_list_with_one_job_that_cannot_be_read_proves_nothing(broken: Json) -> None:
    assert isinstance(ADAPTER.read_list(answer(200, {"jobs": [LISTED, LISTED | broken]})), Unknown)


def test_accepted_videos_are_listed_by_their_time_a_page_at_a_time(desk: Desk) -> None:
    began = datetime.now(UTC) - timedelta(seconds=1)
    bought = []
    for number in range(3):
        request = item("video", seed=number)
        call = ADAPTER.build_create(binding(), request, client_id=f"list {number}", read_media=lambda _: b"")
        accepted = ADAPTER.read_create(sent(desk, call))
        assert isinstance(accepted, AcceptedJob)
        bought.append(accepted.external_id)
    window = ListWindow(began, datetime.now(UTC) + timedelta(seconds=1))
    page = ADAPTER.read_list(sent(desk, ADAPTER.build_list(binding(), window, page=None)))
    assert isinstance(page, ListPage)
    found = {each.external_id: each for each in page.jobs}
    assert [found[each].client_reference for each in bought] == ["list 0", "list 1", "list 2"]
    assert [found[each].seed for each in bought] == [0, 1, 2]
    assert {each.model for each in found.values()} == {"animatic-1"}
    rest = ADAPTER.read_list(sent(desk, ADAPTER.build_list(binding(), window, page=bought[0])))
    assert isinstance(rest, ListPage)
    assert [each.external_id for each in rest.jobs][-2:] == bought[1:]
    before = ListWindow(began - timedelta(days=1), began - timedelta(hours=1))
    none = ADAPTER.read_list(sent(desk, ADAPTER.build_list(binding(), before, page=None)))
    assert none == ListPage(())
