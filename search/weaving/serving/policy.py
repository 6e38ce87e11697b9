"""How requests are served: the rule that chooses the next layer, slack, and admission."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np

from archloom.evaluators import Floats
from archloom.evaluators.weaving import Ticks
from archloom.space import did_you_mean, is_amount

from .facts import facts_of
from .kernel import AT_ARRIVAL, AT_START, NEVER, NO_WINDOW, Conduct
from .rules import EDF, EXACT_IDLE, FCFS, LAYERWEAVER, STRINGS, Facts

#: rules by name, in the order of tables
RULES: Final[Mapping[str, int]] = MappingProxyType(
    {
        "fcfs": FCFS,
        "edf": EDF,
        "layerweaver": LAYERWEAVER,
        "exact_idle": EXACT_IDLE,
        "strings": STRINGS,
    }
)

#: when requests are turned away, by name
SHED_AT: Final[Mapping[str, int]] = MappingProxyType({"start": AT_START, "arrival": AT_ARRIVAL})

_MOST: Final = 2**60


@dataclass(frozen=True)
class Policy:
    """How requests are served.

    Attributes:
        rule: who chooses the next layer: ``fcfs`` (the request that came first), ``edf`` (the
            earliest deadline), ``layerweaver`` (the paper's greedy, as printed), ``exact_idle``
            (the same, where only idle time that the choice adds counts) or ``strings``.
        slack_window: requests with less time to spare than this share of the longest isolated time
            go first, the least first; None if none does.
        shed: a request is turned away if its deadline is nearer than so many isolated times; None
            for never.
        shed_at: when that is looked at: at the ``start``, when it would be taken up, or at its
            ``arrival``, behind the requests of its network that wait.
        lead_target: of ``strings``, as a share of the weight buffer.

    Raises:
        ValueError: an unknown name, or a number out of range.
    """

    rule: str = "strings"
    slack_window: float | None = None
    shed: float | None = None
    shed_at: str = "start"
    lead_target: float = 0.5

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise ValueError(
                f"serving policy {self.rule!r} is not known; {did_you_mean(self.rule, RULES)}"
            )
        if self.shed_at not in SHED_AT:
            raise ValueError(
                f"requests are shed at their start or arrival, not {self.shed_at!r}; "
                f"{did_you_mean(self.shed_at, SHED_AT)}"
            )
        for name in ("slack_window", "shed", "lead_target"):
            value = getattr(self, name)
            most = 1.0 if name == "lead_target" else 1e6
            if value is not None and not is_amount(value, 0.0, most):
                raise ValueError(f"{name} must be a number from 0 up to {most:g}, got {value!r}")

    @property
    def text(self) -> str:
        """Its name in tables."""
        slack = "" if self.slack_window is None else f" + slack {self.slack_window:g}"
        shed = "" if self.shed is None else f" + shed {self.shed:g}"
        late = " at arrival" if self.shed is not None and self.shed_at == "arrival" else ""
        return f"{self.rule}{slack}{shed}{late}"

    def facts(self, work: Ticks) -> Facts:
        """Return what the rule knows of chains."""
        return facts_of(work, self.lead_target, self.rule == "exact_idle")

    def conduct(self, isolated: Floats, most: int, most_missed: int) -> Conduct:
        """Return it as the kernel reads it.

        Args:
            isolated: float64[k], isolated times in ticks.
            most: requests in all.
            most_missed: requests that may be missed or shed before serving ends early.
        """
        window = NO_WINDOW if self.slack_window is None else self.slack_window * isolated.max()
        margin = np.ceil((self.shed or 0.0) * isolated)
        return Conduct(
            RULES[self.rule],
            int(window),
            NEVER if self.shed is None else SHED_AT[self.shed_at],
            np.minimum(margin, _MOST).astype(np.int64),
            most_missed,
            most,
        )
