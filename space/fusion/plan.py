"""Fusion plan: how a network is cut into groups that run fused, and when such a plan is valid."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from archloom.space.workload import Network, connected

from .folding import Computation, computation_of, computations
from .irregular_tiles import TileRect, bad_cuts
from .loop_nest import LoopNest
from .running_order import group_order
from .sub_batches import divisors

HaloPolicy = Literal["recompute", "keep_inner", "keep_all"]


@dataclass(frozen=True, slots=True)
class Pin:
    """A feature map that stays whole in the buffer from the group that makes it to a later group.

    Readers up to the group of ``reader``, that group included, find it there. It goes to DRAM
    only if a later layer reads it, or if it leaves the network.

    Attributes:
        layer: position of the layer that makes it.
        reader: position of a layer that reads it, in a later group.
    """

    layer: int
    reader: int


@dataclass(frozen=True, slots=True)
class FusionGroup:
    """Layers that run depth-first, tile by tile of the group's anchor feature map.

    Attributes:
        layers: positions in the network, ascending.
        tile: rows and columns of one tile of the anchor map (the largest map that leaves the
            group and that no member reads); None for the whole map.
        halo: what happens to rows and columns that neighbouring tiles share: computed again,
            kept along columns, or all kept.
        resident: layers whose weights stay in the buffer for the whole group.
        faces: rectangles that cut the anchor map instead of ``tile``, in running order; halos
            are computed again.
        pins: results that stay in the buffer for later groups, by ascending layers.
        steady: layers whose weights are in the buffer before the pass begins and never leave it.
            They come from no DRAM, and take room in every group of the plan.
        nest: loops around all layers, in the place of tiles of the anchor.
        sub_batches: parts of the batch, of equal size. The whole plan runs once for each, so all
            its groups have the same number, and feature maps are held for one part at a time.
        loaded_once: layers whose weights the first part of the batch brings into the buffer, where
            they stay for the others. They take room in every group of the plan.
    """

    layers: tuple[int, ...]
    tile: tuple[int, int] | None = None
    halo: HaloPolicy = "recompute"
    resident: tuple[int, ...] = ()
    faces: tuple[TileRect, ...] = ()
    pins: tuple[Pin, ...] = ()
    steady: tuple[int, ...] = ()
    nest: LoopNest | None = None
    sub_batches: int = 1
    loaded_once: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.layers or tuple(sorted(set(self.layers))) != self.layers:
            raise ValueError(f"layers of a group must ascend and not repeat, got {self.layers}")
        if not set(self.resident) <= set(self.layers):
            raise ValueError(f"resident layers {self.resident} are not all in {self.layers}")
        self._check_pins()
        if self.tile is not None and min(self.tile) < 1:
            raise ValueError(f"tile {self.tile} must be at least 1x1")
        if self.halo not in get_args(HaloPolicy):
            raise ValueError(f"halo {self.halo!r} must be one of {', '.join(get_args(HaloPolicy))}")
        if self.faces and (self.tile is not None or self.halo != "recompute"):
            raise ValueError("faces exclude a tile, and need halo: recompute")
        if self.nest and (self.faces or self.tile or self.resident or self.halo != "recompute"):
            raise ValueError("a loop nest excludes tile, faces, halo and resident weights")
        if self.sub_batches < 1:
            raise ValueError(f"sub_batches is {self.sub_batches}, must be at least 1")
        self._check_loaded_once()

    def _check_pins(self) -> None:
        pinned = tuple(pin.layer for pin in self.pins)
        if tuple(sorted(set(pinned) & set(self.layers))) != pinned:
            raise ValueError(
                f"pinned layers must ascend, not repeat and be in {self.layers}, got {pinned}"
            )
        fixed = tuple(sorted(set(self.steady) & set(self.layers)))
        if fixed != self.steady:
            raise ValueError(
                f"steady layers must ascend, not repeat and be in {self.layers}, got {self.steady}"
            )
        if set(self.steady) & set(self.resident):
            raise ValueError(
                f"weights of a layer are resident or steady, got {self.resident} and {self.steady}"
            )

    def _check_loaded_once(self) -> None:
        found = self.loaded_once
        if tuple(sorted(set(found) & set(self.layers))) != found:
            raise ValueError(
                f"layers loaded once must ascend, not repeat and be in {self.layers}, got {found}"
            )
        if set(found) & set(self.steady):
            raise ValueError(
                f"weights of a layer are steady or loaded once, got {self.steady} and {found}"
            )
        if found and (self.resident or self.tile or self.faces or self.nest):
            raise ValueError(
                "weights are loaded once in groups that stream only: leave out tile, faces, nest "
                "and resident weights"
            )

    @property
    def staying(self) -> tuple[int, ...]:
        """Layers whose weights are there for later parts of the batch, or later passes."""
        return tuple(sorted((*self.steady, *self.loaded_once)))

    @property
    def one_part(self) -> "FusionGroup":
        """What runs on one part of the batch, once all weights that stay are there."""
        return replace(self, sub_batches=1, steady=self.staying, loaded_once=())

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; :meth:`from_dict` is the inverse.

        Faces, pins, steady weights and sub-batches are named only where there are any.
        """
        data: dict[str, Any] = {
            "layers": list(self.layers),
            "tile": list(self.tile) if self.tile else None,
            "halo": self.halo,
            "resident": list(self.resident),
        }
        if self.faces:
            data["faces"] = [face.to_list() for face in self.faces]
        if self.pins:
            data["pins"] = [[pin.layer, pin.reader] for pin in self.pins]
        if self.steady:
            data["steady"] = list(self.steady)
        if self.nest:
            data["nest"] = self.nest.to_dict()
        if self.sub_batches > 1:
            data["sub_batches"] = self.sub_batches
        if self.loaded_once:
            data["loaded_once"] = list(self.loaded_once)
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "FusionGroup":
        """Build a group from :meth:`to_dict`."""
        tile = (data["tile"][0], data["tile"][1]) if data["tile"] else None
        faces = tuple(TileRect(*face) for face in data.get("faces", ()))
        pins = tuple(Pin(layer, reader) for layer, reader in data.get("pins", ()))
        return cls(
            tuple(data["layers"]),
            tile,
            data["halo"],
            tuple(data["resident"]),
            faces,
            pins,
            tuple(data.get("steady", ())),
            LoopNest.from_dict(data["nest"]) if "nest" in data else None,
            data.get("sub_batches", 1),
            tuple(data.get("loaded_once", ())),
        )


@dataclass(frozen=True, slots=True)
class FusionPlan:
    """Groups in the order in which they run."""

    groups: tuple[FusionGroup, ...]

    @property
    def sub_batches(self) -> int:
        """How many parts of the batch run one after another, each through the whole plan."""
        return self.groups[0].sub_batches if self.groups else 1

    def to_list(self) -> list[dict[str, Any]]:
        """Return plain JSON values; :meth:`from_list` is the inverse."""
        return [g.to_dict() for g in self.groups]

    @classmethod
    def from_list(cls, data: list[dict[str, Any]]) -> "FusionPlan":
        """Build a plan from :meth:`to_list`."""
        return cls(tuple(FusionGroup.from_dict(g) for g in data))


def layer_by_layer(network: Network) -> FusionPlan:
    """Return the plan that fuses nothing: a group for each computation, most of one layer."""
    return FusionPlan(tuple(FusionGroup(one.layers) for one in computations(network)))


def folded_of(network: Network, group: FusionGroup) -> Computation | None:
    """Return the computation that a group of a plan is; None if nothing is folded in it."""
    plain = replace(group, tile=None, halo="recompute", resident=(), faces=(), nest=None)
    return computation_of(network).get(group.layers) if group == plain else None


def plan_violations(network: Network, plan: FusionPlan) -> list[str]:
    """Return every rule that the plan breaks, with layer names; empty if it is valid.

    Rules (CASCO section II-B): each layer is in exactly one group, the members of a group
    share data, no path leaves a group and re-enters it, and groups run after what they read.
    A pinned feature map is read in a later group by the layer that its pin names; steady layers
    have weights, and layers that share weights are steady together; so are those whose weights are
    loaded once. All groups have the same sub-batches, into which the batch divides.
    Faces, where a group has any, cut its anchor map exactly.
    """
    names = [layer.name for layer in network.layers]
    count = [0] * len(names)
    broken: list[str] = []
    for group in plan.groups:
        for i in group.layers:
            if i >= len(names):
                return [f"layer {i} is not in {network.name}, which has {len(names)} layers"]
            count[i] += 1
    broken += [
        f"{name} is in {n} groups, must be in one"
        for name, n in zip(names, count, strict=True)
        if n != 1
    ]
    if broken:
        return broken
    members = [g.layers for g in plan.groups]
    broken += [
        f"group {', '.join(names[i] for i in group)}: its layers share no data; split the group"
        for group in members
        if not connected(network, group)
    ]
    if group_order(network, members) is None:
        broken.append("cyclic_groups: some groups need each other's results; split one of them")
        return broken
    position = {i: g for g, group in enumerate(members) for i in group}
    broken += [
        f"{names[i]} runs before {names[p]}, which it reads"
        for i in range(len(names))
        for p in network.producers[i]
        if position[p] > position[i]
    ]
    cuts = (bad_cuts(network, g.layers, g.faces) for g in plan.groups if g.faces)
    broken += [str(wrong) for wrong in cuts if wrong is not None]
    broken += _wrong_pins(network, plan, position)
    return [*broken, *_wrong_staying(network, plan), *_wrong_sub_batches(network, plan)]


def _wrong_pins(network: Network, plan: FusionPlan, position: dict[int, int]) -> Iterator[str]:
    names = [layer.name for layer in network.layers]
    for pin in (pin for group in plan.groups for pin in group.pins):
        if pin.reader not in network.consumers[pin.layer]:
            reader = names[pin.reader] if pin.reader in position else f"layer {pin.reader}"
            readers = ", ".join(names[c] for c in network.consumers[pin.layer]) or "none"
            yield f"{names[pin.layer]} is pinned for {reader}, must be for a reader: {readers}"
        elif position[pin.reader] <= position[pin.layer]:
            yield (
                f"{names[pin.layer]} is pinned for {names[pin.reader]} of the same or an earlier "
                "group, must be for a reader of a later one"
            )


def _wrong_staying(network: Network, plan: FusionPlan) -> Iterator[str]:
    names = [layer.name for layer in network.layers]
    for word, there in (
        ("steady", {i for group in plan.groups for i in group.steady}),
        ("loaded once", {i for group in plan.groups for i in group.loaded_once}),
    ):
        owners = {network.weight_owner(i): i for i in sorted(there, reverse=True)}
        for i, layer in enumerate(network.layers):
            if i in there and not layer.weight_words:
                yield f"{layer.name} is {word} and has no weights"
            elif i not in there and layer.weight_words and network.weight_owner(i) in owners:
                other = names[owners[network.weight_owner(i)]]
                yield (
                    f"{layer.name} shares the weights of {other}, which is {word}: "
                    f"must be {word} too"
                )


def _wrong_sub_batches(network: Network, plan: FusionPlan) -> Iterator[str]:
    names = [layer.name for layer in network.layers]
    counts = {group.sub_batches for group in plan.groups}
    if len(counts) > 1:
        found = ", ".join(map(str, sorted(counts)))
        yield f"sub_batches must be the same in all groups, got {found}"
    elif network.batch % plan.sub_batches:
        known = ", ".join(map(str, divisors(network.batch)))
        yield (
            f"sub_batches is {plan.sub_batches}, must divide the batch of {network.batch} images: "
            f"{known}"
        )
    for group in plan.groups:
        together = computation_of(network).get(group.layers)
        if group.loaded_once and len(group.layers) > 1 and together is None:
            yield (
                f"group {', '.join(names[i] for i in group.layers)}: weights are loaded once in "
                "groups that stream only; leave out loaded_once"
            )
