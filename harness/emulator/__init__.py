"""An emulator of the notebook service: TLS on a free port, five host names, its own state, faults on demand.

    async with serve() as emulator:
        ...  # emulator.address, emulator.spki_sha256_b64, emulator.cookies_for([0, 1]), emulator.control_url

It is held to recorded traffic by ``harness.shapes``, but every answer is made from its own state.
"""

from harness.emulator.hosts import DEFAULT_HOST, HOSTS, NOTEBOOK_HOSTS, SIGN_IN_HOST
from harness.emulator.seed import DEFAULT_ALLOWED, DEMO_NOTEBOOK_ID, DEMO_QUESTION, World, default_world
from harness.emulator.server import Emulator, serve
from harness.emulator.sign_in_site import PASSWORD

__all__ = [
    "DEFAULT_ALLOWED",
    "DEFAULT_HOST",
    "DEMO_NOTEBOOK_ID",
    "DEMO_QUESTION",
    "HOSTS",
    "NOTEBOOK_HOSTS",
    "PASSWORD",
    "SIGN_IN_HOST",
    "Emulator",
    "World",
    "default_world",
    "serve",
]
