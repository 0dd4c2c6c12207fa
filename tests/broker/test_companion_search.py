from pathlib import Path

import trio

from broker.companion_choice import Verdict
from broker.companion_search import Search
from broker.fake_host import open_fake_host
from broker.link import UNNAMED
from tests.broker.relay_helpers import ACCOUNT, rpc


async def test_findings_stand_in_the_order_of_the_paths_and_one_link_is_kept(
    tmp_path: Path, nursery: trio.Nursery
) -> None:
    paths = [tmp_path / name for name in ("gone", "other", "ours", "twin")]
    async with (
        open_fake_host(paths[1], account="grace@example.com", profile="p1") as other,
        open_fake_host(paths[2], profile="p2"),
        open_fake_host(paths[3], profile="p3") as twin,
    ):
        found = await Search(nursery, ACCOUNT, UNNAMED).look(paths, None)
        assert [finding.verdict for finding in found.findings] == [
            Verdict.NO_HOST,
            Verdict.OTHER_ACCOUNT,
            Verdict.MATCH,
            Verdict.MATCH,
        ]
        assert [finding.socket_path for finding in found.findings] == paths
        assert found.link is not None
        assert found.link.welcome is not None
        assert found.link.welcome.extension is not None
        assert found.link.welcome.extension.profile == "p2"
        for host in (other, twin):
            await host.connections[0].ended.wait()
        await rpc(found.link)


async def test_the_profile_of_before_is_preferred(tmp_path: Path, nursery: trio.Nursery) -> None:
    paths = [tmp_path / "a", tmp_path / "b"]
    async with open_fake_host(paths[0], profile="p1"), open_fake_host(paths[1], profile="p2"):
        found = await Search(nursery, ACCOUNT, UNNAMED).look(paths, "p2")
        assert found.link is not None
        assert found.link.welcome is not None
        assert found.link.welcome.extension is not None
        assert found.link.welcome.extension.profile == "p2"


async def test_no_sockets_are_no_findings(nursery: trio.Nursery) -> None:
    found = await Search(nursery, ACCOUNT, UNNAMED).look([], None)
    assert (found.findings, found.link) == ((), None)
