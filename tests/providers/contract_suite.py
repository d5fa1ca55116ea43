"""What every adapter must keep, whoever the vendor is. Subclass it as `Test…` and fill in `case`.

Pure: no network. The vendor's own answers are given as samples; everything here asks what an adapter
concludes, above all that it concludes nothing where nothing is proven (P-5.5, P-7.3, P-7.6, P-7.7).
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from shortdrama_pipeline.providers.ports import (
    AcceptedJob,
    Adapter,
    AnsweredInline,
    Binding,
    Contract,
    CreateOutcome,
    Finished,
    GenerationFailed,
    HttpAnswer,
    Json,
    ListingAdapter,
    ListPage,
    ListWindow,
    QueryFailed,
    QueryOutcome,
    Rejected,
    RejectionClass,
    ResultExpired,
    StillWorking,
    Unknown,
    Unrecognised,
)
from shortdrama_pipeline.rules.matching import MatchingFact

STATUSES = (200, 201, 202, 204, 301, 302, 400, 401, 403, 404, 408, 409, 422, 429, 500, 502, 503, 504)
UNREADABLE = (
    b"",
    b"<!doctype html><title>502</title>",
    b'{"id": "cut of',
    b"null",
    b"[]",
    b'"text"',
    b"\xff\xfe\x00",
    b"{}",
    b'{"status": "queued"}',
    b'{"id": ""}',
    b'{"id": 7}',
    b'{"id": null}',
    b'{"error": "no object"}',
    b'{"error": {"code": "never_heard_of"}}',
    b'{"error": {"message": "no code"}}',
)
Signer = Callable[[bytes, str, str], Mapping[str, str]]  # raw body, timestamp, event id -> headers


@dataclass(frozen=True, slots=True)
class Case:
    """One adapter with samples of its vendor's answers.

    `requests`: an item per kind. `accepted`: per kind, an answer that proves acceptance.
    `rejection`: builds the vendor's refusal by code. `queries`: a status answer per outcome, all about
    the job `job`. `sign`: headers as the vendor signs, with `secret`; None where it signs nothing.
    """

    adapter: Adapter
    binding: Binding
    media: Mapping[str, bytes]
    requests: Mapping[str, Json]
    accepted: Mapping[str, HttpAnswer]
    rejection: Callable[[str], HttpAnswer]
    job: str
    queries: Mapping[type[QueryOutcome], HttpAnswer] = field(default_factory=dict)
    looked_up: HttpAnswer | None = None
    looked_up_nothing: HttpAnswer | None = None
    listed: HttpAnswer | None = None  # a list that holds `job`
    callback_body: bytes = b""
    secret: bytes = b"secret"
    sign: Signer | None = None


def answer(status: int, body: object, **headers: str) -> HttpAnswer:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return HttpAnswer(status, headers, raw)


class ContractSuite:
    """The tests. `case` is a fixture of the subclass."""

    @pytest.fixture
    def case(self) -> Case:
        raise AssertionError("A suite of an adapter gives its case")

    def test_the_contract_is_written_and_names_its_source(self, case: Case) -> None:
        contract = case.adapter.contract
        assert isinstance(contract, Contract)
        assert contract.protocol == case.binding.protocol
        assert contract.source
        assert all(isinstance(each, RejectionClass) for each in contract.rejection_codes.values())
        assert RejectionClass.NEVER_SENT not in contract.rejection_codes.values()

    def test_a_create_call_carries_our_identity_and_no_credential(self, case: Case) -> None:
        for request in case.requests.values():
            call = case.adapter.build_create(
                case.binding, request, client_id="att_1", read_media=case.media.__getitem__
            )
            assert call.method == "POST"
            assert call.path.startswith("/")
            assert call.timeout_s == case.adapter.contract.create_timeout_s
            text = json.dumps(call.json)
            assert case.binding.credential not in text
            if case.adapter.contract.lookup_by_client_id:
                assert "att_1" in text

    def test_the_same_request_is_built_the_same(self, case: Case) -> None:
        for request in case.requests.values():
            built = [
                case.adapter.build_create(
                    case.binding, request, client_id="att_1", read_media=case.media.__getitem__
                )
                for _ in range(2)
            ]
            assert built[0] == built[1]

    def test_acceptance_is_an_explicit_id_or_a_whole_result(self, case: Case) -> None:
        for kind, sample in case.accepted.items():
            outcome = case.adapter.read_create(sample)
            if kind in case.adapter.contract.asynchronous_kinds:
                assert isinstance(outcome, AcceptedJob)
                assert outcome.external_id
                assert case.adapter.build_query(case.binding, [outcome.checkpoint]).method == "GET"
            else:
                assert isinstance(outcome, AnsweredInline)
                assert outcome.external_id
                assert all(each.data for each in outcome.outputs)
                assert outcome.cost_micros >= 0

    @pytest.mark.parametrize("status", STATUSES)
    @pytest.mark.parametrize("body", UNREADABLE)
    def test_what_the_contract_does_not_list_proves_nothing(
        self, case: Case, status: int, body: bytes
    ) -> None:
        assert isinstance(case.adapter.read_create(answer(status, body)), Unknown)

    def test_an_acceptance_cut_anywhere_proves_nothing(self, case: Case) -> None:
        for sample in case.accepted.values():
            for place in range(0, len(sample.body), max(1, len(sample.body) // 40)):
                cut = HttpAnswer(sample.status, sample.headers, sample.body[:place])
                assert isinstance(case.adapter.read_create(cut), Unknown)

    def test_a_listed_code_is_a_rejection_of_its_class(self, case: Case) -> None:
        for code, kind in case.adapter.contract.rejection_codes.items():
            outcome = case.adapter.read_create(case.rejection(code))
            assert isinstance(outcome, Rejected)
            assert (outcome.code, outcome.kind) == (code, kind)

    def test_a_listed_code_in_a_server_error_or_a_success_proves_nothing(self, case: Case) -> None:
        for code in case.adapter.contract.rejection_codes:
            for status in (200, 202, 500, 502, 503):
                sample = case.rejection(code)
                outcome: CreateOutcome = case.adapter.read_create(
                    HttpAnswer(status, sample.headers, sample.body)
                )
                assert isinstance(outcome, Unknown)

    def test_the_cases_of_a_query_are_kept_apart(self, case: Case) -> None:
        if case.adapter.contract.asynchronous_kinds:
            assert set(case.queries) == {
                StillWorking,
                Finished,
                GenerationFailed,
                ResultExpired,
                Unrecognised,
                QueryFailed,
            }
        for kind, sample in case.queries.items():
            outcomes = case.adapter.read_query(sample, [case.job])
            assert list(outcomes) == [case.job]
            assert type(outcomes[case.job]) is kind

    @pytest.mark.parametrize("status", STATUSES)
    @pytest.mark.parametrize("body", UNREADABLE[:9])
    def test_an_unreadable_query_ends_no_job(self, case: Case, status: int, body: bytes) -> None:
        outcome = case.adapter.read_query(answer(status, body), [case.job])[case.job]
        assert isinstance(outcome, QueryFailed | Unrecognised)

    def test_an_id_left_out_of_the_answer_is_unrecognised(self, case: Case) -> None:
        for kind, sample in case.queries.items():
            if kind is not QueryFailed:
                assert isinstance(case.adapter.read_query(sample, ["other"])["other"], Unrecognised)

    def test_a_look_up_finds_ours_or_nothing_or_proves_nothing(self, case: Case) -> None:
        if not case.adapter.contract.lookup_by_client_id:
            assert case.adapter.build_lookup(case.binding, "att_1") is None
            return
        call = case.adapter.build_lookup(case.binding, "att_1")
        assert call is not None
        assert (call.method, "att_1" in call.path) == ("GET", True)
        assert case.looked_up is not None
        assert case.looked_up_nothing is not None
        assert isinstance(case.adapter.read_lookup(case.looked_up), AcceptedJob | AnsweredInline)
        assert case.adapter.read_lookup(case.looked_up_nothing) is None
        for status in STATUSES:
            for body in UNREADABLE:
                assert isinstance(case.adapter.read_lookup(answer(status, body)), Unknown)

    def test_a_list_names_its_jobs_with_their_times_or_proves_nothing(self, case: Case) -> None:
        adapter, contract = case.adapter, case.adapter.contract
        if not contract.lists_jobs:
            assert contract.list_verified == frozenset()
            return
        assert isinstance(adapter, ListingAdapter)
        window = ListWindow(datetime(2026, 8, 3, tzinfo=UTC), datetime(2026, 8, 4, tzinfo=UTC))
        call = adapter.build_list(case.binding, window, page=None)
        assert (call.method, call.json) == ("GET", None)
        assert call == adapter.build_list(case.binding, window, page=None)
        assert call != adapter.build_list(case.binding, window, page="next")
        assert case.listed is not None
        page = adapter.read_list(case.listed)
        assert isinstance(page, ListPage)
        assert case.job in {each.external_id for each in page.jobs}
        assert all(each.created_at.tzinfo is not None for each in page.jobs)
        told: dict[MatchingFact, list[str | None] | list[int | None]] = {
            MatchingFact.CLIENT_REFERENCE: [each.client_reference for each in page.jobs],
            MatchingFact.MODEL: [each.model for each in page.jobs],
            MatchingFact.SEED: [each.seed for each in page.jobs],
        }
        for fact, values in told.items():
            assert fact not in contract.list_verified or all(each is not None for each in values), fact
        for status in STATUSES:
            for body in UNREADABLE:
                assert isinstance(adapter.read_list(answer(status, body)), Unknown)

    def test_a_callback_counts_only_signed_fresh_and_unchanged(self, case: Case) -> None:
        if case.sign is None:
            assert not case.adapter.contract.callback_signed
            return
        now_s, body = 1_800_000_000, case.callback_body
        headers = case.sign(body, str(now_s), "evt_1")

        def verified(
            headers: Mapping[str, str],
            body: bytes,
            *,
            secret: bytes | None = case.secret,
            now_s: int = now_s,
        ) -> bool:
            notice = case.adapter.read_callback(headers, body, secret=secret, now_s=now_s)
            assert notice is not None
            assert notice.external_id == case.job
            return notice.verified

        assert verified(headers, body)
        assert verified({name.upper(): value for name, value in headers.items()}, body)
        assert not verified(headers, body + b" ")
        assert not verified(headers, json.dumps(json.loads(body), indent=1).encode())
        assert not verified(headers, body, secret=b"other")
        assert not verified(headers, body, secret=None)
        assert not verified(headers, body, now_s=now_s + 301)
        assert not verified(headers, body, now_s=now_s - 301)
        assert not verified({}, body)
        assert not verified(case.sign(body, "soon", "evt_1"), body)
        assert not verified(case.sign(body, str(now_s), ""), body)
        for missing in headers:
            assert not verified({name: value for name, value in headers.items() if name != missing}, body)

    @pytest.mark.parametrize("body", [*UNREADABLE[:7], b"{}"])
    def test_a_callback_that_names_no_job_is_nothing(self, case: Case, body: bytes) -> None:
        assert case.adapter.read_callback({}, body, secret=case.secret, now_s=1) is None
