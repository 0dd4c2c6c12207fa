"""Hosts that only this machine or a private network can mean, in every notation."""

from __future__ import annotations

import ipaddress
import json
import subprocess
from ipaddress import IPv4Address, IPv6Address
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.host_ranges import BadHost, maybe_closed, plain_host

LOOPBACK = [
    "127.0.0.1",
    "127.0.0.1.",
    "127.1",
    "127.0.1",
    "2130706433",
    "0x7f000001",
    "0X7F.1",
    "0x7f.0x0.0x0.0x1",
    "017700000001",
    "0177.0.0.1",
    "00000000177.0.0.01",
    "127.255.255.254",
    "0",
    "0.0.0.0",
    "0x",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::FFFF:7f00:1]",
    "[64:ff9b::127.0.0.1]",
    "１２７.０.０.１",
    "127。0。0。1",
    "①②⑦.0.0.1",
    "127.0.0.1\u00ad",
    "12\u200b7.0.0.1",
    "localhost",
    "LOCALHOST",
    "localhost.",
    "ⓛocalhost",
    "local\u00adhost",
    "ｌｏｃａｌｈｏｓｔ",
    "a.localhost",
]
ELSEWHERE_CLOSED = [
    "10.0.0.1",
    "10.255.255.255",
    "0xa.1",
    "012.0.0.1",
    "010.0.0.1",  # 8.0.0.1 to browsers, 10.0.0.1 to others
    "100.64.0.1",
    "100.100.100.200",
    "168.63.129.16",
    "169.254.169.254",
    "0xA9FEA9FE",
    "2852039166",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.192",
    "192.168.1.1",
    "192.168.257",
    "198.18.0.1",
    "203.0.113.9",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "4294967295",
    "[fe80::1]",
    "[fc00::1]",
    "[fd00:ec2::254]",
    "[ff02::1]",
    "[::127.0.0.1]",
    "[::ffff:169.254.169.254]",
    "[64:ff9b:1::1]",
    "[100::1]",
    "[2001::1]",
    "[2001:db8::1]",
    "[2002:7f00:1::]",
    "[3fff::1]",
    "[fec0::1]",
    "printer.local",
    "PRINTER.LOCAL.",
    "metadata.google.internal",
    "metadata.goog",
    "nas.lan",
    "router.home.arpa",
    "wiki",
    "metadata",
]
PUBLIC = [
    "example.com",
    "example.com.",
    "youtube.com.evil.example",
    "bücher.example",
    "例え.テスト",
    "xn--bcher-kva.example",
    "localhost.example.com",
    "local.example",
    "notlocalhost.com",
    "mylocal.internal.example",
    "127.0.0.1.example.com",
    "8.8.8.8",
    "134744072",
    "100.63.255.255",
    "100.128.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.167.255.255",
    "169.253.255.255",
    "126.255.255.255",
    "128.0.0.0",
    "[2606:4700:4700::1111]",
    "[::ffff:8.8.8.8]",
    "[64:ff9b::8.8.8.8]",
]


@pytest.mark.parametrize("host", LOOPBACK)
def test_this_machine_is_recognised_in_every_notation(host: str) -> None:
    assert maybe_closed(host) in ("this machine", "a name of a local network")


@pytest.mark.parametrize("host", ELSEWHERE_CLOSED)
def test_private_link_local_metadata_and_reserved_hosts_are_closed(host: str) -> None:
    assert maybe_closed(host) is not None


@pytest.mark.parametrize("host", PUBLIC)
def test_public_hosts_are_open(host: str) -> None:
    assert maybe_closed(host) is None


@pytest.mark.parametrize(
    "host",
    [
        "1.2.3.4.5",
        "256.1.1.1",
        "1.1.1.256",
        "4294967296",
        "08.1.1.300",
        "example.0x7f",
        "example.1",
        "0" * 50 + "1",
        "a..example",
        ".example",
        "example..",
        "..",
        "",
        "\u00ad",
        "[::1",
        "[]",
        "[::1%eth0x]",
        "[1.2.3.4]",
        "[::１]",
        "[:::1]",
    ],
)
def test_what_no_reader_could_make_a_host_of_is_no_host(host: str) -> None:
    if host == "[::1%eth0x]":  # the address check refuses the percent sign before; here the zone names an interface
        assert maybe_closed(host) is not None
        return
    with pytest.raises(BadHost):
        maybe_closed(host)


def test_a_plain_host_is_what_every_reader_sees() -> None:
    assert plain_host("ＥＸＡＭＰＬＥ．ｃｏｍ．") == "example.com"
    assert plain_host("STRASSE.example") == "strasse.example"
    assert plain_host("E\u200dxample\ufe0f.com") == "example.com"


def notation(address: int, rng: Random) -> str:
    """One of the notations of the URL standard: one to four parts, each decimal, octal or hexadecimal."""
    count = rng.randint(1, 4)
    parts = [(address >> (24 - 8 * place)) & 0xFF for place in range(count - 1)]
    parts.append(address & (256 ** (5 - count) - 1))
    bases = (str, hex, lambda number: f"0{number:o}", lambda number: f"0X{number:08X}")
    return ".".join(rng.choice(bases)(part) for part in parts) + rng.choice(["", "", "."])


@given(address=st.integers(0, 2**32 - 1), rng=st.randoms(use_true_random=False))
def test_no_notation_hides_an_address_that_is_closed_in_plain_form(address: int, rng: Random) -> None:
    plain = maybe_closed(str(IPv4Address(address)))
    if plain is not None:
        assert maybe_closed(notation(address, rng)) is not None
        assert maybe_closed(f"[::ffff:{IPv4Address(address)}]") == plain
        assert maybe_closed(f"[{IPv6Address((0xFFFF << 32) + address).exploded}]") == plain


@given(address=st.integers(0, 2**32 - 1))
def test_whatever_python_calls_private_is_closed(address: int) -> None:
    """A second opinion; ours closes more."""
    ipv4 = IPv4Address(address)
    if ipv4.is_private or ipv4.is_multicast or ipv4.is_reserved:
        assert maybe_closed(str(ipv4)) is not None


@given(address=st.one_of(st.integers(0, 2**128 - 1), st.ip_addresses(v=6).map(int)))
def test_whatever_python_calls_no_global_ipv6_address_is_closed(address: int) -> None:
    ipv6 = ipaddress.IPv6Address(address)
    if ipv6.ipv4_mapped is None and not ipv6.is_global:
        assert maybe_closed(f"[{ipv6}]") is not None


@given(host=st.text(max_size=40))
def test_any_text_is_open_closed_or_no_host(host: str) -> None:
    assert is_open(host) in (True, False)


def is_open(host: str) -> bool:
    try:
        return maybe_closed(host) is None
    except BadHost:
        return False


def test_a_real_url_parser_never_sees_a_closed_address_where_we_see_an_open_one() -> None:
    """Node's `URL` is the URL standard: what it reads as an address is judged again in plain form."""
    rng = Random(77)
    digits = "0123456789０１２③xX.。aAfF\u00ad"
    hosts = [notation(rng.getrandbits(32) if rng.random() < 0.5 else 0x7F000001, rng) for _ in range(1500)]
    hosts += ["".join(rng.choices(digits, k=rng.randint(1, 14))) for _ in range(3000)]
    hosts += LOOPBACK + ELSEWHERE_CLOSED + PUBLIC
    script = """
        let text = ""; process.stdin.on("data", (data) => { text += data; }).on("end", () => {
            const read = (host) => URL.canParse(`http://${host}/`) ? new URL(`http://${host}/`).hostname : null;
            process.stdout.write(JSON.stringify(JSON.parse(text).map(read)));
        });"""
    run = subprocess.run(["node", "-e", script], input=json.dumps(hosts), capture_output=True, text=True, check=True)
    seen: list[str | None] = json.loads(run.stdout)
    addresses = 0
    for host, plain in zip(hosts, seen, strict=True):
        if plain is not None and is_ipv4(plain):
            addresses += 1
            assert is_open(plain) or not is_open(host), (host, plain)
    assert addresses > 1500


def is_ipv4(host: str) -> bool:
    try:
        IPv4Address(host)
    except ValueError:
        return False
    return True
