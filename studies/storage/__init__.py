"""A study's directory: journal, trials, certificate; the only memory of a study.

``store.py`` lists the files and is what writes to them; ``journal.py`` survives a kill at any
instant, ``history.py`` replays it; ``header.py`` is what a study is, ``records.py`` reads its
results, ``trial.py`` is the record of a finished trial.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .event_log import (
        EventLog as EventLog,
        heard as heard,
        tell as tell,
    )
    from .header import (
        LATER as LATER,
        STUDY as STUDY,
        Header as Header,
        read_header as read_header,
    )
    from .history import (
        History as History,
        TaskResult as TaskResult,
        decode as decode,
        encode as encode,
    )
    from .journal import Event as Event, read_events as read_events
    from .live import (
        end_live as end_live,
        read_live as read_live,
        works_on as works_on,
        write_live as write_live,
    )
    from .networks import kept_workloads as kept_workloads, stored_networks as stored_networks
    from .records import (
        read_baseline as read_baseline,
        read_certificate as read_certificate,
        read_trials as read_trials,
        read_validation as read_validation,
        write_whole as write_whole,
    )
    from .store import JOURNAL as JOURNAL, Store as Store
    from .trial import (
        BASELINE as BASELINE,
        NOTHING_FOUND as NOTHING_FOUND,
        Crash as Crash,
        HeldOutTrial as HeldOutTrial,
        Lost as Lost,
        Trial as Trial,
        TrialState as TrialState,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
