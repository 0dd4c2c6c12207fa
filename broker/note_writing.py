"""Creating and deleting notes, request by request.

A note takes two requests: the service ignores title and text when it creates one (wire reference, 9), so the second
fills it. Filling replaces title and text as a whole, hence it may be sent again, but only into a note that we made and
nobody has touched since (C-073).
"""

from __future__ import annotations

from functools import partial
from typing import Final

from broker.calls import CallContext
from broker.errors import AllowlistDenied, CallCancelled, GatewayError, MutationUnknown, NotFound
from broker.forgotten_ids import is_forgotten_id
from broker.journal_rows import fingerprint
from broker.journal_states import State
from broker.mutations import Mutation, Result
from broker.notes import Note, Notes
from broker.proving import create_once, doubles_of, look_until, raise_if_without_effect
from broker.published import shown_title
from broker.published_mutation import with_doubles
from broker.session import Session, ToolCall
from broker.upstream import Upstream
from broker.write_requests import carry_out, make_request

WRITE_TIMEOUT_S: Final = 180.0
"""For the requests of one note. No caller waits that long; the run does."""
NEW_NOTE_TITLE: Final = "New Note"
"""What a note is called between the two requests (recorded)."""


async def create_note(session: Session, notebook_id: str, title: str, content: str, key: str, call: ToolCall) -> Result:
    """Create one note per key. Returns the facts of the result, or of the running form.

    Raises: as `Mutations.carry_out`.
    """
    payload = {"title": title, "content": content}
    # Between its two requests every new note looks the same.
    looks = fingerprint("note")
    request = await make_request(session, notebook_id, "create_note", key, payload, looks, call)
    write = partial(_create, session.upstream, title, content, call.ctx.detached(WRITE_TIMEOUT_S))
    return await carry_out(session, request, write, call)


async def delete_note(session: Session, notebook_id: str, note_id: str, key: str, call: ToolCall) -> Result:
    """Delete one note per key, after asking the person where the client can.

    Raises: as `Mutations.carry_out`; NotFound when the notebook has no such note, with nothing sent; CallCancelled when
        the person said no.
    """
    looks = fingerprint("delete", note_id)
    request = await make_request(session, notebook_id, "delete_note", key, {"note_id": note_id}, looks, call)
    if not await session.mutations.is_begun(request):
        note = _require_live(await session.upstream.list_notes(notebook_id, call.ctx), note_id)
        await _ask_the_person(session, note, call)
    write = partial(_delete, session.upstream, note_id, call.ctx.detached(WRITE_TIMEOUT_S))
    return await carry_out(session, request, write, call)


# ---------------------------------------------------------------------------------------------------- create and fill
async def _create(upstream: Upstream, title: str, content: str, ctx: CallContext, mutation: Mutation) -> Result:
    notebook_id = mutation.record.notebook_id

    async def read_list() -> dict[str, Note]:
        return {note.id: note for note in (await upstream.list_notes(notebook_id, ctx)).notes}

    def could_be_ours(note: Note) -> bool:
        return _is_untouched(note) or _has(note, title, content)

    mutation.show(stage="create")
    note_id = await create_once(
        mutation, "create", "note", read_list, lambda: upstream.create_note(notebook_id, ctx), could_be_ours
    )
    mutation.show(stage="fill")
    await _fill(upstream, note_id, title, content, ctx, mutation)
    return with_doubles({"status": "created", "note_id": note_id, "title": title}, doubles_of(mutation, "create"))


async def _fill(
    upstream: Upstream, note_id: str, title: str, content: str, ctx: CallContext, mutation: Mutation
) -> None:
    notebook_id = mutation.record.notebook_id
    done = mutation.maybe_step("fill")
    if done is not None and done.state is State.CONFIRMED:
        return
    try:
        # The extension learns from this list that the note is the notebook's own; before that it lets nothing at it.
        note = _maybe_note(await upstream.list_notes(notebook_id, ctx), note_id)
        if note is None or not _has(note, title, content):
            if note is None or not _is_untouched(note):
                raise _half_done(mutation, note_id, "the note was changed or deleted by somebody else meanwhile")
            await mutation.mark_sent("fill", {"remote_id": note_id})
            await upstream.fill_note(notebook_id, note_id, title, content, ctx)
    except MutationUnknown:
        raise
    except GatewayError as error:
        has_no_effect = error.definite or not error.started
        if has_no_effect or not await _is_filled(upstream, note_id, title, content, ctx, mutation):
            raise _half_done(mutation, note_id, error.message) from error
    if mutation.maybe_step("fill") is None:
        await mutation.mark_sent("fill", {"remote_id": note_id})  # found as we would have left it
    await mutation.prove_step("fill", {"remote_id": note_id})


async def _is_filled(
    upstream: Upstream, note_id: str, title: str, content: str, ctx: CallContext, mutation: Mutation
) -> bool:
    """Look whether the text has arrived after all, for `LOOK_BACK_S`."""

    async def look() -> bool:
        note = _maybe_note(await upstream.list_notes(mutation.record.notebook_id, ctx), note_id)
        return note is not None and _has(note, title, content)

    return (await look_until(look, mutation.rng)).is_seen


def _half_done(mutation: Mutation, note_id: str, cause: str) -> MutationUnknown:
    return MutationUnknown(
        f"create_note: note {note_id} exists, but its text may be missing: {cause}",
        hint="Repeat the call with the same idempotency key: it finishes the same note and never makes a second one.",
        details={"stage": "fill", "note_id": note_id, "journal_id": mutation.record.id},
    )


def _maybe_note(notes: Notes, note_id: str) -> Note | None:
    return next((note for note in notes.notes if note.id == note_id), None)


def _is_untouched(note: Note) -> bool:
    return not note.text.strip() and note.title.strip() in ("", NEW_NOTE_TITLE)


def _has(note: Note, title: str, content: str) -> bool:
    return note.title.strip() == title.strip() and note.text.strip() == content.strip()


# ---------------------------------------------------------------------------------------------------- delete
def _require_live(notes: Notes, note_id: str) -> Note:
    """Return the note, so that nothing but a live note of this notebook is ever named in a deletion (C-072, C-074)."""
    note = _maybe_note(notes, note_id)
    if note is not None:
        return note
    if note_id in notes.deleted:
        raise NotFound(
            f"Note {note_id} is deleted already.", hint="Nothing is left to do.", details={"note_id": note_id}
        )
    if note_id in notes.other:
        raise NotFound(f"{note_id} is a mind map, not a note; only notes can be deleted.", details={"note_id": note_id})
    raise NotFound(f"The notebook has no note {note_id}.", hint="Call list_notes and use an id from that list.")


async def _ask_the_person(session: Session, note: Note, call: ToolCall) -> None:
    if not (await session.config.get()).confirm_deletes:
        return
    answer = await call.confirm(f"Delete the note '{shown_title(note.title)}' ({note.id})? It cannot be restored.")
    if answer == "declined":
        raise CallCancelled(
            "The person declined to delete the note; nothing was sent.",
            hint="Do not try again unless the person asks for it.",
            started=False,
        )


async def _delete(upstream: Upstream, note_id: str, ctx: CallContext, mutation: Mutation) -> Result:
    cause = "an earlier call was cut short after its request was sent"
    if mutation.maybe_step("delete") is None:
        try:
            cause = await _send_delete(upstream, note_id, ctx, mutation)
        except AllowlistDenied as error:
            if not is_forgotten_id(error):
                raise
            cause = await _send_delete(upstream, note_id, ctx, mutation)
    await _wait_until_gone(upstream, note_id, cause, ctx, mutation)
    await mutation.prove_step("delete", {"remote_id": note_id})
    return {"status": "deleted", "note_id": note_id}


async def _send_delete(upstream: Upstream, note_id: str, ctx: CallContext, mutation: Mutation) -> str:
    """Ask for the deletion once; returns why a note that is still there may be so."""
    notebook_id = mutation.record.notebook_id
    # Read in the run itself: another session may have deleted it while the person was asked.
    _require_live(await upstream.list_notes(notebook_id, ctx), note_id)
    await mutation.mark_sent("delete", {"remote_id": note_id})
    try:
        await upstream.delete_note(notebook_id, note_id, ctx)
    except GatewayError as error:
        await raise_if_without_effect(mutation, "delete", error)
        return error.message
    return "the service said yes, but the note is still there"


async def _wait_until_gone(upstream: Upstream, note_id: str, cause: str, ctx: CallContext, mutation: Mutation) -> None:
    """Read back: unknown ids are ignored silently by the service, so its yes alone proves nothing (wire, 9)."""

    async def look() -> bool:
        return _maybe_note(await upstream.list_notes(mutation.record.notebook_id, ctx), note_id) is None

    looked = await look_until(look, mutation.rng)
    if looked.is_seen:
        return
    raise MutationUnknown(
        f"delete_note: note {note_id} is not seen to be gone: {cause}{looked.trouble}.",
        hint="Repeat the call with the same idempotency key to look again. To delete it after all, use a new key.",
        details={"stage": "delete", "note_id": note_id, "journal_id": mutation.record.id},
    )
