"""Figures for papers and notebooks: each draws one fit into matplotlib Axes and returns them.

``fp.plot.residuals(fit)`` opens a figure of its own; ``fp.plot.residuals(fit, ax=axes)`` draws into
given Axes. The Axes are ordinary ones, so titles, limits and fonts can be changed after.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fitpipe.arrays import FloatArray
from fitpipe.errors import RecordError, require_extra
from fitpipe.records import Fit
from fitpipe.report.numbers import median, quantile
from fitpipe.report.series import Cover, cover, source_lengths, source_residual
from fitpipe.report.upright import upright_turn

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from mpl_toolkits.mplot3d import Axes3D

__all__ = ["bones", "coverage", "joint_residuals", "positions", "residuals", "skeleton"]

# Okabe-Ito: apart for colour-blind eyes too; lines and markers differ as well
COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_DASHES: Final = ("-", "--", ":", "-.", (0, (5, 5)), (0, (1, 3)))
_MARKERS: Final = ("o", "s", "^", "D", "v", "|")
_BESIDE: Final[dict[str, Any]] = {  # where no line can run through it
    "frameon": False,
    "loc": "upper left",
    "bbox_to_anchor": (1.0, 1.0),
    "fontsize": "small",
}
_COVER_COLOURS: Final = ("#EEEEEE", "#CC79A7", "#E69F00", "#63B3CC", "#16637F")


def residuals(fit: Fit, *, ax: Axes | None = None) -> Axes:
    """Distance of each source's observations to the fit over time, mean over joints.

    Parameters
    ----------
    fit : Fit
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib Axes
        One line per source; seconds against millimetres.

    Raises
    ------
    MissingExtraError
        matplotlib is not installed.
    """
    axes = ax or _new_axes("fp.plot.residuals", (8.0, 3.0))
    by_source = source_residual(fit)
    for s, source in enumerate(fit.sources):
        axes.plot(
            fit.time_s, 1e3 * by_source[:, s], color=COLOURS[s % 6], ls=_DASHES[s % 6], lw=1.2,
            marker=_MARKERS[s % 6] if fit.n_frames == 1 else None, label=source,
        )  # fmt: skip
    axes.set(xlabel="time (s)", ylabel="mean distance to the fit (mm)", title=fit.name)
    axes.set_ylim(bottom=0)
    axes.legend(**_BESIDE)
    return axes


def joint_residuals(fit: Fit, *, ax: Axes | None = None) -> Axes:
    """Distance of each source's observations to the fit by joint: median and 90th percentile.

    Parameters, and what is raised, as in `residuals`.

    Returns
    -------
    matplotlib Axes
        A group of bars per joint, the worst on top; whiskers end at the 90th percentile.
    """
    n_joints, n_sources = fit.skeleton.n_joints, len(fit.sources)
    axes = ax or _new_axes("fp.plot.joint_residuals", (6.0, 1.2 + 0.22 * n_joints))
    middle = _by_joint(fit, 0.5)
    high = _by_joint(fit, 0.9)
    worst = np.where(np.isnan(middle), -1.0, middle).max(axis=0)
    order = np.argsort(worst, kind="stable")
    height = 0.8 / n_sources
    for s, source in enumerate(fit.sources):
        y = np.arange(n_joints) + 0.4 - height * (s + 0.5)
        axes.barh(
            y, middle[s, order], height * 0.9, xerr=[0 * y, (high - middle)[s, order]],
            color=COLOURS[s % 6], ecolor=COLOURS[s % 6], capsize=1.5, label=source,
            error_kw={"lw": 0.9},
        )  # fmt: skip
    axes.set_yticks(np.arange(n_joints), [fit.skeleton.joints[j] for j in order])
    axes.set(xlabel="distance to the fit (mm), median to 90th percentile", title=fit.name)
    axes.legend(**_BESIDE)
    return axes


def coverage(fit: Fit, *, ax: Axes | None = None) -> Axes:
    """Which joints were seen when, by all sources, by some, or by none.

    Parameters, and what is raised, as in `residuals`.

    Returns
    -------
    matplotlib Axes
        A map, joints over time.
    """
    from_mpl = _matplotlib("fp.plot.coverage")
    axes = ax or _new_axes("fp.plot.coverage", (8.0, 1.2 + 0.2 * fit.skeleton.n_joints))
    codes = cover(fit)
    names = ["absent", "interpolated", "carried by bones", "seen by some", "seen by all"]
    is_there = [code for code in Cover if bool((codes == code).any())]
    colours = from_mpl.colors.ListedColormap(list(_COVER_COLOURS))
    n, start, end = fit.n_frames, float(fit.time_s[0]), float(fit.time_s[-1])
    half = 0.5 * (end - start) / (n - 1) if n > 1 else 0.5
    axes.imshow(
        codes.T, cmap=colours, vmin=-0.5, vmax=4.5, aspect="auto", interpolation="nearest",
        extent=(start - half, end + half, fit.skeleton.n_joints - 0.5, -0.5),
    )  # fmt: skip
    axes.set_yticks(np.arange(fit.skeleton.n_joints), fit.skeleton.joints)
    axes.set(xlabel="time (s)", title=fit.name)
    handles = [from_mpl.patches.Patch(color=_COVER_COLOURS[c], label=names[c]) for c in is_there]
    axes.legend(handles=handles, **_BESIDE)
    return axes


def bones(fit: Fit, *, ax: Axes | None = None) -> Axes:
    """Bone lengths with their intervals, beside what each source saw before the fit.

    Parameters, and what is raised, as in `residuals`.

    Returns
    -------
    matplotlib Axes
        Deviation from the fitted length: a grey bar for the 95 % interval; a marker and a line for
        the median and the quartiles of each source.
    """
    n_links, n_sources = fit.skeleton.n_links, len(fit.sources)
    axes = ax or _new_axes("fp.plot.bones", (6.5, 1.2 + 0.26 * n_links))
    lengths = fit.calibration.bone_lengths
    y = np.arange(n_links, dtype=np.float64)
    low, high = (1e3 * (end - lengths.length_m) for end in (lengths.low_m, lengths.high_m))
    axes.barh(y, high - low, 0.8, left=low, color="#BBBBBB", label="95 % interval")
    quartiles = source_lengths(fit)
    if quartiles is not None:
        off = 1e3 * (quartiles - lengths.length_m[:, None])
        for s, source in enumerate(fit.sources):
            lower, middle, upper = off[s].T
            axes.errorbar(
                middle, y + 0.6 * ((s + 1) / (n_sources + 1) - 0.5),
                xerr=[middle - lower, upper - middle], fmt=_MARKERS[s % 6], ms=4, lw=1,
                color=COLOURS[s % 6], label=source,
            )  # fmt: skip
    axes.axvline(0, color="#222222", lw=0.8)
    names = [
        f"{name}  {1e3 * length:.0f}"
        for name, length in zip(fit.skeleton.bone_names, lengths.length_m, strict=True)
    ]
    axes.set_yticks(y, names)
    axes.invert_yaxis()
    axes.set(xlabel="off the fitted length (mm)", ylabel="bone and its length (mm)", title=fit.name)
    axes.legend(**_BESIDE)
    return axes


def positions(fit: Fit, joint: str, *, ax: Axes | None = None) -> Axes:
    """One joint's x, y and z over time: the fit as lines, what the sources saw as points.

    Parameters
    ----------
    fit : Fit
    joint : str
        One of ``fit.skeleton.joints``.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    RecordError
        The skeleton has no such joint.
    MissingExtraError
        matplotlib is not installed.
    """
    j = fit.skeleton.joint_index(joint)
    axes = ax or _new_axes("fp.plot.positions", (8.0, 3.5))
    for i, axis in enumerate("xyz"):
        if fit.observation is not None:
            for s in range(len(fit.sources)):
                axes.plot(
                    fit.time_s, fit.observation[:, s, j, i], _MARKERS[s % 6], ms=2,
                    color=COLOURS[i], alpha=0.35,
                )  # fmt: skip
        axes.plot(fit.time_s, fit.position[:, j, i], color=COLOURS[i], lw=1.3, label=axis)
    axes.set(xlabel="time (s)", ylabel="position (m)", title=f"{fit.name}: {joint}")
    axes.legend(**_BESIDE)
    return axes


def skeleton(fit: Fit, frame: int, *, ax: Axes3D | None = None) -> Axes3D:
    """The fitted skeleton of one frame in space, with what the sources saw.

    Parameters
    ----------
    fit : Fit
    frame : int
        Counted from 0; negative from the end.
    ax : matplotlib Axes3D, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib Axes3D
        Standing upright; each axis is named for the fit's own, with − where it is reversed.

    Raises
    ------
    RecordError
        There is no such frame.
    MissingExtraError
        matplotlib is not installed.
    """
    if not -fit.n_frames <= frame < fit.n_frames:
        raise RecordError(f"fit {fit.name!r} has {fit.n_frames} frames, no frame {frame}")
    axes = ax or _new_axes("fp.plot.skeleton", (5.0, 5.5), projection="3d")
    # matplotlib's third axis points up: (z, x, y) of the upright body
    turn = np.roll(upright_turn(fit), 1, axis=0)
    placed = fit.position[frame] @ turn.T
    for a, b in fit.skeleton.links:
        axes.plot(*placed[[a, b]].T, color="#222222", lw=2)
    axes.plot(*placed.T, "o", color="#222222", ms=3)
    for s, source in enumerate(fit.sources):
        if fit.observation is not None:
            seen = fit.observation[frame, s].astype(np.float64) @ turn.T
            axes.plot(*seen.T, _MARKERS[s % 6], color=COLOURS[s % 6], ms=4, label=source)
    if fit.observation is not None:
        axes.legend(frameon=False, loc="upper left", fontsize="small")
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
        axis.get_major_locator().set_params(nbins=4)
    names = [f"{'−' if row.sum() < 0 else ''}{'xyz'[np.abs(row).argmax()]} (m)" for row in turn]
    axes.set(xlabel=names[0], ylabel=names[1], zlabel=names[2])
    axes.set_title(f"{fit.name}, {fit.time_s[frame]:.2f} s")
    limits = np.array([axes.get_xlim(), axes.get_ylim(), axes.get_zlim()])
    side = np.maximum(np.ptp(limits, axis=1), 0.35 * np.ptp(limits, axis=1).max())
    for place, middle, half in zip("xyz", limits.mean(axis=1), side / 2, strict=True):
        axes.set(**{f"{place}lim": (middle - half, middle + half)})
    axes.set_box_aspect(side, zoom=0.85)  # a metre is a metre on every axis
    return axes


def _by_joint(fit: Fit, share: float) -> FloatArray:
    """Quantile of the residual over time, (source, joint), millimetres."""
    of = median if share == 0.5 else lambda values: quantile(values, share)
    return 1e3 * np.array(
        [[of(column) for column in fit.residual[:, s].T] for s in range(len(fit.sources))]
    )


def _matplotlib(feature: str) -> Any:
    try:
        import matplotlib
        import matplotlib.colors
        import matplotlib.patches
        import matplotlib.pyplot
    except ImportError as error:
        raise require_extra(feature, "matplotlib", "report") from error
    return matplotlib


def _new_axes(feature: str, size: tuple[float, float], **options: Any) -> Any:
    figure: Figure = _matplotlib(feature).pyplot.figure(figsize=size, layout="constrained")
    return figure.add_subplot(**options)
