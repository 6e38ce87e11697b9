"""Requests in ticks, as the kernel reads them, and what became of them."""

from typing import Final, NamedTuple

from archloom.evaluators import Ints

#: ticks that a request without a deadline may take
NO_DEADLINE: Final = 2**61


class Requests(NamedTuple):
    """Requests of all networks, those of a network one after another, in order of arrival.

    Attributes:
        first: int64[k + 1], where the requests of each network begin; the last is their number.
        arrival: int64[n], ticks. Of a closed loop the kernel writes all but the first batch.
        within: int64[n], ticks after its arrival until which a request is in time.
        batch: int64[k], how many requests of a closed loop come at once, as soon as all before them
            have ended; 0 for a network whose arrivals are given.
    """

    first: Ints
    arrival: Ints
    within: Ints
    batch: Ints


class Outcome(NamedTuple):
    """What became of each request, in the order of :class:`Requests`.

    Attributes:
        begun: int64[n], when it was taken up: its first byte is fetched from then on; of a request
            that was shed, when that was decided.
        ended: int64[n], when its last layer was done; of a request that was shed, the same as
            ``begun``.
        shed: int64[n], 1 if it was turned away, else 0.
    """

    begun: Ints
    ended: Ints
    shed: Ints


class Steps(NamedTuple):
    """The schedule that was made, one row a layer; empty arrays if nobody asks.

    Attributes:
        chain: int64[steps], whose next layer ran.
        release: int64[steps], tick before which none of its bytes was fetched.
    """

    chain: Ints
    release: Ints
