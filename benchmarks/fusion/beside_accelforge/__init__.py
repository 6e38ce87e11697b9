"""Archloom and AccelForge on the same fused products: one description of designs and of cases.

``cascade.py`` has products by their ranks, as a network and as AccelForge's workload;
``design.py`` a design, as hardware and as AccelForge's architecture; ``cases.py`` which products
run where. ``mapper_run.py`` runs in an interpreter that has AccelForge, ``translation.py`` puts
what it counted in Archloom's price, ``nest.py`` its loops in a nest, and ``runs.py`` runs both
sides.
"""
