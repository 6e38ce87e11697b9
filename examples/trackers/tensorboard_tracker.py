"""Trials of a study in TensorBoard: figures against the number of the trial.

pip install tensorboard
python tensorboard_tracker.py quickstart runs/quickstart
tensorboard --logdir runs/quickstart-tensorboard
"""

import sys
from pathlib import Path

from torch.utils.tensorboard import SummaryWriter

import archloom as al


def main(study: str, out: str) -> None:
    """Run a study with its trials in TensorBoard."""
    # the study makes its directory itself, and takes none with other files
    with SummaryWriter(str(Path(out).with_name(f"{Path(out).name}-tensorboard"))) as writer:

        def log_trial(trial: al.Trial) -> None:
            for name, value in trial.values.items():
                writer.add_scalar(name, value, trial.number)
            writer.add_text("state", trial.state, trial.number)
            writer.flush()

        found = al.run_study(study, out, callbacks=[log_trial])
        writer.add_scalar("designs on the front", len(found.front()), len(found.trials))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
