"""Endpoints of tools: feedback, cubes, the sandbox, created files."""

from __future__ import annotations

from ..cubes.proposals import create
from ..cubes.trial import effect_report
from ..cubes.votes import vote
from ..feedback import list_feedback, submit_feedback
from ..files.files import create_file, erase_file
from ..memory.write.runs import execute
from ..protocol.cubes import CubeCreate, CubeCreated, CubeVote, CubeVoted
from ..protocol.errors import NotFound, Unauthorized
from ..protocol.execution import Executed, Execution
from ..protocol.experience import EffectQuery, EffectReport
from ..protocol.feedback import Feedback, FeedbackList, FeedbackQuery, FeedbackSaved
from ..protocol.files import CreatedFile, DownloadQuery, FileCreate
from ..protocol.forget import FileErased
from .downloads import download
from .endpoint import AnyEndpoint, Call, Endpoint, ThreadPool


def execute_code(call: Call[Execution]) -> Executed:
    """Run a program in the server's sandbox."""
    sandbox = call.dispatcher.sandbox.for_client(call.cancellation, call.caller.account_id)
    return execute(call.context, sandbox, call.caller, call.input, call.idempotency)


ROUTES: tuple[AnyEndpoint, ...] = (
    Endpoint(
        method="POST",
        path="/api/v7/feedback",
        operation_id="submit_feedback",
        summary="Submit feedback",
        description="Report a bug, an anomaly, an issue with a cube, an improvement or a security "
        "problem to the owner.",
        write=submit_feedback,
        body=Feedback,
        answer=FeedbackSaved,
        pool=ThreadPool.WRITE,
        rate_limit="feedback",
    ),
    Endpoint(
        method="GET",
        path="/api/v7/feedback",
        operation_id="list_feedback",
        summary="Read feedback",
        description="List all feedback, newest first, in pages. Owner only, with a key that is not "
        "pinned.",
        read=list_feedback,
        query=FeedbackQuery,
        answer=FeedbackList,
        errors=(NotFound,),
    ),
    Endpoint(
        method="POST",
        path="/api/v7/experience/create",
        operation_id="create_cube",
        summary="Save an experience cube",
        description="Store a private cube. The next relevant search of the account returns it.",
        write=create,
        body=CubeCreate,
        answer=CubeCreated,
        pool=ThreadPool.WRITE,
        errors=(NotFound,),
    ),
    Endpoint(
        method="POST",
        path="/api/v7/experience/vote",
        operation_id="vote_on_cube",
        summary="Vote on a cube",
        description="Rate a cube. Replaces an earlier rating by the user. An account counts once, "
        "by the majority of its users. Three accounts that agree make a published cube trusted or "
        "retired.",
        write=vote,
        body=CubeVote,
        answer=CubeVoted,
        pool=ThreadPool.WRITE,
        errors=(NotFound,),
    ),
    Endpoint(
        method="GET",
        path="/api/v7/experience/effect",
        operation_id="cube_effects",
        summary="Read what cubes changed",
        description="How turns of the account ended with each cube and without it. The field trial "
        "withholds cubes from a share of the searches at random, so the difference is their "
        "effect. The interval holds at every look.",
        read=effect_report,
        query=EffectQuery,
        answer=EffectReport,
    ),
    *(
        Endpoint(
            method="POST",
            path=path,
            operation_id=operation_id,
            summary="Run code in the sandbox",
            description=description,
            handle=execute_code,
            body=Execution,
            answer=Executed,
            pool=ThreadPool.RUN,
            rate_limit="sandbox",
            usage="run",
            takes_idempotency_key=True,
        )
        for path, operation_id, description in (
            (
                "/api/execute/code",
                "execute_code",
                (
                    "Run Python without network access, with no files but its own, and within time "
                    "and memory limits. numpy and matplotlib are available."
                ),
            ),
            (
                "/api/v7/execute/code",
                "execute_code_v7",
                "The same as `POST /api/execute/code`, under the prefix of the other paths.",
            ),
        )
    ),
    Endpoint(
        method="POST",
        path="/api/v7/tools/create-file",
        operation_id="make_file",
        summary="Create a file",
        description="Create a file for the account. Download it by the name in the response. "
        "Send binary types as base64; their content is checked.",
        write=create_file,
        body=FileCreate,
        answer=CreatedFile,
        pool=ThreadPool.FILES,
        body_bytes_max="file_bytes_max",
    ),
    Endpoint(
        method="GET",
        path="/download/{filename}",
        operation_id="download",
        summary="Download a file",
        description="Download a created file, always as an attachment. Needs a key of its "
        "account, or the `exp` and `sig` of a signed link that has not expired.",
        handle=download,
        query=DownloadQuery,
        media_type="*/*",
        needs_key=False,
        pool=ThreadPool.FILES,
        has_ranges=True,
        errors=(Unauthorized,),
    ),
    Endpoint(
        method="DELETE",
        path="/download/{filename}",
        operation_id="delete_file",
        summary="Erase a file",
        description="Erase a created file and release its share of the quota.",
        write=erase_file,
        answer=FileErased,
        pool=ThreadPool.FILES,
    ),
)
