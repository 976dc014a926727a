"""The key file of `remembrancer mcp` and `remembrancer chat` (docs/guides/keys.md)."""

from __future__ import annotations

from pathlib import Path

import pytest

from remembrancer.cli.commands import service_key
from remembrancer.settings import SettingInvalid


@pytest.fixture
def key_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of the key file; there is no key yet."""
    for name in ("REMEMBRANCER_KEY", "REMEMBRANCER_KEY_FILE", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    path = tmp_path / ".config" / "remembrancer" / "key"
    path.parent.mkdir(parents=True)
    return path


def write_key(path: Path, text: str, mode: int = 0o600) -> None:
    path.write_text(text, "utf-8")
    path.chmod(mode)


def test_the_nearest_key_is_read(
    key_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That of the login, then of the agent, of the file in a variable, and of the environment."""
    write_key(key_file, "sk_login\n")
    write_key(key_file.with_name("zed.key"), "sk_zed")
    write_key(tmp_path / "other", "sk_other")
    assert (service_key("zed"), service_key("codex")) == ("sk_zed", "sk_login")

    monkeypatch.setenv("REMEMBRANCER_KEY_FILE", str(tmp_path / "other"))
    assert service_key() == "sk_other"
    monkeypatch.setenv("REMEMBRANCER_KEY", "sk_environment")
    assert service_key() == "sk_environment"


def test_file_that_others_can_read_is_refused(key_file: Path) -> None:
    write_key(key_file, "sk_file", 0o640)

    with pytest.raises(SettingInvalid, match="chmod 600"):
        service_key()


@pytest.mark.parametrize("text", [None, "", "\n"])
def test_missing_key_says_where_to_write_it(key_file: Path, text: str | None) -> None:
    if text is not None:
        write_key(key_file, text)

    with pytest.raises(SettingInvalid, match=str(key_file)):
        service_key()
