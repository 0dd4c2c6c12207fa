"""The chats that people had before any client came: what a client must neither continue nor hand out unasked."""

from __future__ import annotations

from harness.emulator.answer_stream import Question, answer_values
from harness.emulator.state import ServiceState


def seed_chats(state: ServiceState) -> None:
    """Let each owner have asked one question in each notebook for which the world has a chat."""
    for chat in state.chats:
        notebook = state.notebook_for(chat.notebook_id, chat.email)
        talk = state.conversation_for_ask(chat.conversation_id, notebook.id, chat.email)
        question = Question(notebook, notebook.sources, chat.question, talk.id)
        _, (_, asked, answered) = answer_values(state, question, talk, [])
        talk.turns += [asked, answered]
