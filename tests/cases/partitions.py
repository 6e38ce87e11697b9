"""Random and regular cuts of a map into rectangles, as tests use them."""

from archloom.space.fusion.irregular_tiles import TileRect


def guillotine(rng, rows, columns, row=0, column=0):
    """Cut a box in two, again and again, at random places; in random order."""
    if rng.random() < 0.25 or rows * columns == 1:
        return [TileRect(row, column, rows, columns)]
    if columns == 1 or (rows > 1 and rng.random() < 0.5):
        at = int(rng.integers(1, rows))
        parts = [(at, columns, row, column), (rows - at, columns, row + at, column)]
    else:
        at = int(rng.integers(1, columns))
        parts = [(rows, at, row, column), (rows, columns - at, row, column + at)]
    if rng.random() < 0.5:
        parts.reverse()
    return [face for part in parts for face in guillotine(rng, *part)]


def regular(size, tile):
    """Return the tiles of a grid (the remainder last) as rectangles."""
    (rows, columns), (height, width) = size, tile
    return tuple(
        TileRect(i, j, min(height, rows - i), min(width, columns - j))
        for i in range(0, rows, height)
        for j in range(0, columns, width)
    )
