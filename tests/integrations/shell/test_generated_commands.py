"""Generated shell commands, run in bash: every file that they write is announced by the hook."""

from __future__ import annotations

import base64
import os
import random
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from hook_paths import Location, accessed_paths
from shell import locations

COMMANDS = 120
DEPTH_MAX = 3


def spelled(path: str, rng: random.Random, project: str) -> tuple[str, str]:
    """Return a preparing command and a word that expands to the path."""
    folder, _, name = path.rpartition("/")
    encoded = base64.b64encode(path.encode()).decode()
    return rng.choice(
        [
            ("", path),
            ("", "".join(rng.choice([c, f"\\{c}", f'"{c}"', f"'{c}'"]) for c in path)),
            ("", "$'" + "".join(rng.choice([c, f"\\x{ord(c):02x}"]) for c in path) + "'"),
            ("", f"{folder}/.//{name}"),
            ("", f"{folder}/../{folder.rpartition('/')[2]}/{name}"),
            ("", f"$(echo {path})"),
            ("", f'"$(printf %s/%s {folder} {name})"'),
            ("", f'"$(echo {encoded} | base64 -d)"'),
            ("", f'"$(rev <<< {path[::-1]})"'),
            ("", os.path.relpath(path, project)),
            ("", "${NOT_SET:-" + path + "}"),
            (f"list=(x {path}); ", '"${list[1]}"'),
            (f"value={path}.bak; ", '"${value%.bak}"'),
            (f"place={folder}; ", f'"$place/{name}"'),
            (f"text={folder}/here; ", '"${text/here/' + name + '}"'),
        ]
    )


def writer(path: str, rng: random.Random, project: str) -> str:
    """Return a command that writes the path."""
    preparation, word = spelled(path, rng, project)
    folder, _, name = path.rpartition("/")
    return preparation + rng.choice(
        [
            f"echo x > {word}",
            f"echo x | tee {word} > /dev/null",
            f"cp source {word}",
            f"dd if=source of={word} 2> /dev/null",
            f"cat > {word} <<EOF\nhello > nothing\nEOF",
            f"cat <<'EOF' > {word}\n$(x\nEOF",
            f"exec 7> {word}; echo x >&7; exec 7>&-",
            f"{{ echo a; echo b; }} > {word}",
            f"echo x &> {word}",
            f"sort -o {word} source",
            f"awk -v f={word} 'BEGIN {{ print 1 > f }}'",
            f'for f in {word}; do echo x > "$f"; done',
            f"echo {word} | xargs touch",
            f'while read -r f; do echo y > "$f"; done <<< {word}',
            f"cd {folder} && echo x > {name}; cd - > /dev/null",
            f"ln -s {folder} link && echo x > link/{name}; rm -f link",
        ]
    )


def nested(command: str, rng: random.Random, depth: int) -> str:
    """Return a command that runs another one within some construct of the shell."""
    if not depth:
        return command
    inner = nested(command, rng, depth - 1)
    quoted, number = shlex.quote(inner), rng.randrange(10**6)
    encoded = base64.b64encode(inner.encode()).decode()
    return rng.choice(
        [
            f"bash -c {quoted}",
            f"eval {quoted}",
            f"({inner}\n)",
            f"f{number}() {{ {inner}\n}}; f{number}",
            f"if true; then {inner}\nfi",
            f"false || {{ {inner}\n}}",
            f"for i in 1; do {inner}\ndone",
            f"case x in y) ;; *) {inner}\n;; esac",
            f"x{number}=$({inner}\n)",
            f"bash <<'END{number}'\n{inner}\nEND{number}",
            f"echo {quoted} | bash",
            f"echo {encoded} | base64 -d | bash",
            f"cat <<'END{number}' > /dev/null\n'\"`$(\nEND{number}\n{inner}",
            f"source <(echo {quoted})",
            f"bash -c 'eval \"$1\"' _ {quoted}",
            f"s{number}={quoted} bash -c 'eval \"$s{number}\"'",
            f"find . -maxdepth 0 -exec bash -c {quoted} \\;",
            f"echo {quoted} > run.sh; bash run.sh",
            f"while :; do {inner}\nbreak; done",
            f"xargs -0 bash -c < <(printf %s {quoted})",
        ]
    )


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A project, and a folder that plays the system folder: bash can write there."""
    monkeypatch.setattr(locations, "WRITE", [str(tmp_path / "system")])
    monkeypatch.setattr(locations, "FREE", ["/dev/null"])
    monkeypatch.delenv("TMPDIR", raising=False)  # what it names is free, too
    return tmp_path / "project", tmp_path / "system"


@pytest.mark.skipif(not shutil.which("bash"), reason="the commands run in bash")
def test_every_file_that_a_command_writes_is_announced(folders: tuple[Path, Path]) -> None:
    """Each system path in a command is checked (specification.md#turn-system-files)."""
    project, system = folders
    rng = random.Random(7)
    location = Location(str(project), [str(project)], "/Users/ada")
    written, missed = 0, []
    for _ in range(COMMANDS):
        for folder in (project, system):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        (project / "source").write_text("a\n")
        path = str(system / rng.choice(["motd", "a.conf"]))
        command = nested(writer(path, rng, str(project)), rng, rng.randrange(DEPTH_MAX + 1))
        subprocess.run(["bash", "-c", command], cwd=project, capture_output=True, check=False)
        if any(system.iterdir()):
            written += 1
            if (path, "write") not in accessed_paths("Bash", {"command": command}, location):
                missed.append(command)

    assert missed == []
    assert written > COMMANDS * 0.9


def test_commands_that_write_into_the_project_are_not_held(folders: tuple[Path, Path]) -> None:
    project, system = folders
    (project / "conf").mkdir(parents=True)
    system.mkdir()
    rng = random.Random(8)
    location = Location(str(project), [str(project)], "/Users/ada")
    commands = [
        nested(
            writer(str(project / "conf" / "a"), rng, str(project)), rng, rng.randrange(DEPTH_MAX)
        )
        for _ in range(COMMANDS)
    ]

    assert [
        command for command in commands if accessed_paths("Bash", {"command": command}, location)
    ] == []
