"""Commands that work on a study, say how far it is, and print its front.

``cli.py`` declares the options of run, resume and pareto; ``study_file.py`` reads what they name,
and ``run.py`` does them, in a process that ``supervised.py`` watches; ``telling.py`` has it heard
in logs, and in figures for Prometheus (``metrics.py``). ``summary.py`` is what is printed at the
end, ``status.py`` before it, ``pareto.py`` the front, ``show.py`` one trial; ``reporting.py``
writes its page, or serves it; ``copying.py`` copies, :mod:`.export` writes all trials for other
programs.
:mod:`.stack` does all of that for studies of kind stack.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .cli import (
        PARETO_EXAMPLES as PARETO_EXAMPLES,
        RESUME_EXAMPLES as RESUME_EXAMPLES,
        RUN_EXAMPLES as RUN_EXAMPLES,
        pareto_ as pareto_,
        resume_ as resume_,
        run_ as run_,
    )
    from .copying import COPY_EXAMPLES as COPY_EXAMPLES, copy as copy
    from .pareto import front_json as front_json
    from .reporting import REPORT_EXAMPLES as REPORT_EXAMPLES, report as report
    from .run import (
        carry_out as carry_out,
        ready as ready,
        ready_again as ready_again,
        stored as stored,
    )
    from .show import show_trial as show_trial
    from .status import show_status as show_status
    from .study_file import Overrides as Overrides, read_study as read_study
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
