"""An answer belongs to one question about one call, once."""

from __future__ import annotations

import trio
from trio.testing import MockClock

from broker.confirmation import CONFIRM_WITHIN_S, MAX_OPEN_QUESTIONS, OpenQuestions, call_digest, one_line

CALL = call_digest("delete_note", {"note_id": "n", "idempotency_key": "k"})


async def test_an_answer_counts_once():
    questions = OpenQuestions()
    name = questions.ask("Delete?", CALL)
    assert questions.take(name, "Delete?", CALL)
    assert not questions.take(name, "Delete?", CALL)


async def test_an_answer_to_another_question_or_about_another_call_does_not_count():
    questions = OpenQuestions()
    assert not questions.take(questions.ask("Delete 'One'?", CALL), "Delete 'Two'?", CALL)
    other = call_digest("delete_note", {"note_id": "other", "idempotency_key": "k"})
    assert not questions.take(questions.ask("Delete?", CALL), "Delete?", other)
    assert repr(questions) == "<OpenQuestions 0>"


async def test_a_name_that_was_not_given_out_is_none():
    questions = OpenQuestions()
    questions.ask("Delete?", CALL)
    assert not questions.take("made up", "Delete?", CALL)
    assert not questions.take(None, "Delete?", CALL)


async def test_an_answer_that_comes_too_late_does_not_count(autojump_clock: MockClock):
    questions = OpenQuestions()
    name = questions.ask("Delete?", CALL)
    await trio.sleep(CONFIRM_WITHIN_S)
    assert not questions.take(name, "Delete?", CALL)


async def test_memory_is_bounded_and_the_oldest_question_goes_first():
    questions = OpenQuestions()
    names = [questions.ask("Delete?", CALL) for _ in range(MAX_OPEN_QUESTIONS + 1)]
    assert len(set(names)) == len(names)
    assert not questions.take(names[0], "Delete?", CALL)
    assert questions.take(names[1], "Delete?", CALL)


def test_the_order_of_arguments_makes_no_other_call():
    assert call_digest("delete_note", {"idempotency_key": "k", "note_id": "n"}) == CALL
    assert call_digest("create_note", {"idempotency_key": "k", "note_id": "n"}) != CALL


def test_a_title_cannot_break_turn_or_leak_the_question():
    assert one_line("Delete 'a\r\n\n\tb\x00'?") == "Delete 'a b '?"
    assert one_line("Delete 'abc\u202edcba\u2069'?") == "Delete 'abc dcba '?"
    assert one_line("Delete 'half \ud800 🚤'?") == "Delete 'half \ufffd 🚤'?"
    assert "very-secret" not in one_line("Delete 'SID=very-secret-value-0123456789'?")
