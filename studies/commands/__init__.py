"""One module or package for each command of the command line.

``cli.py`` of :mod:`archloom.studies` declares the options and calls the functions here, which load
what they need.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .evaluate import Files as Files, evaluate_files as evaluate_files
    from .hardware import show_hardware as show_hardware
    from .networks import show_network as show_network, show_networks as show_networks
    from .options import (
        NETWORK_SETTINGS as NETWORK_SETTINGS,
        App as App,
        Argument as Argument,
        AsJson as AsJson,
        Exit as Exit,
        HardwareSettings as HardwareSettings,
        Option as Option,
        Out as Out,
        Pick as Pick,
        Study as Study,
        Technology as Technology,
        WordBits as WordBits,
        echo as echo,
    )
    from .technology import (
        show_technologies as show_technologies,
        show_technology as show_technology,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
