"""Settings: validation, and secrets that are never shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from remembrancer.settings import SettingInvalid, Settings, read


@pytest.mark.parametrize(("text", "number"), [("0", 0.0), ("0.7", 0.7), ("2", 2.0)])
def test_temperature_can_have_a_fraction(text: str, number: float) -> None:
    assert (
        read(
            {"REMEMBRANCER_MODEL_TEMPERATURE": text, "REMEMBRANCER_DATA": "/nowhere"}
        ).model_temperature
        == number
    )


@pytest.mark.parametrize("text", ["warm", "-0.1", "2.1", "nan", "inf", ""])
def test_invalid_temperature_is_rejected(text: str) -> None:
    with pytest.raises(SettingInvalid, match="model_temperature"):
        read({"REMEMBRANCER_MODEL_TEMPERATURE": text, "REMEMBRANCER_DATA": "/nowhere"})


@pytest.mark.parametrize("slot", ["chat", "repair_1", "repair_2", "repair_3", "summarize", "judge"])
def test_model_key_is_read_from_the_environment_and_never_shown(slot: str) -> None:
    settings = read(
        {f"REMEMBRANCER_MODEL_{slot.upper()}_KEY": "hunter22", "REMEMBRANCER_DATA": "/nowhere"}
    )

    assert getattr(settings, f"model_{slot}_key") == "hunter22"
    assert "hunter22" not in repr(settings)
    assert getattr(Settings(), f"model_{slot}") == ""


@pytest.mark.parametrize(
    ("store", "text"),
    [
        ("sqlite:/data/a:b@c", "sqlite:/data/a:b@c"),
        ("postgresql://ada@db/memory", "postgresql://ada@db/memory"),
        ("postgresql://ada:open:sesame@db:5432/memory", "postgresql://ada:…@db:5432/memory"),
        (
            "postgresql://db/memory?user=ada&password=sesame&sslmode=require",
            "postgresql://db/memory?user=ada&password=…&sslmode=require",
        ),
    ],
)
def test_store_url_is_shown_without_its_password(store: str, text: str) -> None:
    assert Settings(store=store).store_shown == text


@pytest.mark.parametrize("named_by", ["option", "environment", "file"])
def test_a_relative_data_folder_is_made_absolute(
    named_by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("settings.toml").write_text('data = "memory"', "utf-8")

    settings = {
        "option": lambda: read({}, data=Path("memory")),
        "environment": lambda: read({"REMEMBRANCER_DATA": "memory"}),
        "file": lambda: read({"REMEMBRANCER_CONFIG": "settings.toml"}),
    }[named_by]()

    assert settings.data == settings.data_folder == tmp_path / "memory"
