"""Playbooks of the upload machine: what came of the last command, and what it asks for next."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from broker.errors import (
    AccountMismatch,
    AllowlistDenied,
    AuthRequired,
    CompanionOffline,
    GatewayError,
    InvalidArgument,
    MutationUnknown,
    NotFound,
    RateLimited,
    TabDiscarded,
    UpstreamRejected,
    UpstreamSchemaDrift,
)
from broker.relay_frames import encode_call
from broker.upload_messages import (
    Command,
    Done,
    Event,
    Failed,
    FileUnusable,
    Finish,
    GiveUp,
    LookAtRow,
    Pause,
    Query,
    RowSeen,
    SendSlice,
    Start,
    Started,
    Taken,
    Told,
)
from broker.upload_steps import NEW_STARTS, REACTIONS, SLICE_BYTES, Phase, Target, UploadSteps
from broker.upload_trouble import TRIES, Trouble
from native_host.fragments import needs_fragments
from tests.shared import case_input

SOURCE = "5e000000-0000-4000-8000-000000000001"
SIZE = 5_000_000
LOST = CompanionOffline("The connection to the browser was lost.")
FORGOTTEN = NotFound("No such upload.", details={"reason": "unknown_upload"}, started=False)
BROKEN = UpstreamRejected("HTTP 500", details={"http_status": 500})
FRESH = Target(SOURCE, SIZE)
RESUMED = Target(SOURCE, SIZE, has_session=True, starts=1)
FINALISING = Target(SOURCE, SIZE, has_session=True, finalize_sent=True, starts=1)


def play(steps: UploadSteps, *script: Event | Command) -> Command:
    """Play events against the expected commands that stand between them; return the last command."""
    command = steps.begin() if steps.phase is Phase.LOOKING else None
    for number, entry in enumerate(script):
        if isinstance(entry, Event):
            command = steps.after(entry)
        else:
            assert command == entry, f"at {number}: {steps}"
    assert command is not None
    return command


def taken(end: int) -> Taken:
    return Taken(end, end)


def sent_slices(upto: int) -> list[Event | Command]:
    """Return the first `upto` slices and what the page says to them."""
    script: list[Event | Command] = []
    for number in range(upto):
        script += [SendSlice(number * SLICE_BYTES, SLICE_BYTES), taken((number + 1) * SLICE_BYTES)]
    return script


def in_slice_5() -> UploadSteps:
    steps = UploadSteps(FRESH)
    play(steps, RowSeen("preparing"), Started(), *sent_slices(4), SendSlice(4 * SLICE_BYTES, SLICE_BYTES))
    return steps


def finishing(target: Target = RESUMED) -> UploadSteps:
    steps = UploadSteps(target)
    assert play(steps, Query(), Told("active", SIZE)) == Finish()
    return steps


def ended(command: Command, stage: str, received: int, *, definite: bool = False) -> GatewayError:
    assert isinstance(command, GiveUp)
    error = command.error
    where: dict[str, Any] = {"source_id": SOURCE, "stage": stage, "bytes_received": received}
    assert where.items() <= error.details.items()
    assert error.definite is definite
    return error


def test_the_straight_way_looks_starts_sends_all_slices_in_order_and_finishes_once():
    steps = UploadSteps(FRESH)
    whole = SIZE // SLICE_BYTES
    last = SendSlice(whole * SLICE_BYTES, SIZE - whole * SLICE_BYTES)
    # The page keeps the end of the file back for the finalisation, so it has more than the service.
    play(steps, LookAtRow(), RowSeen("preparing"), Start(), Started(), *sent_slices(whole), last)
    assert play(steps, Taken(SIZE, whole * SLICE_BYTES), Finish(), Told("final", SIZE)) == Done()
    assert steps.phase is Phase.ENDED
    assert steps.stage == "finalize"


def test_the_longest_slice_travels_to_chrome_in_one_message():
    longest_number = 2**53 - 1
    params: dict[str, object] = {
        "upload": "up-" + "f" * 32,
        "offset": longest_number,
        "data": base64.b64encode(bytes(SLICE_BYTES)).decode(),
    }
    frame = encode_call(
        longest_number,
        "upload.slice",
        params,
        notebook=SOURCE,
        account="a" * 64 + "@" + "b" * 255,  # the longest that mail knows
        not_after_ms=longest_number,
        traceparent="00-" + "1" * 32 + "-" + "2" * 16 + "-01",
    )
    assert not needs_fragments(frame + b'"conn":,' + str(longest_number).encode())


def test_an_empty_rest_is_finished_without_a_slice():
    assert play(UploadSteps(Target(SOURCE, 0)), LookAtRow(), RowSeen("preparing"), Start(), Started()) == Finish()


@pytest.mark.parametrize("line", json.loads(case_input("C-083-query-answers.json").read_text()), ids=str)
def test_c083_the_servers_number_always_wins(line: dict[str, Any]):
    steps = in_slice_5()
    assert play(steps, Failed(LOST)) == Pause(Query(), failures=1)
    received = line["size_received"]
    command = steps.after(_as_the_worker_says(line))
    match line["expect"].split(":")[0], command:
        case (("send from 0" | "send from 1048576"), SendSlice(offset)):
            assert offset == received
        case said, SendSlice(offset):
            assert said.startswith("send from 1300000")
            assert offset == 1_300_000
            assert play(steps, taken(offset + SLICE_BYTES)) == SendSlice(offset + SLICE_BYTES, SLICE_BYTES)
        case "done", Done():
            pass
        case "only the finalize step is left", Finish():
            assert play(steps, Told("final", None)) == Done()
        case (("more than the file" | "UPSTREAM_SCHEMA_DRIFT"), GiveUp()):
            assert isinstance(ended(command, "slice 5", 4 * SLICE_BYTES, definite=True), UpstreamSchemaDrift)
        case (("session dead" | "session expired"), GiveUp()):
            assert isinstance(ended(command, "slice 5", 4 * SLICE_BYTES), MutationUnknown)
        case expected:
            pytest.fail(f"not what the case expects: {expected}")


def _as_the_worker_says(line: dict[str, Any]) -> Event:
    if line.get("http") == 404:
        return Told("expired", None)
    if isinstance(line["size_received"], str):
        return Failed(UpstreamSchemaDrift("upload", "x-goog-upload-size-received", "a whole number", "12x"))
    return Told(line["status"], line["size_received"])


@pytest.mark.parametrize("received", [None, -1, SIZE + 1])
def test_c083_an_active_session_without_a_number_that_can_be_is_drift(received: int | None):
    command = play(UploadSteps(RESUMED), Query(), Told("active", received))
    assert isinstance(ended(command, "slice 1", 0, definite=True), UpstreamSchemaDrift)


def test_c083_a_finished_session_of_another_size_is_drift_and_no_success():
    command = play(UploadSteps(RESUMED), Query(), Told("final", SIZE - 1))
    assert isinstance(ended(command, "slice 1", 0, definite=True), UpstreamSchemaDrift)


@pytest.mark.parametrize("wanted", [None, 0, SLICE_BYTES - 1, SLICE_BYTES + 1, SIZE])
def test_c082_a_page_that_wants_another_offset_than_the_next_is_settled_by_asking_the_service(wanted: int | None):
    steps = UploadSteps(RESUMED)
    play(steps, Query(), Told("active", 0), SendSlice(0, SLICE_BYTES), Taken(wanted, 0 if wanted is not None else None))
    assert steps.phase is Phase.ASKING
    assert play(steps, Told("active", 262_144)) == SendSlice(262_144, SLICE_BYTES)


@pytest.mark.parametrize("said", [Taken(SIZE + 1, 0), Taken(-1, 0), Taken(SLICE_BYTES, SIZE + 1)])
def test_c082_an_offset_outside_of_the_file_is_drift(said: Taken):
    command = play(UploadSteps(RESUMED), Query(), Told("active", 0), SendSlice(0, SLICE_BYTES), said)
    assert isinstance(ended(command, "slice 1", 0, definite=True), UpstreamSchemaDrift)


def test_c086a_a_refused_start_is_definite():
    refused = UpstreamRejected("HTTP 400", details={"http_status": 400}, definite=True)
    command = play(UploadSteps(FRESH), LookAtRow(), RowSeen("preparing"), Start(), Failed(refused))
    error = ended(command, "start", 0, definite=True)
    assert isinstance(error, UpstreamRejected)
    assert error.details["http_status"] == 400


def test_c086b_a_start_without_a_session_address_is_drift_that_names_the_source():
    drift = UpstreamSchemaDrift("upload", "x-goog-upload-url", "an address of the service")
    command = play(UploadSteps(FRESH), LookAtRow(), RowSeen("preparing"), Start(), Failed(drift))
    assert isinstance(ended(command, "start", 0, definite=True), UpstreamSchemaDrift)


def test_c086c_a_slice_that_fails_three_times_is_unknown_and_can_be_resumed():
    steps = in_slice_5()
    at = 4 * SLICE_BYTES
    again = [Query(), Told("active", at), SendSlice(at, SLICE_BYTES), Failed(BROKEN)]
    assert play(steps, Failed(BROKEN)) == Pause(Query(), 1)
    assert play(steps, *again[1:]) == Pause(Query(), 2)
    error = ended(play(steps, *again[1:]), "slice 5", at)
    assert isinstance(error, MutationUnknown)
    assert error.details["http_status"] == 500
    assert "same idempotency key" in error.hint


def test_c086d_a_lost_finalisation_is_settled_by_the_service():
    steps = finishing()
    assert play(steps, Failed(LOST), Pause(Query(), 1), Told("final", None)) == Done()


def test_c086d_a_lost_finalisation_that_did_not_arrive_is_sent_to_the_same_session():
    steps = finishing()
    assert play(steps, Failed(LOST), Pause(Query(), 1), Told("active", SIZE)) == Finish()
    assert steps.finalize_sent


def test_c086d_a_lost_finalisation_whose_session_is_forgotten_is_looked_for_and_no_session_started():
    steps = finishing()
    play(steps, Failed(LOST), Pause(Query(), 1), Failed(FORGOTTEN), LookAtRow())
    for failures in range(1, TRIES[Trouble.NOT_YET]):
        assert play(steps, RowSeen("preparing")) == Pause(LookAtRow(), failures)
    assert isinstance(ended(play(steps, RowSeen("preparing")), "finalize", SIZE), MutationUnknown)


@pytest.mark.parametrize("state", ["processing", "ready", "failed"])
def test_a_row_past_preparing_proves_a_finalisation(state: Any):
    steps = UploadSteps(FINALISING)
    assert play(steps, Query(), Failed(FORGOTTEN), LookAtRow(), RowSeen(state)) == Done()


@pytest.mark.parametrize("state", ["unknown", None])
def test_a_row_of_an_unknown_state_or_none_proves_nothing(state: Any):
    steps = UploadSteps(FINALISING)
    assert play(steps, Query(), Told("expired", None), LookAtRow(), RowSeen(state)) == Pause(LookAtRow(), 1)


def test_a_record_of_a_finalisation_without_its_session_is_only_looked_for():
    steps = UploadSteps(Target(SOURCE, SIZE, finalize_sent=True))
    assert play(steps, LookAtRow(), RowSeen("ready")) == Done()


def test_a_forgotten_session_is_started_anew_once_for_the_same_source_and_from_0():
    steps = in_slice_5()
    anew = [Failed(FORGOTTEN), LookAtRow(), RowSeen("preparing"), Start(), Started(), *sent_slices(2)]
    play(steps, Failed(LOST), Pause(Query(), 1), *anew)
    error = ended(play(steps, Failed(FORGOTTEN)), "slice 3", 2 * SLICE_BYTES)
    assert isinstance(error, MutationUnknown)
    assert NEW_STARTS == 1


def test_a_forgotten_session_is_not_started_anew_when_the_row_is_not_preparing():
    steps = in_slice_5()
    command = play(steps, Failed(FORGOTTEN), LookAtRow(), RowSeen("processing"))
    assert isinstance(ended(command, "slice 5", 4 * SLICE_BYTES), MutationUnknown)


def test_a_finalisation_that_provably_never_left_does_not_forbid_a_new_start():
    steps = finishing()
    assert play(steps, Failed(FORGOTTEN), LookAtRow(), RowSeen("preparing")) == Start()


def test_a_page_that_lacks_a_part_at_the_finalisation_is_settled_by_the_service():
    incomplete = InvalidArgument("Not all there.", details={"reason": "incomplete"}, started=False)
    steps = finishing()
    command = play(steps, Failed(incomplete), Pause(Query(), 1), Told("active", SIZE - SLICE_BYTES))
    assert command == SendSlice(SIZE - SLICE_BYTES, SLICE_BYTES)
    assert not steps.finalize_sent


def test_c084_a_changed_file_before_any_finalisation_is_definite():
    error = ended(play(in_slice_5(), FileUnusable("it was changed")), "slice 5", 4 * SLICE_BYTES, definite=True)
    assert isinstance(error, InvalidArgument)
    assert SOURCE in error.message


def test_c084_a_changed_file_after_a_finalisation_may_have_left_proves_nothing():
    steps = finishing(FINALISING)
    assert play(steps, FileUnusable("it was changed")) == LookAtRow()
    command = play(steps, *[RowSeen("preparing")] * TRIES[Trouble.NOT_YET])
    assert isinstance(ended(command, "finalize", SIZE), MutationUnknown)


def test_a_lost_start_is_sent_again_only_after_a_look_at_the_row():
    steps = UploadSteps(FRESH)
    play(steps, LookAtRow(), RowSeen("preparing"), Start(), Failed(LOST), Pause(LookAtRow(), 1), RowSeen("preparing"))
    assert steps.phase is Phase.STARTING


def test_an_id_that_the_extension_does_not_know_yet_is_learnt_by_reading_the_row():
    unknown_id = AllowlistDenied("Not known.", details={"reason": "unknown_id"}, started=False)
    steps = UploadSteps(FRESH)
    command = play(steps, LookAtRow(), RowSeen("preparing"), Start(), Failed(unknown_id))
    assert command == Pause(LookAtRow(), 1)


def test_a_row_that_shows_late_is_waited_for_and_one_that_never_shows_ends_the_upload():
    steps = UploadSteps(FRESH)
    assert play(steps, LookAtRow(), RowSeen(None)) == Pause(LookAtRow(), 1)
    command = play(steps, *[RowSeen(None)] * (TRIES[Trouble.NOT_YET] - 1))
    assert isinstance(ended(command, "start", 0), MutationUnknown)


def test_the_first_start_does_not_depend_on_the_rows_state():
    """Nobody else has an upload for a row that we registered a moment ago."""
    assert play(UploadSteps(FRESH), LookAtRow(), RowSeen("unknown")) == Start()


def test_the_service_may_ask_for_a_pause_but_not_for_any():
    steps = in_slice_5()
    busy = RateLimited("HTTP 429", details={"retry_after_s": 7})
    assert play(steps, Failed(busy)) == Pause(Query(), 1, at_least_s=7.0)
    play(steps, Told("active", 4 * SLICE_BYTES))
    too_long = RateLimited("HTTP 429", details={"retry_after_s": 3600})
    assert isinstance(ended(play(steps, Failed(too_long)), "slice 5", 4 * SLICE_BYTES), MutationUnknown)


def test_losses_are_borne_for_long_but_not_for_ever():
    steps = in_slice_5()
    for failures in range(1, TRIES[Trouble.LOST]):
        assert play(steps, Failed(TabDiscarded("gone"))) == Pause(Query(), failures)
    assert isinstance(ended(play(steps, Failed(LOST)), "slice 5", 4 * SLICE_BYTES), MutationUnknown)


def test_progress_at_the_service_gives_all_tries_back_and_going_in_circles_does_not():
    steps = in_slice_5()
    at = 4 * SLICE_BYTES
    for failures in (1, 2):
        assert play(steps, Failed(BROKEN), Pause(Query(), failures), Told("active", at)) == SendSlice(at, SLICE_BYTES)
    play(steps, taken(at + SLICE_BYTES))
    assert play(steps, Failed(BROKEN)) == Pause(Query(), 1)


@pytest.mark.parametrize("error", [AuthRequired("Signed out."), AccountMismatch("Another account.")])
def test_what_only_the_person_can_mend_stops_at_once_and_says_so(error: GatewayError):
    stopped = ended(play(in_slice_5(), Failed(error)), "slice 5", 4 * SLICE_BYTES)
    assert isinstance(stopped, MutationUnknown)
    assert error.hint in stopped.hint
    assert stopped.details["cause"] == error.code


def test_the_end_of_time_ends_the_upload_wherever_it_is():
    assert isinstance(
        ended(play(in_slice_5(), Failed(LOST, is_last=True)), "slice 5", 4 * SLICE_BYTES), MutationUnknown
    )
    while_confirming = play(
        UploadSteps(FINALISING), Query(), Failed(FORGOTTEN), LookAtRow(), Failed(LOST, is_last=True)
    )
    assert isinstance(ended(while_confirming, "finalize", 0), MutationUnknown)


def test_a_session_that_the_service_keeps_open_after_a_finalisation_is_asked_again():
    steps = finishing()
    assert play(steps, Told("active", SIZE), Pause(Query(), 1), Told("final", SIZE)) == Done()


def test_an_event_that_cannot_happen_is_a_mistake_of_ours():
    with pytest.raises(AssertionError, match="cannot happen while looking"):
        UploadSteps(FRESH).after(Started())


def test_every_phase_that_waits_says_what_failures_lead_to():
    assert REACTIONS.keys() == set(Phase) - {Phase.ENDED}
    borne = {trouble for row in REACTIONS.values() for trouble in row}
    assert borne | {Trouble.NOT_YET} == TRIES.keys() | {Trouble.FORGOTTEN}
