"""What is in deploy/ fits the schemas of those who read it, each other, and the service.

Nothing is downloaded or started.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from architecture.tree import ROOT, relative

from remembrancer.http.routes import ROUTES
from remembrancer.settings import read

DEPLOY = ROOT / "deploy"
SCHEMAS = Path(__file__).with_name("schemas")  # each says where it is from
MANIFESTS = sorted(
    path for path in (DEPLOY / "kubernetes").glob("*.yaml") if path.name != "kustomization.yaml"
)
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
KUBERNETES = json.loads((SCHEMAS / "kubernetes-1.34.json").read_text("utf-8"))


def wrongs(thing: dict[str, Any]) -> list[str]:
    """What Kubernetes would say against a resource."""
    kind = KUBERNETES["kinds"].get(f"{thing.get('apiVersion')} {thing.get('kind')}")
    if kind is None:
        return [f"{thing.get('apiVersion')} {thing.get('kind')} is not among the schemas here"]
    schema = {"$ref": kind, "$defs": KUBERNETES["$defs"]}
    return [
        f"{'/'.join(map(str, error.path))}: {error.message}"
        for error in jsonschema.Draft202012Validator(schema).iter_errors(thing)
    ]


def resources() -> dict[str, dict[str, Any]]:
    """Every resource by its kind."""
    return {
        thing["kind"]: thing
        for path in MANIFESTS
        for thing in yaml.safe_load_all(path.read_text("utf-8"))
    }


def container() -> dict[str, Any]:
    """The server's, as Kubernetes runs it."""
    return dict(resources()["Deployment"]["spec"]["template"]["spec"]["containers"][0])


@pytest.mark.parametrize("path", MANIFESTS, ids=relative)
def test_a_manifest_fits_the_schemas_of_kubernetes(path: Path) -> None:
    assert [
        wrong for thing in yaml.safe_load_all(path.read_text("utf-8")) for wrong in wrongs(thing)
    ] == []


@pytest.mark.parametrize(
    "change",
    [
        {"spec": {"replicas": "two"}},
        {"spec": {"replica": 2}},
        {"kind": "Deploiment"},
        {"apiVersion": "extensions/v1beta1"},
    ],
)
def test_a_manifest_with_a_mistake_does_not(change: dict[str, Any]) -> None:
    assert wrongs({**resources()["Deployment"], **change}) != []


def test_the_compose_file_fits_the_compose_specification() -> None:
    schema = json.loads((SCHEMAS / "compose.json").read_text("utf-8"))
    validator = jsonschema.Draft7Validator(schema)

    assert [error.message for error in validator.iter_errors(COMPOSE)] == []
    assert list(validator.iter_errors({**COMPOSE, "servces": {}})) != []


def test_every_manifest_is_applied_but_the_example() -> None:
    named = yaml.safe_load((DEPLOY / "kubernetes/kustomization.yaml").read_text("utf-8"))[
        "resources"
    ]

    assert sorted(named) == [path.name for path in MANIFESTS if "example" not in path.name]


def test_selectors_find_the_pods_they_mean() -> None:
    found = resources()
    labels = found["Deployment"]["spec"]["template"]["metadata"]["labels"]
    selectors = [
        found["Deployment"]["spec"]["selector"]["matchLabels"],
        found["Service"]["spec"]["selector"],
        found["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
        found["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"],
    ]

    assert [selector for selector in selectors if selector != labels] == []
    assert (
        found["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]["name"]
        == found["Deployment"]["metadata"]["name"]
    )


def test_probes_ask_endpoints_that_there_are() -> None:
    paths = {endpoint.path for endpoint in ROUTES}
    probed = {
        container()[f"{which}Probe"]["httpGet"]["path"]
        for which in ("startup", "liveness", "readiness")
    }
    probed |= {
        f"/{name}"
        for name in re.findall(r"8460/(\w+)", (DEPLOY / "Containerfile").read_text("utf-8"))
    }

    assert probed == {"/healthz", "/readyz"}
    assert probed <= paths


def test_settings_are_such_as_the_service_takes() -> None:
    secret = resources()["Secret"]["stringData"]["settings.toml"]
    server = COMPOSE["services"]["server"]["environment"]
    said = [
        *resources()["ConfigMap"]["data"].items(),
        *server.items(),
        ("REMEMBRANCER_STORE", re.findall(r'"(.*)"', secret)[0]),
    ]
    said += re.findall(r"(REMEMBRANCER_\w+)=(\S+)", (DEPLOY / "Containerfile").read_text("utf-8"))

    assert read(
        {name: value for name, value in said if name != "REMEMBRANCER_CONFIG"}
        | {"REMEMBRANCER_DATA": "none"}
    ).store


def test_the_server_is_nobody_and_writes_nowhere_but_into_its_folders() -> None:
    pod, service = (
        resources()["Deployment"]["spec"]["template"]["spec"],
        COMPOSE["services"]["server"],
    )
    user = re.findall(r"^USER (\d+):", (DEPLOY / "Containerfile").read_text("utf-8"), re.MULTILINE)

    assert user == [str(pod["securityContext"]["runAsUser"])]
    assert pod["securityContext"]["runAsNonRoot"]
    assert container()["securityContext"]["readOnlyRootFilesystem"]
    assert service["read_only"]
    assert {
        mount["mountPath"] for mount in container()["volumeMounts"] if not mount.get("readOnly")
    } == {"/data", "/tmp"}  # noqa: S108  in the container
    assert container()["securityContext"]["capabilities"]["drop"] == service["cap_drop"] == ["ALL"]


def test_secrets_of_the_compose_file_stay_out_of_the_repository() -> None:
    files = [secret["file"] for secret in COMPOSE["secrets"].values()]

    assert {str(Path(file).parent) for file in files} == {"secrets"}
    assert "/deploy/secrets/" in (ROOT / ".gitignore").read_text("utf-8").splitlines()
    assert {
        name for service in COMPOSE["services"].values() for name in service.get("secrets", ())
    } == set(COMPOSE["secrets"])


@pytest.mark.parametrize(
    "program",
    re.findall(r"awk '(.+)' requirements-dev.lock", (DEPLOY / "Containerfile").read_text("utf-8")),
)
def test_the_image_takes_from_the_lock_every_package_that_it_names(program: str) -> None:
    done = subprocess.run(
        ["awk", program, "requirements-dev.lock"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    wanted = re.findall(r"\((.+)\)==", program)[0].split("|")

    assert sorted(re.findall(r"^([a-z-]+)==", done.stdout, re.MULTILINE)) == sorted(wanted)
    assert done.stdout.count("--hash=sha256:") >= len(wanted)
