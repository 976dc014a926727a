"""The files in deploy/ match their schemas, each other and the service.

Nothing is downloaded or started.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from architecture.tree import ROOT, relative
from command import captured

from remembrancer.http.metrics import DUTIES, Metrics
from remembrancer.protocol.operations import OPERATIONS
from remembrancer.settings import read

DEPLOY = ROOT / "deploy"
SCHEMAS = Path(__file__).with_name("schemas")  # each names its source
MANIFESTS = sorted(
    path for path in (DEPLOY / "kubernetes").glob("*.yaml") if path.name != "kustomization.yaml"
)
CONTAINERFILE = (DEPLOY / "Containerfile").read_text("utf-8")
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
KUBERNETES = json.loads((SCHEMAS / "kubernetes-1.34.json").read_text("utf-8"))


def schema_errors(resource: dict[str, Any]) -> list[str]:
    """Return the errors that Kubernetes would report for a resource."""
    kind = KUBERNETES["kinds"].get(f"{resource.get('apiVersion')} {resource.get('kind')}")
    if kind is None:
        return ["it is not among the schemas here"]
    schema = {"$ref": kind, "$defs": KUBERNETES["$defs"]}
    return [
        f"{'/'.join(map(str, error.path))}: {error.message}"
        for error in jsonschema.Draft202012Validator(schema).iter_errors(resource)
    ]


@cache
def resources() -> dict[str, dict[str, Any]]:
    """Return every resource by kind."""
    return {
        resource["kind"]: resource
        for path in MANIFESTS
        for resource in yaml.safe_load_all(path.read_text("utf-8"))
    }


def container() -> dict[str, Any]:
    """Return the container of the server."""
    return dict(resources()["Deployment"]["spec"]["template"]["spec"]["containers"][0])


@pytest.mark.parametrize("path", MANIFESTS, ids=relative)
def test_manifests_match_the_kubernetes_schemas(path: Path) -> None:
    assert [
        error
        for resource in yaml.safe_load_all(path.read_text("utf-8"))
        for error in schema_errors(resource)
    ] == []


def test_compose_file_matches_the_compose_specification() -> None:
    schema = json.loads((SCHEMAS / "compose.json").read_text("utf-8"))
    validator = jsonschema.Draft7Validator(schema)

    assert [error.message for error in validator.iter_errors(COMPOSE)] == []


def test_probes_use_existing_endpoints() -> None:
    paths = {endpoint.path for endpoint in OPERATIONS}
    probe_paths = {
        container()[f"{which}Probe"]["httpGet"]["path"]
        for which in ("startup", "liveness", "readiness")
    }
    probe_paths |= {f"/{name}" for name in re.findall(r"8460/(\w+)", CONTAINERFILE)}

    assert probe_paths == {"/healthz", "/readyz"}
    assert probe_paths <= paths


def test_settings_are_valid() -> None:
    secret = resources()["Secret"]["stringData"]["settings.toml"]
    server = COMPOSE["services"]["server"]["environment"]
    variables = [
        *resources()["ConfigMap"]["data"].items(),
        *server.items(),
        ("REMEMBRANCER_STORE", re.findall(r'"(.*)"', secret)[0]),
    ]
    variables += re.findall(r"(REMEMBRANCER_\w+)=(\S+)", CONTAINERFILE)
    settings = {name: value for name, value in variables if name != "REMEMBRANCER_CONFIG"}

    assert read(settings | {"REMEMBRANCER_DATA": "none"}).store
    # The variables that Kubernetes derives from the Service would be read as settings.
    assert resources()["Deployment"]["spec"]["template"]["spec"]["enableServiceLinks"] is False


def test_server_is_unprivileged_and_writes_only_to_its_folders() -> None:
    pod = resources()["Deployment"]["spec"]["template"]["spec"]
    service = COMPOSE["services"]["server"]
    user = re.findall(r"^USER (\d+):", CONTAINERFILE, re.MULTILINE)

    assert user == [str(pod["securityContext"]["runAsUser"])]
    assert pod["securityContext"]["runAsNonRoot"]
    assert container()["securityContext"]["readOnlyRootFilesystem"]
    assert service["read_only"]
    mounts = [one for one in container()["volumeMounts"] if not one.get("readOnly")]
    assert {one["mountPath"] for one in mounts} == {"/data", "/tmp"}  # noqa: S108  in the container
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
    re.findall(r"awk '(.+)' requirements-dev.lock", CONTAINERFILE),
)
def test_image_installs_locked_packages_by_name(program: str) -> None:
    process = captured(["awk", program, "requirements-dev.lock"], cwd=ROOT, check=True)
    expected = re.findall(r"\((.+)\)==", program)[0].split("|")

    assert sorted(re.findall(r"^([a-z-]+)==", process.stdout, re.MULTILINE)) == sorted(expected)
    assert process.stdout.count("--hash=sha256:") >= len(expected)


MONITORING = DEPLOY / "monitoring"
DASHBOARD = json.loads((MONITORING / "grafana-dashboard.json").read_text("utf-8"))
ALERTS = yaml.safe_load((MONITORING / "alerts.yaml").read_text("utf-8"))
RULES = [rule for group in ALERTS["groups"] for rule in group["rules"]]
GUIDE = (ROOT / "docs/guides/monitor.md").read_text("utf-8")
ENDS = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_count", "_sum")}
_METRIC = re.compile(r"\bremembrancer_\w+")
_ROUTE = re.compile(r'route(=~?)"([^"]+)"')


def metric_names() -> set[str]:
    """Return the names of all series, as Prometheus stores them."""
    return {
        f"{family.name}{end}"
        for family in Metrics().families()
        for end in ENDS.get(family.type, ())
    }


def expressions() -> Iterator[tuple[str, str]]:
    """Yield where an expression stands, and the expression."""
    for panel in DASHBOARD["panels"]:
        yield from ((f"panel {panel['title']}", target["expr"]) for target in panel["targets"])
    for variable in DASHBOARD["templating"]["list"]:
        yield f"variable {variable['name']}", json.dumps(variable["query"])
    yield from ((f"alert {rule['alert']}", rule["expr"]) for rule in RULES)


@pytest.mark.parametrize(
    ("content", "schema"),
    [(DASHBOARD, "grafana-dashboard.json"), (ALERTS, "prometheus-rules.json")],
    ids=["dashboard", "alerts"],
)
def test_files_match_their_schemas(content: Any, schema: str) -> None:
    validator = jsonschema.Draft202012Validator(json.loads((SCHEMAS / schema).read_text("utf-8")))

    assert [error.message for error in validator.iter_errors(content)] == []


def test_every_metric_of_an_expression_exists() -> None:
    existing = metric_names()

    assert [
        (place, name)
        for place, expression in expressions()
        for name in _METRIC.findall(expression)
        if name not in existing
    ] == []


def test_every_route_and_label_of_an_expression_exists() -> None:
    paths = [endpoint.path for endpoint in OPERATIONS]
    for place, expression in expressions():
        for operator, route in _ROUTE.findall(expression):
            pattern = route if operator == "=~" else re.escape(route)
            assert any(re.fullmatch(pattern, path) for path in paths), (place, route)
        for labels in re.findall(r"by \(([^)]*)\)", expression):
            names = {name.strip() for name in labels.split(",")}
            assert names <= {
                *(
                    "instance",
                    "le",
                    "route",
                    "status",
                    "slot",
                    "model",
                    "outcome",
                    "kind",
                    "duty",
                    "state",
                ),
            }, place
    assert DUTIES  # the values of `duty`


def test_panels_without_a_sample_say_why() -> None:
    """Metrics of models and backups have no sample before the first one."""
    silent = ("remembrancer_model_", "remembrancer_backup_", "remembrancer_duties_")
    panels = [
        panel
        for panel in DASHBOARD["panels"]
        if any(name in target["expr"] for target in panel["targets"] for name in silent)
    ]

    assert len(panels) == 5
    assert all(panel["fieldConfig"]["defaults"]["noValue"] for panel in panels)


def test_guide_explains_every_alert() -> None:
    assert [rule["alert"] for rule in RULES if f"`{rule['alert']}`" not in GUIDE] == []
