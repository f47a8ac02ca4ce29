"""``fitpipe simulate``: takes with known truth, to try settings on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fitpipe.cli.options import Settings

if TYPE_CHECKING:
    from fitpipe.simulate import Motion

_FIT_SUFFIXES = (".h5", ".hdf5", ".nc")


def simulate(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the files.")],
    motion: Annotated[
        str | None,
        typer.Option(help="walk, reach, still, punch, or a fit's .h5 file. Default: walk."),
    ] = None,
    seconds: Annotated[float | None, typer.Option(help="Length. Default: 10.")] = None,
    sensors: Annotated[int | None, typer.Option(help="How many sensors. Default: 2.")] = None,
    rate_hz: Annotated[float | None, typer.Option(help="Their rate. Default: 30.")] = None,
    clock_offset_s: Annotated[
        float | None, typer.Option(help="Each clock against that of the sensor before. Default: 0.")
    ] = None,
    clock_drift_ppm: Annotated[
        float | None, typer.Option(help="The same for its drift. Default: 0.")
    ] = None,
    outliers: Annotated[
        float | None, typer.Option(help="Share of samples displaced. Default: 0.002.")
    ] = None,
    dropouts: Annotated[
        float | None, typer.Option(help="Share of visible samples missing. Default: 0.005.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Same seed, same take. Default: 1.")] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the take. Default: that of the motion.")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(help="TOML file with the tables [motion], [sensors], [noise]."),
    ] = None,
    settings: Settings = None,
) -> None:
    """Simulate one take: a CSV file per sensor, and the truth beside them.

    The default sensors err as two Kinects were measured to. Options go over --set, --set over the
    --config file; truth/NAME_config.toml holds all settings, and makes the same take again.
    """
    from fitpipe.cli.settings import parse_settings
    from fitpipe.config import SimulateConfig, config_text, make_config, with_settings
    from fitpipe.config.toml import read_toml
    from fitpipe.errors import OutputError
    from fitpipe.output import check_writable, write_atomically
    from fitpipe.simulate import simulate as make
    from fitpipe.simulate import simulated_files

    given: dict[str, Any] = {
        "motion.name": motion,
        "motion.seconds": seconds,
        "sensors.count": sensors,
        "sensors.rate_hz": rate_hz,
        "sensors.clock_offset_s": clock_offset_s,
        "sensors.clock_drift_ppm": clock_drift_ppm,
        "noise.outlier_share": outliers,
        "noise.dropout_share": dropouts,
        "seed": seed,
    }
    table = with_settings(read_toml(config) if config else {}, parse_settings(settings))
    table = with_settings(table, {key: value for key, value in given.items() if value is not None})
    resolved = make_config(SimulateConfig, table, path=config)
    check_writable(output)
    path = Path(resolved.motion.name)
    is_file = path.suffix.lower() in _FIT_SUFFIXES
    made = make(resolved, motion=_motion(path) if is_file else None)
    take = name or path.stem
    files = simulated_files(take, made)
    settings_file = f"truth/{take}_config.toml"
    taken = [file for file in files if (output / file).exists()]
    if taken and not (output / settings_file).exists():  # a simulated take has its settings
        raise OutputError(
            f"has files of that name that no simulation made: {', '.join(taken)}",
            path=output,
            hint="choose another folder, or another --name",
        )
    files[settings_file] = config_text(resolved)
    for file, text in files.items():
        write_atomically(output / file, text.encode())
    counts: dict[str, int] = {}
    for event in made.events:
        counts[event.kind] = counts.get(event.kind, 0) + 1
    for sensor in made.takes:
        print(
            f"{output / f'{take}_{sensor.source}.csv'}: {sensor.n_frames} frames, "
            f"{sensor.rate_hz:.4g} Hz, {1 - sensor.is_observed.mean():.1%} missing"
        )
    print(f"{output / 'truth'}: joints, sources, bones, settings, and what went wrong:")
    print("  " + (", ".join(f"{n} x {kind}" for kind, n in counts.items()) or "nothing"))


def _motion(path: Path) -> Motion:
    """The skeletons of a fit as a motion; every joint must be in every frame."""
    import numpy as np

    from fitpipe.errors import InputError
    from fitpipe.output import load_fit
    from fitpipe.simulate import Motion

    fit = load_fit(path)
    absent = np.isnan(fit.position[..., 0])
    if absent.any():
        joints = np.array(fit.skeleton.joints)[absent.any(axis=0)]
        raise InputError(
            f"{int(absent.any(axis=1).sum())} of {fit.n_frames} frames lack joints "
            f"({', '.join(joints)}), so nothing says where these would be seen",
            path=path,
            hint="give a fit in which every joint is in every frame",
        )
    return Motion(fit.position, fit.time_s, fit.skeleton)
