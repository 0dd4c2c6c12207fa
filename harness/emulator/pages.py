"""The app page of the service: one script with ``WIZ_global_data`` (wire reference §1). Pure."""

from __future__ import annotations

import html
from typing import Final
from urllib.parse import urlencode

from harness.emulator.hosts import SIGN_IN_HOST
from harness.emulator.model import Account
from harness.emulator.state import BUILD_LABEL, ServiceState
from harness.emulator.wire_json import Json, result_text

PATH_PREFIX: Final = "/_/LabsTailwindUi"
APP_NAME: Final = "LabsTailwindUi"
BASE_HREF: Final = "https://notebooklm.google.com/"
"""Pages of every host name the old host [reported]; `base-uri 'self'` makes the browser ignore that elsewhere."""


def page_data(state: ServiceState, account: Account, index: int, time_ms: int) -> dict[str, Json]:
    """Return the 52 keys of a signed-in page, in alphabetical order as recorded."""
    return {
        "AfY8Hf": True,
        "B8SWKb": "emulated-browser-key-1",
        "DpimGf": False,
        "EP1ykd": ["/_/*", "/accounts/*"],
        "FdrFJe": state.session_id(account.email),
        "HiPsbb": 1,
        "IkJAZb": False,
        "Im6cmf": PATH_PREFIX,
        "Jlqnmf": "prod",
        "KjTSIf": BUILD_LABEL,
        "LoQv7e": True,
        "MT7f9b": [],
        "MUE6Ne": "labs-tailwind-frontend",
        "PMF0Je": True,
        "QGcrse": "emulated-client-id",
        "QrtxK": str(index),
        "S06Grb": account.user_id,
        "S6lZl": 96000001,
        "SNlM0e": f"{state.csrf_token(account.email)}:{time_ms}",
        "TSDtV": '%.@.[[null,[[45000001,null,false,null,null,null,"emulated"]]]]',
        "UUFaWc": "%.@.null,1000,2]",
        "VqImj": "emulated-browser-key-2",
        "Vvafkd": False,
        "W3Yyqf": account.user_id,
        "WZsZ1e": state.page_secret(account.email),
        "b5W2zf": f"default_{APP_NAME}",
        "cEM4oc": "prod",
        "cfb2h": BUILD_LABEL,
        "eptZe": f"{PATH_PREFIX}/",
        "fPDxwd": [97000001, 97000002],
        "fWyqL": False,
        "gGcLoe": True,
        "hsFLT": "%.@.null,1000,2]",
        "iCzhFc": False,
        "iQJtYd": "emulated-project-id",
        "k76Vlc": ["G-EMULATED00"],
        "mXaIFf": True,
        "nQyAE": {},
        "oPEP7c": account.email,
        "p9hQne": "https://www.gstatic.com/_/boq-labs-tailwind/_/r/",
        "qDCSke": account.user_id,
        "qwAQke": APP_NAME,
        "rtQCxc": 300,
        "u4g7r": "%.@.null,1,2]",
        "vJQk6": False,
        "wAdwcc": "https://docs.google.com/picker",
        "xnI9P": True,
        "xwAfE": True,
        "y2FhP": "prod",
        "yFnxrf": 1957,
        "zChJod": "%.@.]",
        "zgYTbd": False,
    }


PRIVATE_KEYS: Final = ("FdrFJe", "QrtxK", "S06Grb", "SNlM0e", "W3Yyqf", "WZsZ1e", "oPEP7c", "qDCSke")
"""What a signed-out app page does not have."""


def app_page(data: dict[str, Json], nonce: str, greeting: str) -> str:
    """Write the page around its data."""
    return (
        f'<!doctype html><html lang="en" dir="ltr"><head><base href="{BASE_HREF}">'
        f'<meta name="referrer" content="origin"><title>Notebooks (emulated)</title>'
        f'<script data-id="_gd" nonce="{nonce}">'
        f"window.WIZ_global_data = {result_text(data)};</script></head>"
        f"<body><main><h1>Emulated notebook service</h1><p>{html.escape(greeting)}</p></main></body></html>"
    )


def app_headers(nonce: str) -> list[tuple[str, str]]:
    """Return the headers of an app page; the two policies stand in two headers, as recorded."""
    return [
        ("content-type", "text/html; charset=utf-8"),
        ("content-security-policy", "require-trusted-types-for 'script'"),
        (
            "content-security-policy",
            f"script-src 'report-sample' 'nonce-{nonce}' 'unsafe-inline'; object-src 'none'; base-uri 'self'",
        ),
        ("cross-origin-opener-policy", "same-origin-allow-popups"),
        ("x-frame-options", "DENY"),
        ("cache-control", "no-cache, no-store, max-age=0, must-revalidate"),
        ("x-content-type-options", "nosniff"),
    ]


def sign_in_url(continue_url: str) -> str:
    """Return the address of the sign-in page that leads back to ``continue_url``."""
    return f"https://{SIGN_IN_HOST}/v3/signin/identifier?" + urlencode({"continue": continue_url})
