"""The dashboard and the alert rules match their schemas, and name only metrics that exist."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
import yaml
from architecture.test_deploy import DEPLOY, SCHEMAS
from architecture.tree import ROOT

from remembrancer.http.metrics import DUTIES, Metrics
from remembrancer.protocol.operations import OPERATIONS

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
