"""`remembrancer install codex` with the real Codex: trust in hooks, and removal."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from agents.codex import Codex, trust_hooks
from agents.conftest import RunningService, new_home, program
from service import new_key

from remembrancer.install.agents import plan_changes
from remembrancer.install.codex_trust import untrusted_events
from remembrancer.install.config_files import InstallOptions, write

pytestmark = pytest.mark.agents

START_PACK = "# Constitution and protocol"


@pytest.fixture
def fresh(service: RunningService) -> Iterator[Codex]:
    """Codex with a key file and settings of its own."""
    with new_home() as home:
        codex = Codex(program("codex"), home, new_key(service.context, "setup"))
        (home / ".codex").mkdir()
        (home / ".codex" / "config.toml").write_text('# mine\npersonality = "none"', "utf-8")
        yield codex


def setup(codex: Codex, url: str, *, remove: bool = False) -> None:
    options = InstallOptions(home=codex.home, is_project=False, url=url, remove=remove)
    write(plan_changes("codex", options))


def test_untrusted_hooks_are_detected_as_codex_skips_them(
    service: RunningService, fresh: Codex
) -> None:
    setup(fresh, service.url)
    skipped = fresh.run("Hello?", ["Hello."], is_trusted=False)
    before = untrusted_events(fresh.home / ".codex")

    trust_hooks(fresh)
    run = fresh.run("Hello?", ["Hello."], is_trusted=False)
    after = untrusted_events(fresh.home / ".codex")

    assert START_PACK not in skipped.model_text()
    assert {"session_start", "pre_tool_use", "stop"} <= set(before)
    assert START_PACK in run.model_text()
    assert after == []


def test_setup_trust_use_and_removal_leave_the_files_as_they_were(
    service: RunningService, fresh: Codex
) -> None:
    config = fresh.home / ".codex" / "config.toml"
    before = config.read_text("utf-8")

    setup(fresh, service.url)
    trust_hooks(fresh)
    fresh.run("Hello?", ["Hello."], is_trusted=False)
    setup(fresh, service.url, remove=True)

    # Codex itself ends the last line of a file that it changes.
    assert config.read_text("utf-8").rstrip("\n") == before
    assert not (fresh.home / ".codex" / "hooks.json").exists()
