from pathlib import Path

import pytest

from broker.companion_choice import Finding, Verdict, choose, explain, is_same_account, judge, mask_address
from broker.errors import AccountMismatch, CompanionOffline, VersionSkew
from broker.relay_frames import ExtensionInfo, Welcome

ADA, GRACE = "ada@example.com", "grace@example.com"
RUN = Path("run")
EXTENSION = ExtensionInfo(build="0.1.0", id="x", profile="p1")


def finding(verdict: Verdict, name: str = "a", **more: str) -> Finding:
    return Finding(RUN / name, verdict, **more)


@pytest.mark.parametrize(
    ("extension", "account", "verdict"),
    [
        (EXTENSION, ADA, Verdict.MATCH),
        (EXTENSION, " Ada@Example.com", Verdict.MATCH),
        (EXTENSION, GRACE, Verdict.OTHER_ACCOUNT),
        (EXTENSION, None, Verdict.NO_ACCOUNT),
        (EXTENSION, "", Verdict.NO_ACCOUNT),
        (None, None, Verdict.NO_EXTENSION),
        (None, ADA, Verdict.NO_EXTENSION),
    ],
)
def test_only_a_ready_extension_with_the_configured_account_matches(
    extension: ExtensionInfo | None, account: str | None, verdict: Verdict
) -> None:
    welcome = Welcome(v=1, host_build="0.1.0", host_pid=1, extension=extension, account=account)
    assert judge(RUN / "a", welcome, ADA).verdict is verdict


def test_c039_the_first_that_was_found_is_never_taken_for_its_place() -> None:
    other, ours = finding(Verdict.OTHER_ACCOUNT, "newest"), finding(Verdict.MATCH, "older")
    assert choose([other, ours], None) is ours
    assert choose([other], None) is None
    assert choose([], None) is None


def test_of_two_profiles_with_the_same_account_the_one_used_before_stays() -> None:
    newest = finding(Verdict.MATCH, "newest", profile="p2")
    before = finding(Verdict.MATCH, "older", profile="p1")
    assert choose([newest, before], "p1") is before
    assert choose([newest, before], None) is newest
    assert choose([newest], "p1") is newest


def test_a_profile_used_before_is_not_taken_back_under_another_account() -> None:
    assert choose([finding(Verdict.OTHER_ACCOUNT, profile="p1")], "p1") is None


@pytest.mark.parametrize(
    ("verdicts", "error", "words"),
    [
        ([], CompanionOffline, "no companion socket in run"),
        ([Verdict.NO_HOST, Verdict.NO_HOST], CompanionOffline, "2 left-over socket"),
        ([Verdict.NO_HOST, Verdict.NO_EXTENSION], CompanionOffline, "has not reported"),
        ([Verdict.NO_EXTENSION, Verdict.OTHER_ACCOUNT], AccountMismatch, "g***@example.com"),
        ([Verdict.OTHER_ACCOUNT, Verdict.NO_ACCOUNT], CompanionOffline, "no account is configured"),
        ([Verdict.NO_ACCOUNT, Verdict.SKEW], VersionSkew, "update me"),
    ],
)
def test_the_error_names_what_is_missing(verdicts: list[Verdict], error: type[Exception], words: str) -> None:
    findings = [finding(verdict, account=GRACE, message="update me") for verdict in verdicts]
    reason = explain(findings, ADA, RUN)
    assert type(reason) is error
    assert words in reason.message
    assert not reason.started
    assert reason.hint


def test_both_accounts_are_masked() -> None:
    reason = explain([finding(Verdict.OTHER_ACCOUNT, account=GRACE)], ADA, RUN)
    shown = str(reason.as_error())
    assert ADA not in shown
    assert GRACE not in shown
    assert reason.details == {"expected": "a***@example.com", "found": ["g***@example.com"]}


@pytest.mark.parametrize(
    ("address", "masked"), [(ADA, "a***@example.com"), ("x", "x***"), ("", "***"), ("é@b", "é***@b")]
)
def test_a_masked_address_shows_its_first_letter_and_domain(address: str, masked: str) -> None:
    assert mask_address(address) == masked


def test_addresses_differ_by_more_than_case_and_spaces_only_if_they_differ() -> None:
    assert is_same_account("ADA@example.com ", ADA)
    assert not is_same_account(ADA, GRACE)
