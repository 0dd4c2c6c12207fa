"""The host names that the emulator answers for. Everything else gets 421."""

from __future__ import annotations

from typing import Final

DEFAULT_HOST: Final = "notebook.google.com"
DEFAULT_ORIGIN: Final = f"https://{DEFAULT_HOST}"
NOTEBOOK_HOSTS: Final = (
    DEFAULT_HOST,
    "notebooklm.google.com",
    "notebook.cloud.google.com",
    "notebooklm.cloud.google.com",
)
SIGN_IN_HOST: Final = "accounts.google.com"
CONSENT_HOST: Final = "consent.google.com"
MARKETING_HOST: Final = "notebooklm.google"
"""Where an account goes that the service is not offered to (wire reference, hosts)."""
HOSTS: Final = (*NOTEBOOK_HOSTS, SIGN_IN_HOST, CONSENT_HOST, MARKETING_HOST)
