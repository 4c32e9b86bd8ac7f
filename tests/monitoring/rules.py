"""The shipped alert rules: as files, with values over them as the chart lays them, and on trial."""

import subprocess
from pathlib import Path

import yaml

from tests.monitoring.programs import program

FILES = Path(__file__).parents[2] / "deploy" / "helm" / "files"
ALERTS = FILES / "alerts.yaml"
OPTIONAL = FILES / "alerts-optional.yaml"
"""Off by default."""


def alerts(*files):
    """Every rule of some files, by its alert's name."""
    return {
        rule["alert"]: rule
        for file in files
        for group in yaml.safe_load(file.read_text())["groups"]
        for rule in group["rules"]
    }


def promtool(*arguments):
    """Run promtool; return (whether it is content, what it says)."""
    done = subprocess.run(
        [str(program("promtool")), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode == 0, done.stdout + done.stderr


def on_trial(folder, files, *trials):
    """Let promtool evaluate rules on made-up series.

    Args:
        folder: An empty one.
        files: Files of rules.
        trials: (series, expectations): series by name with their values as promtool writes them,
            one a minute; an expectation is (minute, alert, [(labels, annotations)]).
    """
    tests = [
        {
            "interval": "1m",
            "input_series": [{"series": name, "values": values} for name, values in series.items()],
            "alert_rule_test": [
                {
                    "eval_time": f"{minute}m",
                    "alertname": alert,
                    "exp_alerts": [
                        {"exp_labels": labels, "exp_annotations": annotations}
                        for labels, annotations in firing
                    ],
                }
                for minute, alert, firing in expectations
            ],
        }
        for series, expectations in trials
    ]
    trial = folder / "trial.yaml"
    trial.write_text(
        yaml.safe_dump(
            {
                "rule_files": [str(each) for each in files],
                "evaluation_interval": "1m",
                "tests": tests,
            }
        )
    )
    return promtool("test", "rules", trial)


def with_values(helm, folder, **values):
    """Write the rules as the chart renders them; return the file.

    Args:
        helm: Of tests.chart.
        folder: Where to.
        values: Of `prometheusRule`.
    """
    rendered = helm.render({"prometheusRule": {"enabled": True, **values}})
    path = folder / "rules.yaml"
    path.write_text(yaml.safe_dump(rendered["PrometheusRule", "gpu-triage"]["spec"]))
    return path
