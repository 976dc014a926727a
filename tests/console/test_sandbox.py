"""The sandbox page: the console's form for `POST /api/execute/code`."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from console.reader import Reader, words_of
from service import rows
from starlette.applications import Starlette
from waiting import wait_until

from remembrancer.console.sandbox import EXAMPLES
from remembrancer.context import Context
from remembrancer.server.app import make_app

PATH = "/console/sandbox"


def run(reader: Reader, code: str, mode: str = "fix", **more: str) -> str:
    """Run a program; return the page."""
    answer = reader.send(f"{PATH}/run", code=code, mode=mode, **more)
    assert answer.status_code == 200, answer.text
    return str(answer.text)


def test_failing_line_is_marked(owner: Reader) -> None:
    page = run(owner, "a = 1\n1 / 0\nb = 2\n", mode="run")

    assert "ZeroDivisionError in line 2" in words_of(page)
    assert '<span class="line here"><span class="number">2</span>1 / 0</span>' in page


def test_repair_is_shown_as_a_line_diff(owner: Reader) -> None:
    page = run(owner, EXAMPLES["broken"][1])

    assert (
        '<span class="removed">-def mean(values)</span><span class="added">+def '
        "mean(values):</span>"
    ) in page
    assert "fixed" in words_of(page)
    assert "4.25" in words_of(page)


def test_plot_is_shown_with_its_size_and_files_are_linked(owner: Reader) -> None:
    code = f"{EXAMPLES['plot'][1]}\nopen('notes.txt', 'w').write('x')\n"
    page = run(owner, code)
    [(source, width, height)] = re.findall(
        r'<img src="([^"]+)" alt="Plot: figure-1.png" width="(\d+)" height="(\d+)">', page
    )
    picture = owner.get(source)

    assert (picture.status_code, picture.headers["content-type"]) == (200, "image/png")
    assert (int(width), int(height)) == tuple(
        int.from_bytes(picture.content[at : at + 4], "big") for at in (16, 20)
    )
    assert re.search(r"notes\.txt</a>", page)


def test_run_with_a_session_is_stored_as_a_turn(owner: Reader, context: Context) -> None:
    page = run(owner, "print(1)", session_id="lab")

    assert "Stored as turn e_" in words_of(page)
    assert rows(context)["events"] == 1


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"code": "", "mode": "fix"}, "must not be blank"),
        ({"code": "a" * 200_001, "mode": "fix"}, "At most 200,000 characters."),
        ({"code": "1", "mode": "rm"}, "Must be one of 'fix', 'optimize' or 'all'."),
        ({"code": "1", "mode": "fix", "session_id": "s" * 300}, "At most 256 characters."),
        ({}, "must not be blank"),
    ],
    ids=["empty code", "long code", "unknown mode", "long session id", "empty form"],
)
def test_invalid_program_form_is_reported(
    owner: Reader, form: dict[str, str], message: str
) -> None:
    answer = owner.send(f"{PATH}/run", **form)

    assert (answer.status_code, message in words_of(answer.text)) == (422, True)


@pytest.mark.settings(rate_sandbox_per_minute=1, account_bytes_max=1)
def test_rate_and_quota_are_those_of_the_account(owner: Reader, ada: Reader) -> None:
    """The limits of `POST /api/execute/code` apply to the page, too; it keeps the program."""
    page = run(owner, "open('a.txt', 'w').write('x')")
    refused = owner.send(f"{PATH}/run", code="'my work'", mode="fix")

    quota = "a.txt was not saved: the files of this account have reached their quota"
    assert quota in words_of(page)
    assert refused.status_code == 429
    assert f"Try again in {refused.headers['retry-after']} seconds" in words_of(refused.text)
    assert "&#39;my work&#39;</textarea>" in refused.text
    run(ada, "1")


@pytest.mark.settings(
    sandbox_parallel=1, sandbox_queue_max=0, sandbox_seconds=2, rate_sandbox_per_minute=0
)
def test_full_queue_is_reported_and_keeps_the_program(owner: Reader, app: Starlette) -> None:
    """A full queue is reported, not waited for (specification.md#sandbox-queue)."""
    app.state.sandbox.start()
    with ThreadPoolExecutor(1) as pool:
        busy = pool.submit(app.state.sandbox.run, "while True: pass")
        wait_until(lambda: not app.state.sandbox.places.free or busy.done())
        refused = owner.send(f"{PATH}/run", code="'my work'", mode="fix")

    reason = "The sandbox is busy and its queue is full. Try again in 1 seconds."
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    assert reason in words_of(refused.text)
    assert "&#39;my work&#39;</textarea>" in refused.text


class TestUnavailable:
    """Without isolation nothing runs (specification.md#sandbox-unavailable)."""

    @pytest.fixture
    def app(self, context: Context) -> Starlette:
        """Return the application with a sandbox of its own, not started yet."""
        return make_app(context)

    def test_missing_isolation_is_reported(
        self, owner: Reader, monkeypatch: pytest.MonkeyPatch, context: Context
    ) -> None:
        monkeypatch.setattr("remembrancer.sandbox.sandbox.LADDER", ("ns",))
        monkeypatch.setattr(
            "remembrancer.sandbox.sandbox._VISIBLE_FOLDERS", (str(context.settings.data_folder),)
        )
        answer = owner.send(f"{PATH}/run", code="1", mode="fix")

        assert (answer.status_code, 'role="alert"' in answer.text) == (503, True)


@pytest.mark.parametrize("name", list(EXAMPLES))
def test_examples_are_linked_and_succeed(owner: Reader, name: str) -> None:
    page = owner.get(f"{PATH}?example={name}").text
    code = EXAMPLES[name][1]

    assert code.splitlines()[0] in page
    assert re.search(r">(ok|fixed)</span>", run(owner, code))
