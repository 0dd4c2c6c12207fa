"""The hop in front of everything: whether an MCP client would start our server, and ours alone."""

from __future__ import annotations

import os
from typing import cast

from onboarding.clients import CLIENTS, Client, ServerEntry, installed_entry
from onboarding.clients.jsonc import UnreadableDocument
from onboarding.doctor.findings import Hop
from onboarding.doctor.look import Look
from onboarding.doctor.report import Finding, HopReport


def examine_client_files(look: Look) -> HopReport:
    """Read the file of every client that we know."""
    findings: list[Finding] = []
    having: list[str] = []
    for client in CLIENTS.values():
        try:
            entry = installed_entry(client, look.places)
        except (OSError, UnreadableDocument) as error:
            findings.append(Finding("client.unreadable", f"{client.file(look.places)}: {error}", client.id))
            continue
        if entry is not None:
            having.append(client.title)
            findings += _findings_of(look, client, entry)
    if not having:
        findings.append(Finding("client.none", f"looked for {', '.join(each.title for each in CLIENTS.values())}"))
    return HopReport(Hop.CLIENT_FILES, ", ".join(having) or "none", tuple(findings))


def installed_servers(look: Look) -> dict[str, ServerEntry]:
    """Return what each client that has our server starts, by the client's title; unreadable files are passed over."""
    servers: dict[str, ServerEntry] = {}
    for client in CLIENTS.values():
        try:
            entry = installed_entry(client, look.places)
        except (OSError, UnreadableDocument):
            continue
        if entry is not None:
            servers[client.title] = server_of(entry)
    return servers


def server_of(entry: dict[str, object]) -> ServerEntry:
    """Return command, arguments and variables of an entry, in whichever of the clients' forms it is."""
    command, arguments = entry.get("command"), entry.get("args")
    words = [*_words(command), *_words(arguments)]
    env = entry.get("env") or entry.get("environment")
    variables = cast("dict[object, object]", env) if isinstance(env, dict) else {}
    return ServerEntry(words[0] if words else "", tuple(words[1:]), {str(k): str(v) for k, v in variables.items()})


def _words(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [str(each) for each in cast("list[object]", value)] if isinstance(value, list) else []


def _findings_of(look: Look, client: Client, entry: dict[str, object]) -> list[Finding]:
    if entry == client.entry(look.server):
        return []
    command = server_of(entry).command
    file = client.file(look.places)
    if not os.path.isabs(command) or not os.access(command, os.X_OK):
        return [Finding("client.no-interpreter", f"{file} starts {command or 'nothing'}", client.id)]
    return [Finding("client.other-entry", f"{file} starts {command}", client.id)]
