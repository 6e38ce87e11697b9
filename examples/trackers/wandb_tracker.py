"""Trials of a study in Weights & Biases: one run, a step for each trial, a table of all of them.

pip install wandb 'archloom[pandas]'
python wandb_tracker.py quickstart runs/quickstart
"""

import sys

import wandb

import archloom as al


def main(study: str, out: str) -> None:
    """Run a study with its trials in Weights & Biases."""
    with wandb.init(project="archloom", name=study) as run:

        def log_trial(trial: al.Trial) -> None:
            run.log({**trial.values, **trial.point, "state": trial.state}, step=trial.number)

        found = al.run_study(study, out, callbacks=[log_trial])
        run.log({"trials": wandb.Table(dataframe=found.to_pandas())})


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
