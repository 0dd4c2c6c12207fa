"""A throw-away certificate authority and one server certificate for all emulated hosts."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import trustme
from attrs import frozen
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from harness.emulator.hosts import HOSTS


@frozen
class Certificates:
    """Files in the folder that was given, and the pin that Chrome accepts instead of a trusted issuer."""

    ca_file: Path
    certificate_file: Path
    key_file: Path
    spki_sha256_b64: str
    """For ``--ignore-certificate-errors-spki-list``: the SHA-256 of the server's public key, as base64."""


def issue_certificates(folder: Path) -> Certificates:
    """Make the files; the private key is readable by this user only, because the folder is and the file is too."""
    authority = trustme.CA()
    server = authority.issue_cert(*HOSTS, "localhost", "127.0.0.1")
    ca_file, certificate_file, key_file = folder / "ca.pem", folder / "server.pem", folder / "server.key"
    authority.cert_pem.write_to_path(ca_file)
    certificate = server.cert_chain_pems[0].bytes()
    certificate_file.write_bytes(certificate)
    key_file.touch(mode=0o600)
    server.private_key_pem.write_to_path(key_file)
    public_key = x509.load_pem_x509_certificate(certificate).public_key()
    digest = hashlib.sha256(public_key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).digest()
    return Certificates(ca_file, certificate_file, key_file, base64.b64encode(digest).decode("ascii"))
