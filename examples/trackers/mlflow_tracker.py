"""Trials of a study in MLflow: one run for the study, one nested in it for each trial.

    pip install mlflow
    python mlflow_tracker.py quickstart runs/quickstart

MLflow writes to where MLFLOW_TRACKING_URI says.
"""

import sys

import mlflow

import archloom as al


def log_trial(trial: al.Trial) -> None:
    """Log the parameters and figures of a trial."""
    with mlflow.start_run(run_name=f"trial {trial.number}", nested=True):
        mlflow.log_params(dict(trial.point))
        mlflow.set_tag("state", trial.state)
        mlflow.log_metrics({name: float(value) for name, value in trial.values.items()})


def main(study: str, out: str) -> None:
    """Run a study with its trials in MLflow, and its front as a table beside them."""
    with mlflow.start_run(run_name=study):
        found = al.run_study(study, out, callbacks=[log_trial])
        mlflow.log_dict(found.front().to_dict(), "front.json")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
