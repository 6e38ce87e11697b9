from archloom.space.fusion.plan import FusionGroup, FusionPlan, Pin, layer_by_layer
from archloom.space.fusion.residency import ALONE, Residents, plan_residents
from archloom.space.workload.layer import Layer
from archloom.space.workload.network import INPUT, Network


def gemm(name: str, **more: object) -> Layer:
    return Layer(name, "gemm", n=2, k=4, c=4, **more)  # type: ignore[arg-type]


# a is read by b and by the sum at the end; c has the weights of b; b leaves the network too
NET = Network(
    "net",
    (gemm("a"), gemm("b"), gemm("c", weights_of="b"), Layer("d", "add", n=2, g=4, operands=2)),
    ((INPUT,), ("a",), ("b",), ("a", "c")),
    outputs=("b",),
)
MAP, WEIGHTS = 2 * 4, 16


def test_a_plan_without_pins_leaves_its_groups_alone() -> None:
    assert plan_residents(NET, layer_by_layer(NET)) == (ALONE,) * 4


def test_a_pinned_map_is_there_from_the_group_that_makes_it_to_that_of_its_reader() -> None:
    groups = (FusionGroup((0,), pins=(Pin(0, 3),)), *(FusionGroup((i,)) for i in (1, 2, 3)))
    held = Residents((0,), (), (), MAP)
    assert plan_residents(NET, FusionPlan(groups)) == (Residents((), (0,), (0,), MAP), *[held] * 3)


def test_a_map_is_written_if_a_later_layer_reads_it_or_it_leaves_the_network() -> None:
    early = FusionPlan(
        (
            FusionGroup((0,), pins=(Pin(0, 1),)),
            FusionGroup((1,), pins=(Pin(1, 2),)),
            FusionGroup((2, 3)),
        )
    )
    assert plan_residents(NET, early) == (
        Residents((), (0,), (), MAP),
        Residents((0,), (1,), (), 2 * MAP),
        Residents((1,), (), (), MAP),
    )


def test_steady_weights_take_room_in_every_group_and_shared_ones_take_it_once() -> None:
    groups = tuple(FusionGroup((i,), steady=(i,) if i in (1, 2) else ()) for i in range(4))
    assert plan_residents(NET, FusionPlan(groups)) == (Residents((), (), (), WEIGHTS),) * 4
