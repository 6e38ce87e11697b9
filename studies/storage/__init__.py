"""Storage of a study: journal, trials, certificate, in a directory or a database.

``parts.py`` lists the parts, :mod:`.directory` and :mod:`.database` keep them, ``store.py`` writes
to them; ``journal.py`` survives a kill at any instant, ``history.py`` replays it; ``header.py`` is
what a study is, ``records.py`` reads its results, ``trial.py`` is the record of a
finished trial; ``event_log.py`` tells logs what happens.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .copying import copy_study as copy_study
    from .directory.files import write_whole as write_whole
    from .directory.lock import lock as lock
    from .directory.places import check_file as check_file, check_folder as check_folder
    from .event_log import (
        EventLog as EventLog,
        heard as heard,
        tell as tell,
    )
    from .header import (
        LATER as LATER,
        Header as Header,
        read_header as read_header,
    )
    from .history import (
        Asked as Asked,
        History as History,
        TaskResult as TaskResult,
        decode as decode,
        encode as encode,
    )
    from .journal import Event as Event, Journal as Journal
    from .networks import (
        kept_workloads as kept_workloads,
        stored_networks as stored_networks,
        template_file as template_file,
    )
    from .parts import STACK as STACK, START as START, STUDY as STUDY, TRIALS as TRIALS
    from .reading import (
        bring_up_to_date as bring_up_to_date,
        is_stack as is_stack,
        journal_size as journal_size,
        names_in as names_in,
        read_holder as read_holder,
        read_journal as read_journal,
        read_live as read_live,
        read_part as read_part,
        results_digest as results_digest,
    )
    from .records import (
        published_trial as published_trial,
        read_baseline as read_baseline,
        read_certificate as read_certificate,
        read_trials as read_trials,
        read_validation as read_validation,
    )
    from .store import Store as Store, check_place as check_place
    from .trial import (
        BASELINE as BASELINE,
        NOTHING_FOUND as NOTHING_FOUND,
        Crash as Crash,
        HeldOutTrial as HeldOutTrial,
        Lost as Lost,
        OverLimit as OverLimit,
        TradeOff as TradeOff,
        Trial as Trial,
        TrialState as TrialState,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
