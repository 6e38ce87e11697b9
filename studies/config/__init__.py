"""Study files: types, limits, defaults, and all mistakes at once.

``study_config.py`` is the file as a whole; each other module reads one section of it.
Sections about searches are in ``software/``, objectives and limits in ``objectives/``.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .errors import (
        ConfigError as ConfigError,
        EntryError as EntryError,
        collecting as collecting,
        entry_error as entry_error,
        file_text as file_text,
        kind_of as kind_of,
        read_document as read_document,
        study_document as study_document,
    )
    from .hardware_reference import (
        ChosenHardware as ChosenHardware,
        HardwareVariants as HardwareVariants,
        Wording as Wording,
        baseline_hardware as baseline_hardware,
        find_hardware as find_hardware,
    )
    from .location import (
        NAME_FORM as NAME_FORM,
        STUDY_NAME as STUDY_NAME,
        Database as Database,
        Location as Location,
        SharedStudy as SharedStudy,
        argument as argument,
        file_of as file_of,
        location_of as location_of,
        named as named,
    )
    from .methods import METHODS as METHODS, with_method as with_method
    from .objectives import stored_objective_set as stored_objective_set
    from .objectives.entries import (
        held_out_objectives as held_out_objectives,
        other_objectives as other_objectives,
    )
    from .sections import (
        Key as Key,
        Reading as Reading,
        Section as Section,
        each as each,
        named_one as named_one,
        number as number,
        section as section,
        text as text,
        whole as whole,
        word as word,
    )
    from .selection import PICKED as PICKED, pick_rule as pick_rule, stored_pick as stored_pick
    from .software.component_choice import (
        CHOICE as CHOICE,
        Choice as Choice,
        choice_form as choice_form,
        complete as complete,
        option_problems as option_problems,
    )
    from .software.mapping_constraints import (
        CONSTRAINTS as CONSTRAINTS,
        read_constraints_file as read_constraints_file,
    )
    from .space_reference import HOST as HOST, space_text as space_text
    from .start_from import StartSource as StartSource
    from .study_config import (
        ExecutorChoice as ExecutorChoice,
        StudyConfig as StudyConfig,
        config_of as config_of,
        load_config as load_config,
        parse_stored as parse_stored,
    )
    from .workload_reference import (
        absolute as absolute,
        is_file as is_file,
        normal as normal,
        path_of as path_of,
        shown as shown,
    )
    from .workloads import (
        NETWORK as NETWORK,
        Workload as Workload,
        WorkloadOptions as WorkloadOptions,
        find_network as find_network,
        form_choices as form_choices,
        load_workload as load_workload,
        load_workloads as load_workloads,
        without_forms as without_forms,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
