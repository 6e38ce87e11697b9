"""The front of a study: which designs are on it, how much it covers, which one to pick."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray


def non_dominated(values: ArrayLike) -> NDArray[np.bool_]:
    """Return which rows of ``values`` [n, m] no other row dominates; equal rows all stay.

    Every objective is minimised.
    """
    rows = _rows(values)
    if not len(rows):
        return np.zeros(0, dtype=np.bool_)
    import moocore

    return np.asarray(moocore.is_nondominated(rows, keep_weakly=True), dtype=np.bool_)


def dominated_by(front: ArrayLike, values: ArrayLike) -> NDArray[np.bool_]:
    """Return which rows of ``values`` [n, m] some row of ``front`` [k, m] is at least as good as,
    in every objective; equal rows count as dominated.
    """
    members, rows = np.asarray(front, np.float64), np.asarray(values, np.float64)
    dominated = np.zeros(len(rows), dtype=np.bool_)
    for member in members if len(rows) else ():
        dominated |= (member <= rows).all(axis=1)
    return dominated


def hypervolume(values: ArrayLike, reference: Sequence[float]) -> float:
    """Return the volume that the rows dominate below ``reference``, in decades cubed.

    The volume is measured between the base-10 logarithms, so that halving an objective is
    worth the same anywhere. A row that is not below the reference in every objective adds
    nothing. Volumes compare only under one reference: take the caps of the study where it has
    them, else a little above the worst value that any of the compared methods has seen.

    Raises:
        ValueError: a value that is not positive, or a reference of another length.
    """
    rows = _rows(values)
    corner = np.asarray(reference, dtype=np.float64)
    if len(rows) and rows.shape[1:] != corner.shape:
        raise ValueError(f"reference has {corner.size} values, the rows have {rows.shape[1]}")
    if (rows <= 0).any() or (corner <= 0).any():
        raise ValueError("hypervolume takes logarithms: values and reference must be positive")
    rows = rows[(rows < corner).all(axis=1)] if len(rows) else rows
    if not len(rows):
        return 0.0
    import moocore

    return float(moocore.hypervolume(np.log10(rows), ref=np.log10(corner)))


def hypervolume_after(values: ArrayLike, reference: Sequence[float]) -> list[float]:
    """Return the :func:`hypervolume` of the first row, of the first two, and so on to all rows.

    A volume is measured anew only where a row joins the front.
    """
    rows = _rows(values)
    front, volume, history = rows[:0], 0.0, []
    for row in rows:
        if not (front <= row).all(axis=1).any():
            front = np.concatenate([front[(front < row).any(axis=1)], row[None]])
            volume = hypervolume(front, reference)
        history.append(volume)
    return history


def nearest_to_ideal(values: ArrayLike) -> int:
    """Return the row that CASCO picks: the front member nearest to the ideal.

    Each objective of the front is scaled to [0, 1]; the ideal is the origin; the distance is
    Euclidean (CASCO, section IV). The scale is logarithmic, which is ours: an EDP spans decades,
    and on a linear scale one bad extreme of the front makes all other EDPs look alike. Rows off
    the front are never picked; the first of equals is.

    Raises:
        ValueError: no rows, or a value that is not positive.
    """
    scaled, on_front = scaled_logs(values)
    distance = np.where(on_front, np.linalg.norm(scaled, axis=1), np.inf)
    return int(np.argmin(distance))


def scaled_logs(values: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the logarithms of each objective scaled to [0, 1] over the front, and who is on it.

    Raises:
        ValueError: no rows, or a value that is not positive.
    """
    rows = _rows(values)
    if not len(rows):
        raise ValueError("a pick needs at least one row")
    if (rows <= 0).any():
        raise ValueError("a pick takes logarithms: values must be positive")
    on_front = non_dominated(rows)
    logs = np.log(rows)
    low = logs[on_front].min(axis=0)
    span = logs[on_front].max(axis=0) - low
    return (logs - low) / np.where(span > 0, span, 1.0), on_front


def _rows(values: ArrayLike) -> NDArray[np.float64]:
    rows = np.asarray(values, dtype=np.float64)
    if rows.size == 0:
        return rows.reshape(0, rows.shape[1] if rows.ndim == 2 else 0)
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise ValueError(f"need finite values [n, objectives], got shape {rows.shape}")
    return rows
