"""Settings that hold for every test."""

import os

from hypothesis import HealthCheck, settings

# Tests run side by side, and a pool of threads in each of them makes all of them slower. The
# libraries read these when they are first imported, which no import above does.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

# The same examples on every machine, and no verdict that depends on how busy it is.
settings.register_profile(
    "archloom", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("archloom")
