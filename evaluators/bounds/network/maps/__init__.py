"""Maps between layers that cost any plan something: because a core needs them whole
(``gathered.py``), or because the buffer does not hold them (``crossings.py``,
``crossing_kernel.py``).
"""
