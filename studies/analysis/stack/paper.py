"""The thirteen observations of DLAS: what they say, where, and what the paper found.

Gibson et al., "DLAS: An Exploration and Assessment of the Deep Learning Acceleration Stack", ACM
TACO 2024. Its machines: an Intel i7 and a HiKey 970 as CPUs, the HiKey's GPU and an AGX Xavier.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Observation:
    """What the paper observed.

    Attributes:
        number: in roman numerals.
        section: that states it.
        statement: in short.
        theirs: what it rests on in the paper.
        beyond: what a study on the CPU of one machine cannot check; empty if nothing.
    """

    number: str
    section: str
    statement: str
    theirs: str
    beyond: str = ""


_GPU: Final = "cannot be checked: archloom has no GPU kernels"

OBSERVATIONS: Final = (
    Observation(
        "I",
        "6",
        "the number of MACs predicts neither accuracy nor time, and accuracy does not predict time",
        "the paper gives no correlation coefficient",
    ),
    Observation(
        "II",
        "6.1",
        "with tuning, weight-pruned models are faster than dense models on small images, but not "
        "on ImageNet",
        "CPUs, tuned: weight pruning is the fastest variant in 7 of 8 cases on CIFAR-10 (Table 3) "
        "and in 1 of 4 on ImageNet (Table 6)",
        "one study covers one kind of images; the other half needs a second study",
    ),
    Observation(
        "III",
        "6.2",
        "the size of a model does not predict its accuracy, but small models lose more accuracy "
        "when compressed",
        "CIFAR-10: 11.2 M parameters 94.3%, 14.7 M 92.9%, 2.3 M 93.2%, 3.2 M 91.3%; the two small "
        "models lose accuracy beyond 50% of channels, the large ones beyond 80% (Table 2)",
    ),
    Observation(
        "IV",
        "6.3",
        "weights can be pruned further than channels and give a larger speed-up, but a smaller "
        "fraction of the expected speed-up",
        "fraction of the expected speed-up on the two CPUs, CIFAR-10: weights 12% and 22% untuned, "
        "10% and 7% tuned; channels 78% and 84% untuned, 40% and 27% tuned (section 5.1)",
    ),
    Observation(
        "V",
        "6.3",
        "the speed-up of quantisation depends on the data type and on the machine",
        "float16 is slower on both CPUs and mostly faster on GPUs; int8 reaches 34% and 157% of 4x "
        "untuned, and is 2.0x slower tuned on the i7 (section 5.1)",
        "the dependence on the machine needs results from a second machine",
    ),
    Observation(
        "VI",
        "6.3.2",
        "float16 causes no significant accuracy loss, calibrated int8 causes some",
        "average loss in percentage points: float16 at most 0.03; int8 1.8 on CIFAR-10 (1.3 in "
        "Table 2) and 22.2 on ImageNet",
    ),
    Observation(
        "VII",
        "6.4",
        "for tuned dense models on CPUs, spatial pack is usually the fastest algorithm",
        "7 of 8 on CIFAR-10 (Table 3), 4 of 4 on ImageNet (Table 6)",
    ),
    Observation(
        "VIII",
        "6.4",
        "for tuned dense models on GPUs, direct convolution is usually the fastest algorithm",
        "7 of 8 on CIFAR-10 (Table 4)",
        _GPU,
    ),
    Observation(
        "IX",
        "6.4",
        "for weight-pruned models, GEMM is usually the fastest algorithm on CPUs, and direct "
        "convolution on GPUs",
        "CPUs: GEMM in 16 of 16 untuned cases and 0 of 12 tuned cases, where direct convolution is "
        "fastest (Tables 3 and 6)",
        f"the part about GPUs {_GPU}",
    ),
    Observation(
        "X",
        "6.4",
        "pruning seldom gives the speed-up that the saved MACs suggest",
        "fractions of the expected speed-up as in IV, all below 100% on average",
    ),
    Observation(
        "XI",
        "6.5",
        "tuning gives a large speed-up, and can change which algorithm or compression is fastest",
        "the fastest dense algorithm changes in 8 of 8 cases on the CPUs with CIFAR-10 (Table 3); "
        "no gain on the Xavier",
    ),
    Observation(
        "XII",
        "6.5",
        "pruned models gain less from tuning than dense models",
        "weight pruning reaches a smaller fraction of its expected speed-up when tuned: 10% "
        "instead of 12%, 7% instead of 22% (section 5.1)",
    ),
    Observation(
        "XIII",
        "6.6",
        "one of two CPUs, and one of two GPUs, is usually the faster one",
        "the i7 is faster than the HiKey's CPU, the Xavier faster than the HiKey's GPU",
        "needs results of the same study on a second machine",
    ),
)
