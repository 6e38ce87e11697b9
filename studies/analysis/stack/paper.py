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
        beyond: what no study of one machine's CPU tells of it, and what would; empty if nothing.
    """

    number: str
    section: str
    statement: str
    theirs: str
    beyond: str = ""


_GPU: Final = "needs kernels on a GPU, which there are none of"

OBSERVATIONS: Final = (
    Observation(
        "I",
        "6",
        "MACs say little of accuracy and of time, and accuracy little of time",
        "no coefficient is given",
    ),
    Observation(
        "II",
        "6.1",
        "tuned models with pruned weights beat dense ones on small images, not on ImageNet",
        "CPUs, tuned: pruned weights are the fastest of all for 7 of 8 on CIFAR-10 (Table 3), for "
        "1 of 4 on ImageNet (Table 6)",
        "the other half needs a study of models on the other kind of images",
    ),
    Observation(
        "III",
        "6.2",
        "a model's size says little of its accuracy, but small models lose more when compressed",
        "CIFAR-10: 11.2 M parameters 94.3%, 14.7 M 92.9%, 2.3 M 93.2%, 3.2 M 91.3%; the two small "
        "models lose accuracy beyond 50% of channels, the large ones beyond 80% (Table 2)",
    ),
    Observation(
        "IV",
        "6.3",
        "weights are pruned further than channels and gain more time, but a smaller share of what "
        "they should",
        "share of the expected speed-up on the two CPUs, CIFAR-10: weights 12% and 22% untuned, "
        "10% and 7% tuned; channels 78% and 84%, 40% and 27% (section 5.1)",
    ),
    Observation(
        "V",
        "6.3",
        "what a narrower type gains in time depends on the type and on the machine",
        "float16 is slower on both CPUs and mostly faster on GPUs; int8 reaches 34% and 157% of 4x "
        "untuned, and is 2.0x slower tuned on the i7 (section 5.1)",
        "that it depends on the machine needs results of a second machine",
    ),
    Observation(
        "VI",
        "6.3.2",
        "float16 costs no accuracy to speak of, calibrated int8 some",
        "float16 at most 0.03 points; int8 1.8 on CIFAR-10 (1.3 by Table 2), 22.2 on ImageNet on "
        "average",
    ),
    Observation(
        "VII",
        "6.4",
        "tuned and dense, spatial pack is mostly the fastest algorithm on CPUs",
        "7 of 8 on CIFAR-10 (Table 3), 4 of 4 on ImageNet (Table 6)",
    ),
    Observation(
        "VIII",
        "6.4",
        "tuned and dense, direct convolution is mostly the fastest algorithm on GPUs",
        "7 of 8 on CIFAR-10 (Table 4)",
        _GPU,
    ),
    Observation(
        "IX",
        "6.4",
        "with pruned weights, GEMM is mostly the fastest algorithm on CPUs, direct convolution on "
        "GPUs",
        "CPUs: untuned 16 of 16, tuned 0 of 12, where direct is (Tables 3 and 6)",
        f"the half on GPUs {_GPU}",
    ),
    Observation(
        "X",
        "6.4",
        "pruning seldom gains as much time as it saves MACs",
        "shares of the expected speed-up as in IV, all below 100% on average",
    ),
    Observation(
        "XI",
        "6.5",
        "tuning gains much time, and can change which algorithm or compression is fastest",
        "the fastest dense algorithm changes for 8 of 8 on CIFAR-10's CPUs (Table 3); no gain on "
        "the Xavier",
    ),
    Observation(
        "XII",
        "6.5",
        "pruned models gain less from tuning than dense ones",
        "tuned, weights get a smaller share of their expected speed-up than untuned: 10% after "
        "12%, 7% after 22% (section 5.1)",
    ),
    Observation(
        "XIII",
        "6.6",
        "one CPU, and one GPU, is mostly faster than the other",
        "the i7 than the HiKey's CPU, the Xavier than the HiKey's GPU",
        "needs results of a second machine, of the same study file",
    ),
)
