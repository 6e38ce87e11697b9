from archloom.space.networks.figures import catalogue, recorded_catalogue


def test_recorded_figures_are_those_of_the_networks_as_they_are_built() -> None:
    assert recorded_catalogue() == list(catalogue()), "record them anew"


def test_another_batch_is_built() -> None:
    one, four = recorded_catalogue()[0], next(catalogue(4))
    assert (four.name, four.params, four.macs) == (one.name, one.params, 4 * one.macs)
