# ruff: noqa: E501 - the lines of the product stand here as they are
"""The planted bugs: where, what, and who must notice. `old` stands exactly once in its file."""

from dataclasses import dataclass

_F = "tests/engine/test_faults.py::"
_L = "tests/engine/test_leases.py::"
_A = "tests/engine/test_task_actions.py::"
_C = "tests/engine/test_callbacks.py::"
_M = "tests/money/"
_B = "tests/money/test_budgets.py::"
_K = "tests/money/test_confirm.py::"
_R = "tests/money/test_reservations_sql.py::"
_O = "tests/allocation/"


@dataclass(frozen=True, slots=True)
class Mutant:
    """One bug. `file` is below the root; `tests` are pytest ids, any of which must fail."""

    name: str
    why: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


_SUBMIT = "shortdrama_pipeline/services/submitting.py"
_POLL = "shortdrama_pipeline/services/polling.py"
_INGEST = "shortdrama_pipeline/services/ingesting.py"
_RECOVER = "shortdrama_pipeline/services/recovering.py"
_PROVE = "shortdrama_pipeline/services/proving.py"
_RECORD = "shortdrama_pipeline/services/recording.py"
_CONFIRM = "shortdrama_pipeline/services/confirming.py"
_CALL = "shortdrama_pipeline/services/callbacks.py"
_TASKS = "shortdrama_pipeline/store/tasks.py"
_ATTEMPTS = "shortdrama_pipeline/store/attempts.py"
_LEDGER = "shortdrama_pipeline/store/ledger.py"
_MOVES = "shortdrama_pipeline/store/reservations.py"
_EPISODES = "shortdrama_pipeline/store/episodes.py"
_WIRE = "shortdrama_pipeline/providers/transport.py"
_ADAPTER = "shortdrama_pipeline/providers/rehearsal.py"
_RULES = "shortdrama_pipeline/rules/"

MUTANTS = (
    # --- the fence ------------------------------------------------------------------------------------
    Mutant(
        "drop-the-fence",
        "two workers may take the send right of one Attempt",
        _ATTEMPTS,
        "where a.attempt_id = f.attempt_id and a.state = 'prepared' returning",
        "where a.attempt_id = f.attempt_id returning",
        (
            "tests/engine/test_guards.py",
            "tests/racing",
            _L + "test_p6_9_a_lease_lost_between_fence_and_check_sends_nothing",
        ),
    ),
    Mutant(
        "fence-after-the-post",
        "the send right is committed when the answer is there",
        _SUBMIT,
        "    fenced = attempts.take_fence(\n        tx,",
        "    fenced = {each.preparation.attempt_id for each in won} or attempts.take_fence(\n        tx,",
        (_F + "test_p5_1_the_fence_is_committed_before_the_request_arrives",),
    ),
    Mutant(
        "send-without-the-second-look",
        "lease and fence are not looked at again before the send",
        _SUBMIT,
        "            if each.preparation.attempt_id in standing:",
        "            if each.preparation.attempt_id in won:",
        (
            _L + "test_p6_9_a_lease_lost_between_fence_and_check_sends_nothing",
            "tests/engine/test_stumbling.py",
        ),
    ),
    Mutant(
        "send-whatever-the-clock-says",
        "a worker that slept past its lease still sends",
        _WIRE,
        "            if not may_send():\n                raise _NotOursAnyMore",
        "            if not may_send():\n                pass",
        (_L + "test_p6_9_a_worker_that_wakes_up_after_its_lease_sends_nothing",),
    ),
    Mutant(
        "check-only-the-attempt",
        "the second look forgets the lease",
        _ATTEMPTS,
        "and t.state = 'running' and t.expires_at > clock_timestamp()\n",
        "and t.state = 'running'\n",
        (_L + "test_p6_9_a_lease_lost_between_fence_and_check_sends_nothing",),
    ),
    Mutant(
        "re-queue-after-a-fence",
        "recovery puts a fenced Task back into the queue",
        _RECOVER,
        "case TaskState.RUNNING, (None | AttemptState.PREPARED | AttemptState.REJECTED_BEFORE_ACCEPTANCE):",
        "case TaskState.RUNNING, _:",
        (_F + "test_f01b_a_fence_without_an_answer_is_never_sent_by_us_again", "tests/faults/test_matrix.py"),
    ),
    # --- the wire -------------------------------------------------------------------------------------
    Mutant(
        "retry-in-the-client",
        "the paid create is sent again when the connection breaks",
        _WIRE,
        "    except Exception as error:  # noqa: BLE001 - whatever it was, the request may have arrived\n"
        "        return Silent(type(error).__name__)\n\n\n",
        "    except httpx.HTTPError:\n"
        "        return await send_paid_create(request, secret=secret, may_send=may_send)\n"
        "    except Exception as error:  # noqa: BLE001 - whatever it was, the request may have arrived\n"
        "        return Silent(type(error).__name__)\n\n\n",
        (_F + "test_f02_silence_keeps_the_money_and_asks_nobody_to_make_it_again",),
    ),
    Mutant(
        "a-broken-read-was-never-sent",
        "a read error counts as proof that nothing arrived",
        _WIRE,
        "_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)",
        "_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.TransportError)",
        (
            _F + "test_f02_silence_keeps_the_money_and_asks_nobody_to_make_it_again",
            "tests/faults/test_matrix.py",
        ),
    ),
    Mutant(
        "a-status-proves-refusal",
        "any 4xx or 5xx is taken as not accepted",
        _SUBMIT,
        "                return ready.route.adapter.read_create(answer)",
        "                if answer.status >= 400:\n"
        '                    return Rejected("status", RejectionClass.FINAL, "status")\n'
        "                return ready.route.adapter.read_create(answer)",
        (_F + "test_p5_5_no_status_code_proves_anything",),
    ),
    Mutant(
        "an-unreadable-answer-is-a-refusal",
        "an adapter that stumbles frees the money",
        _SUBMIT,
        '                return Unknown(f"the answer could not be read: {type(error).__name__}")',
        '                return Rejected("unread", RejectionClass.FINAL, "unread")',
        ("tests/engine/test_stumbling.py", _F + "test_p5_5_no_status_code_proves_anything"),
    ),
    # --- unknown stays unknown ------------------------------------------------------------------------
    Mutant(
        "release-on-timeout",
        "silence gives the money back",
        _RULES + "attempts.py",
        "        case WentSilent():\n            legal_from, to = {s.SUBMIT_STARTED}, s.OUTCOME_UNKNOWN",
        "        case WentSilent():\n            legal_from, to = {s.SUBMIT_STARTED}, s.REJECTED_BEFORE_ACCEPTANCE",
        (
            "tests/rules_/test_attempts.py",
            _F + "test_f02_silence_keeps_the_money_and_asks_nobody_to_make_it_again",
        ),
    ),
    Mutant(
        "absence-without-a-verified-look-up",
        "an empty look-up proves absence for every vendor",
        _PROVE,
        "        case None if contract.absence_is_proof:",
        "        case None:",
        (
            "tests/engine/test_reconnecting.py",
            _F + "test_f01b_a_fence_without_an_answer_is_never_sent_by_us_again",
        ),
    ),
    Mutant(
        "never-sent-for-ever",
        "a closed port is tried without end",
        _RULES + "attempts.py",
        "            may = tries < NEVER_SENT_ATTEMPTS_MAX",
        "            may = tries > 0",
        (
            _F + "test_tt6_a_closed_port_is_proof_and_ends_after_three_attempts",
            "tests/rules_/test_attempts.py",
        ),
    ),
    Mutant(
        "capacity-beyond-the-allowance",
        "refused for capacity, it is sent more often than the Quote said",
        _RULES + "attempts.py",
        "            may = tries <= allowance",
        "            may = tries <= allowance + 1",
        (_F + "test_tt6_capacity_ends_when_the_plans_allowance_is_used_up", "tests/rules_/test_attempts.py"),
    ),
    Mutant(
        "a-refusal-is-tried-again",
        "content refused goes back to the queue",
        _RULES + "attempts.py",
        '            return Consequence(TaskStep.FAIL, ReservationStep.RELEASE, "refused")',
        '            return Consequence(TaskStep.QUEUE, ReservationStep.KEEP, "refused")',
        (_F + "test_tt6_a_contract_code_decides_what_follows", "tests/rules_/test_attempts.py"),
    ),
    # --- leases ---------------------------------------------------------------------------------------
    Mutant(
        "lease-without-token",
        "a write needs no token, only a name",
        _TASKS,
        " where t.lease_token = w.token and t.state = w.seen order by t.task_id for update of t",
        " where t.state = w.seen order by t.task_id for update of t",
        (
            _L + "test_p6_10_a_late_answer_of_a_lost_lease_is_kept_by_receipt_and_adopted",
            "tests/faults/test_matrix.py",
        ),
    ),
    Mutant(
        "token-that-does-not-grow",
        "a takeover keeps the old token",
        _TASKS,
        "update tasks t set owner = :worker, lease_token = t.lease_token + 1, heartbeat = clock_timestamp(),\n"
        "  expires_at = clock_timestamp() + :lease_ms * interval '1 millisecond'\n  from found",
        "update tasks t set owner = :worker, lease_token = t.lease_token, heartbeat = clock_timestamp(),\n"
        "  expires_at = clock_timestamp() + :lease_ms * interval '1 millisecond'\n  from found",
        ("tests/engine/test_leases.py", "tests/engine/test_faults.py"),
    ),
    Mutant(
        "renew-what-has-expired",
        "a dead lease is brought back to life by a heartbeat",
        _TASKS,
        "and t.owner = :worker\n   and t.expires_at > clock_timestamp() and t.state in",
        "and t.owner = :worker\n   and t.state in",
        (_L + "test_a_lease_is_renewed_by_its_token_only_and_never_after_expiry",),
    ),
    Mutant(
        "take-what-is-alive",
        "recovery takes Tasks whose worker lives",
        _TASKS,
        "     and (t.expires_at is null or t.expires_at <= clock_timestamp())\n"
        "   order by t.next_action_at limit :most for update of t skip locked",
        "   order by t.next_action_at limit :most for update of t skip locked",
        ("tests/engine/test_leases.py", _F + "test_f11_two_workers_share_the_work_without_a_second_post"),
    ),
    Mutant(
        "claim-without-looking",
        "a Task that is not queued any more is claimed",
        _TASKS,
        "   where t.task_id = any(cast(:task_ids as text[])) and t.state = 'queued'\n"
        "     and t.next_action_at <= clock_timestamp() and",
        "   where t.task_id = any(cast(:task_ids as text[]))\n"
        "     and t.next_action_at <= clock_timestamp() and",
        (
            "tests/engine/test_guards.py",
            "tests/engine/test_leases.py",
            "tests/racing",
            _F + "test_f11_two_workers_share_the_work_without_a_second_post",
        ),
    ),
    Mutant(
        "send-under-a-revoked-grant",
        "a revocation is not seen at the fence",
        _TASKS,
        "  case when g.revoked_at is not null then 'grantRevoked'\n",
        "  case when false then 'grantRevoked'\n",
        (_A + "test_p3_8_a_revoked_grant_stops_what_has_not_started",),
    ),
    # --- money ----------------------------------------------------------------------------------------
    Mutant(
        "float-money",
        "a price is computed through a float",
        _RULES + "prices.py",
        "    micros = rate.micros_base + math.ceil(units * Fraction(rate.micros_per_unit))",
        "    micros = rate.micros_base + math.ceil(float(units) * float(rate.micros_per_unit))",
        ("tests/rules_/test_prices.py", "tests/money/test_pricing.py"),
    ),
    Mutant(
        "settle-above-the-hold",
        "a vendor's bill above the ceiling is charged to the user",
        _MOVES,
        "                             then least(coalesce(w.charged, r.amount_micros), r.amount_micros) else 0 end,",
        "                             then coalesce(w.charged, r.amount_micros) else 0 end,",
        (_R + "test_more_than_the_held_price_is_never_charged",),
    ),
    Mutant(
        "charge-without-a-deliverable",
        "money is taken before anything is registered",
        _MOVES,
        "    statement = _MOVE_DELIVERED if isinstance(event, Settled | SettlementAsked) else _MOVE_ANY",
        "    statement = _MOVE_ANY",
        (_R + "test_nothing_is_charged_without_a_registered_deliverable",),
    ),
    Mutant(
        "dedupe-by-delivery-id",
        "the ledger's business key carries something fresh",
        _RULES + "ledger.py",
        '        *_transfer(f"settle:{task_id}", RESERVED, REVENUE, charged, task_id),',
        '        *_transfer(f"settle:{task_id}:{id(held)}", RESERVED, REVENUE, charged, task_id),',
        ("tests/rules_/test_ledger.py", "tests/money/test_reservations_sql.py", "tests/auditing"),
    ),
    Mutant(
        "other-content-under-a-known-key",
        "a ledger key with other content is passed over",
        _LEDGER,
        "        if not same:",
        "        if not same and False:",
        (
            _M
            + "test_wallet.py::test_a_business_key_with_other_content_is_a_conflict_and_with_equal_content_nothing",
        ),
    ),
    Mutant(
        "release-after-delivery",
        "money of a registered deliverable may be given back",
        _RULES + "reservations.py",
        "        case Released():  # Once a deliverable is registered, money goes back only as a new entry.\n"
        "            return frozenset({s.RESERVED})",
        "        case Released():  # Once a deliverable is registered, money goes back only as a new entry.\n"
        "            return frozenset({s.RESERVED, s.SETTLEMENT_PENDING, s.SETTLED})",
        (
            "tests/rules_/test_reservations.py",
            _R + "test_released_money_is_never_settled_and_settled_never_released",
        ),
    ),
    Mutant(
        "overrun-on-the-user",
        "what a vendor bills above the plan is the studio's expense",
        _RULES + "ledger.py",
        '        *_transfer(f"overrun:{bill.attempt_id}", COMPENSATION, vendor, bill.cost - allowed, bill.task_id),',
        '        *_transfer(f"overrun:{bill.attempt_id}", expense, vendor, bill.cost - allowed, bill.task_id),',
        (
            _R + "test_a_bill_above_the_ceiling_goes_to_the_platform_with_one_alarm",
            "tests/rules_/test_ledger.py",
        ),
    ),
    Mutant(
        "failed-but-charged-is-lost",
        "a failed generation's bill is not booked",
        _POLL,
        "            release=reason,\n            bill=bill_of(work,",
        "            release=reason,\n            bill=None and bill_of(work,",
        (_F + "test_p7_3_failed_and_expired_are_told_apart", "tests/faults/test_matrix.py"),
    ),
    Mutant(
        "settlement-dropped",
        "a settlement that failed is never tried again",
        _RECOVER,
        "    due = await shift.read(lambda tx: settling.find_pending(tx, most=TAKE_AT_ONCE))",
        "    due: list[settling.Due] = []",
        (_F + "test_f09_a_failed_settlement_keeps_the_product_and_charges_once_later",),
    ),
    # --- confirming -----------------------------------------------------------------------------------
    Mutant(
        "purge-a-key",
        "an idempotency key is forgotten",
        _CONFIRM,
        "        earlier = earlier or self.by_quote.get(click.quote_id)",
        "        earlier = self.by_quote.get(click.quote_id)",
        (
            _K + "test_the_same_key_again_answers_the_original",
            _K + "test_the_same_key_with_other_content_is_a_conflict_without_effect",
            "tests/money/test_confirm_crashes.py",
        ),
    ),
    Mutant(
        "same-key-other-content",
        "another request under a known key is answered as the old one",
        _CONFIRM,
        "        if earlier is not None and earlier.request_hash != click.request_hash:",
        "        if False and earlier is not None and earlier.request_hash != click.request_hash:",
        (_K + "test_the_same_key_with_other_content_is_a_conflict_without_effect",),
    ),
    Mutant(
        "confirm-an-expired-quote",
        "a Quote does not expire",
        _RULES + "quotes.py",
        "    if present.now >= expires_at:",
        "    if present.now >= expires_at and not items:",
        (
            _K + "test_an_expired_quote_comes_back_as_a_new_one_with_nothing_reserved",
            "tests/rules_/test_quotes.py",
        ),
    ),
    Mutant(
        "confirm-a-changed-input",
        "a newer choice of a reference does not matter",
        _RULES + "quotes.py",
        "    if any(present.chosen.get(version_id, version_id) != version_id for version_id, _ in item.used):",
        "    if any(present.chosen.get(version_id) is None for version_id, _ in ()):",
        (_K + "test_a_newer_choice_of_an_input_makes_a_new_quote", "tests/rules_/test_quotes.py"),
    ),
    Mutant(
        "buy-it-twice-by-two-quotes",
        "an item somebody else ordered meanwhile is ordered again",
        _RULES + "quotes.py",
        "    if item.item_id in present.ordered:",
        "    if item.item_id in ():",
        (
            _K + "test_two_quotes_for_the_same_item_from_two_processes_buy_it_once",
            "tests/rules_/test_quotes.py",
        ),
    ),
    Mutant(
        "budget-without-a-bottom",
        "a budget's amount is not looked at",
        _RULES + "grants.py",
        "    if total.micros > grant.left.micros:",
        "    if total.micros > grant.limit.micros:",
        (
            _B + "test_racing_confirms_never_exceed_the_amount_and_exactly_the_fitting_number_wins",
            "tests/rules_/test_grants.py",
        ),
    ),
    Mutant(
        "an-agent-confirms",
        "an agent's yes is a person's yes",
        _CONFIRM,
        "    require_confirmer(actor, under_budget=grant_id is not None)\n",
        "",
        (_K + "test_only_a_person_confirms_without_a_budget",),
    ),
    # --- callbacks and queries ------------------------------------------------------------------------
    Mutant(
        "trust-an-unsigned-callback",
        "anybody's message counts as verified",
        _CALL,
        "    if adapter.contract.callback_signed and not verified:",
        "    if adapter.contract.callback_signed and not verified and not notice.external_id:",
        (_C + "test_p7_6_only_a_fresh_right_signature_over_the_raw_body_counts_and_once",),
    ),
    Mutant(
        "an-old-signature-counts",
        "a recorded callback may be played again for ever",
        _ADAPTER,
        "    if len(timestamp) > 12 or abs(now_s - int(timestamp)) > CALLBACK_AGE_S_MAX:",
        "    if len(timestamp) > 12:",
        (_C + "test_p7_6_only_a_fresh_right_signature_over_the_raw_body_counts_and_once", "tests/providers"),
    ),
    Mutant(
        "an-event-counts-twice",
        "a replayed event id is new every time",
        _CALL,
        "        if verified and not callbacks.record_first(",
        "        if verified and False and not callbacks.record_first(",
        (_C + "test_p7_6_only_a_fresh_right_signature_over_the_raw_body_counts_and_once",),
    ),
    Mutant(
        "an-unknown-word-is-a-failure",
        "a status nobody knows ends the job",
        _POLL,
        "            case Unrecognised(word=word):\n",
        '            case Unrecognised():\n                await self._failed(waiting, GenerationFailed("word", "", 0, "XRH"))\n'
        "            case Unrecognised(word=word):\n",
        (_F + "test_f05_an_unknown_status_is_an_alarm_and_no_end",),
    ),
    Mutant(
        "a-lost-query-is-a-failure",
        "network trouble while asking ends the job",
        _POLL,
        "            case QueryFailed():\n",
        '            case QueryFailed():\n                await self._failed(waiting, GenerationFailed("net", "", 0, "XRH"))\n'
        "            case QueryFailed():\n",
        (_F + "test_f04_lost_queries_change_nothing_but_the_time",),
    ),
    Mutant(
        "a-passed-limit-is-a-failure",
        "a job that takes long is called failed",
        _RULES + "tasks.py",
        "        case FactsMissing():\n            legal_from, to = {s.RUNNING, s.WAITING_PROVIDER, s.INGESTING}, s.NEEDS_RECONCILIATION",
        "        case FactsMissing():\n            legal_from, to = {s.RUNNING, s.WAITING_PROVIDER, s.INGESTING}, s.FAILED",
        ("tests/rules_/test_tasks.py", _F + "test_p7_5_a_passed_limit_proves_nothing"),
    ),
    Mutant(
        "another-key-will-do",
        "a job is asked about with whatever key is there now",
        "shortdrama_pipeline/services/work.py",
        '    if credential.fingerprint != channel["fingerprint"]:',
        '    if credential.fingerprint == "":',
        (_F + "test_f13_a_key_revoked_while_waiting_is_no_failure_and_no_other_key_is_used",),
    ),
    Mutant(
        "fail-while-ingesting",
        "a result that was paid for may end as failed",
        _RULES + "tasks.py",
        "            legal_from, to = {s.RUNNING, s.WAITING_PROVIDER, s.NEEDS_RECONCILIATION}, s.FAILED",
        "            legal_from, to = {s.RUNNING, s.WAITING_PROVIDER, s.INGESTING, s.NEEDS_RECONCILIATION}, s.FAILED",
        ("tests/rules_/test_tasks.py",),
    ),
    # --- results --------------------------------------------------------------------------------------
    Mutant(
        "no-receipt",
        "what a vendor said is lost when the database cannot listen",
        _SUBMIT,
        "    await shift.at_once(_write_receipt,",
        "    lambda: (_write_receipt,",
        (_F + "test_f03_a_failed_t4_leaves_a_receipt_that_recovery_reads_back",),
    ),
    Mutant(
        "a-broken-file-is-ready",
        "what was measured to be broken is registered all the same",
        _INGEST,
        "    return not measured or any(judged.state is MediaState.QUARANTINED for _, judged in measured)",
        "    return not measured",
        (_F + "test_f07_bytes_that_are_no_film_never_become_ready",),
    ),
    Mutant(
        "any-bytes-are-a-film",
        "bytes are believed, not measured",
        _INGEST,
        '        require(work.task.kind, seen, dict(work.task.request.get("params") or {}))\n',
        "",
        ("tests/engine", "tests/media/test_probe.py"),
    ),
    Mutant(
        "fetch-from-anywhere",
        "a result may point into the private network",
        "shortdrama_pipeline/providers/egress.py",
        "            if not is_public(each):",
        "            if not is_public(each) and not each:",
        ("tests/engine/test_egress.py",),
    ),
    Mutant(
        "believe-a-mapped-address",
        "a private address wrapped into IPv6 counts as public",
        "shortdrama_pipeline/providers/egress.py",
        "    found: list[Address] = [address]\n    if isinstance(address, ipaddress.IPv6Address):",
        "    found: list[Address] = [address]\n    if isinstance(address, ipaddress.IPv4Address):",
        ("tests/engine/test_egress.py",),
    ),
    Mutant(
        "show-the-key",
        "a secret that is known is left in what is written down",
        "shortdrama_pipeline/providers/redaction.py",
        '            text = text.replace(secret, "[redacted]")',
        "            text = text.replace(secret, secret)",
        (
            "tests/providers",
            _A + "test_v14_no_key_and_no_media_stand_in_rows_logs_or_receipts",
            _F + "test_f03_a_failed_t4_leaves_a_receipt_that_recovery_reads_back",
        ),
    ),
    # --- allocation -----------------------------------------------------------------------------------
    Mutant(
        "lock-only-the-write",
        "allocation reads and writes without the pipeline lock",
        _EPISODES,
        '_LOCK = "select pg_advisory_xact_lock(%s)"',
        '_LOCK = "select %s::bigint"',
        (_O + "test_racing.py",),
    ),
    Mutant(
        "count-instead-of-max",
        "the next number is how many there are",
        _EPISODES,
        "        select coalesce(max(sequence) + 1, 0) as sequence from episodes\n"
        "        where kind = %(kind)s and week_id = %(week_id)s\n",
        "        select coalesce(max(sequence) + 1, 0) as sequence from episodes\n"
        "        where kind = %(kind)s and week_id = %(week_id)s and state = 'live'\n",
        (_O + "test_allocating.py::test_several_completed_tasks_of_one_week_stay_in_history_and_count",),
    ),
    Mutant(
        "a-key-crosses-weeks",
        "a key used in another week is answered all the same",
        _RULES + "allocation.py",
        "        if held.week_id != week_id:",
        "        if held.week_id != week_id and not held.episode_id:",
        (
            _O + "test_allocating.py::test_a_key_cannot_silently_cross_weeks",
            "tests/rules_/test_allocation.py",
        ),
    ),
)
