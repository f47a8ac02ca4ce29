from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fitpipe.errors import InputError
from fitpipe.io import read_take, read_takes
from fitpipe.io.columns import understand

from .take_files import LABELS, wide_csv


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "spelling",
    ["{label}_{axis}", "{label}.{axis}", "{label}:{axis}", "{label} {axis}", "{label} ({axis})",
     "{label}({axis})", "{axis}_{label}", "{label}_{axis}_m", "{label}_{axis} [m]",
     "{label}_{axis}(m)", "Subject:{label}_{axis}"],
)  # fmt: skip
def test_column_spellings(tmp_path: Path, walk_m: np.ndarray, spelling: str) -> None:
    take = read_take(write(tmp_path / "walk.csv", wide_csv(walk_m, spelling=spelling)))
    assert tuple(label.removeprefix("Subject:") for label in take.labels) == LABELS
    assert np.abs(take.position_m - walk_m).max() < 1e-9
    assert take.time_s == pytest.approx(np.arange(20) / 100)
    assert all(finding.severity == "note" for finding in take.repairs)


def test_upper_case_axes_joined_to_the_label(tmp_path: Path, walk_m: np.ndarray) -> None:
    text = wide_csv(walk_m)
    for axis in "xyz":
        text = text.replace(f"_{axis}", axis.upper())
    assert read_take(write(tmp_path / "walk.csv", text)).labels == LABELS


@pytest.mark.parametrize(("unit", "scale"), [("mm", 1000), ("cm", 100)])
def test_units_in_column_names_are_converted(
    tmp_path: Path, walk_m: np.ndarray, unit: str, scale: float
) -> None:
    text = wide_csv(walk_m * scale, spelling="{label}_{axis}_" + unit)
    take = read_take(write(tmp_path / "walk.csv", text))
    assert take.origin.unit == unit
    assert np.abs(take.position_m - walk_m).max() < 1e-9
    assert take.repairs == ()


def test_mixed_units_are_refused(tmp_path: Path, walk_m: np.ndarray) -> None:
    text = wide_csv(walk_m, spelling="{label}_{axis}_mm").replace("Hip_x_mm", "Hip_x_m")
    with pytest.raises(InputError, match=r"different units: m, mm"):
        read_take(write(tmp_path / "walk.csv", text))


def test_metres_are_assumed_and_told_if_the_size_is_that_of_a_body(
    tmp_path: Path, walk_m: np.ndarray
) -> None:
    take = read_take(write(tmp_path / "walk.csv", wide_csv(walk_m)))
    assert "claims no length unit: read as m" in str(take.repairs[0])
    path = write(tmp_path / "mm.csv", wide_csv(walk_m * 1000))
    with pytest.raises(
        InputError, match=r"m was assumed, in which the body is 1.65e\+03 m.*units='mm'"
    ):
        read_take(path)
    assert np.abs(read_take(path, units="mm").position_m - walk_m).max() < 1e-9


@pytest.mark.parametrize(
    ("separator", "decimal"), [(";", ","), (";", "."), ("\t", "."), ("\t", ","), (",", ".")]
)
def test_separators_and_decimal_commas(
    tmp_path: Path, walk_m: np.ndarray, separator: str, decimal: str
) -> None:
    text = wide_csv(walk_m, separator=separator, decimal=decimal)
    take = read_take(write(tmp_path / "walk.csv", "\ufeff" + text))
    assert np.abs(take.position_m - walk_m).max() < 1e-9


def test_two_header_rows_labels_over_axes(tmp_path: Path, walk_m: np.ndarray) -> None:
    lines = wide_csv(walk_m).split("\n")
    once = "," + ",".join(f"{label},," for label in LABELS)
    every = "time," + ",".join(label for label in LABELS for _ in "xyz")
    for labels in (once, every):
        text = "\n".join([labels, "time," + ",".join(["X", "Y", "Z"] * 4), *lines[1:]])
        take = read_take(write(tmp_path / "walk.csv", text))
        assert take.labels == LABELS
        assert np.abs(take.position_m - walk_m).max() < 1e-9
        assert take.duration_s == pytest.approx(0.19)


def test_confidence_columns_and_gaps(tmp_path: Path, walk_m: np.ndarray) -> None:
    walk_m[4, 2] = np.nan
    lines = wide_csv(walk_m).rstrip().split("\n")
    lines[0] += ",Head_confidence,LFoot_c"
    for i in range(20):
        lines[1 + i] += f",{i / 20},0.25"
    take = read_take(write(tmp_path / "walk.csv", "\n".join(lines)))
    assert take.labels == LABELS
    assert take.confidence is not None
    assert take.confidence[:, 0] == pytest.approx(np.arange(20) / 20)
    assert take.confidence[3, 2] == 0.25
    assert take.confidence[4, 2] == 0  # not seen
    assert (take.confidence[:, [1, 3]] == 1).all()  # no confidence given for these
    assert not take.is_observed[4, 2]
    assert "40 samples have no confidence" in str(take.repairs[-1])


def test_confidence_in_percent_is_scaled(tmp_path: Path, walk_m: np.ndarray) -> None:
    lines = wide_csv(walk_m).rstrip().split("\n")
    lines[0] += ",Head_score"
    for i in range(20):
        lines[1 + i] += f",{5 * i}"
    take = read_take(write(tmp_path / "walk.csv", "\n".join(lines)))
    assert take.confidence is not None
    assert take.confidence[7, 0] == pytest.approx(0.35)
    assert "confidence reaches 95: taken as percent" in [str(finding) for finding in take.repairs]


@pytest.mark.parametrize(
    ("name", "factor"), [("time_ms", 1000), ("Time [ms]", 1000), ("timestamp_us", 1e6), ("t", 1)]
)
def test_time_units_come_from_the_column_name(
    tmp_path: Path, walk_m: np.ndarray, name: str, factor: float
) -> None:
    text = wide_csv(walk_m, time=name, rate=100 / factor)
    assert read_take(write(tmp_path / "walk.csv", text)).duration_s == pytest.approx(0.19)


def test_frame_numbers_need_a_rate(tmp_path: Path, walk_m: np.ndarray) -> None:
    path = write(tmp_path / "walk.csv", wide_csv(walk_m, time="frame", rate=1.0))
    with pytest.raises(InputError, match=r"no frame rate and no time stamps.*rate_hz="):
        read_take(path)
    assert read_take(path, rate_hz=50).time_s == pytest.approx(np.arange(20) / 50)


def test_rows_whose_time_stands_still_or_runs_back_are_dropped_and_told(
    tmp_path: Path, walk_m: np.ndarray
) -> None:
    lines = wide_csv(walk_m).split("\n")
    for row, stamp in ((5, "0.030000"), (12, "0.085")):
        lines[row] = ",".join([stamp, *lines[row].split(",")[1:]])
    take = read_take(write(tmp_path / "walk.csv", "\n".join(lines)))
    kept = np.delete(np.arange(20), [4, 11])
    assert take.time_s == pytest.approx(kept / 100)
    assert np.abs(take.position_m - walk_m[kept]).max() < 1e-9
    assert "backwards at 2 data rows: 5, 12" in take.repairs[-1].what


def test_a_clock_that_starts_again_is_refused(tmp_path: Path, walk_m: np.ndarray) -> None:
    text = wide_csv(np.tile(walk_m, (3, 1, 1)), rate=100)
    lines = text.rstrip().split("\n")
    for i in range(60):
        lines[1 + i] = ",".join([f"{(i % 20) / 100}", *lines[1 + i].split(",")[1:]])
    with pytest.raises(InputError, match=r"data row 21: time runs backwards"):
        read_take(write(tmp_path / "walk.csv", "\n".join(lines)))


def long_csv(position: np.ndarray, extra: str = "") -> str:
    lines = [f"time,label,x,y,z{',confidence' if extra else ''}"]
    for i, row in enumerate(position):
        for label, point in zip(LABELS, row, strict=True):
            if not np.isnan(point[0]):
                lines.append(f"{i / 100},{label}," + ",".join(f"{v:.9f}" for v in point) + extra)
    return "\n".join(lines) + "\n"


def test_a_long_table_gives_the_take_of_the_wide_one(tmp_path: Path, walk_m: np.ndarray) -> None:
    walk_m[4, 2] = walk_m[7, 1] = np.nan
    take = read_take(write(tmp_path / "walk.csv", long_csv(walk_m, ",0.5")))
    assert take.labels == LABELS
    assert np.array_equal(np.isnan(take.position_m), np.isnan(walk_m))
    assert np.nanmax(np.abs(take.position_m - walk_m)) < 1e-9
    assert take.confidence is not None
    assert np.array_equal(take.confidence, np.where(take.is_observed, 0.5, 0.0))
    assert take.origin.format == "csv-long"


def test_rows_of_a_long_table_that_repeat_are_told(tmp_path: Path, walk_m: np.ndarray) -> None:
    text = long_csv(walk_m) + "0.05,Hip,1,1,1\n"
    take = read_take(write(tmp_path / "walk.csv", text))
    assert take.position_m[5, 1] == pytest.approx([1, 1, 1])
    assert "1 rows repeat a time and label" in take.repairs[0].what


def test_sources_and_bodies_become_takes_of_their_own(tmp_path: Path, walk_m: np.ndarray) -> None:
    lines = wide_csv(walk_m).rstrip().split("\n")
    rows = [f"sensor,body,{lines[0]}"]
    for line in lines[1:]:
        rows += [f"left,{body},{line}" for body in (1, 2)]
        rows += [f"right,2,{line}"]
    path = write(tmp_path / "both.csv", "\n".join(rows))
    takes = read_takes(path)
    assert [(take.source, take.origin.metadata["body"]) for take in takes] == [
        ("left", "body1"), ("left", "body2"), ("right", "body2"),
    ]  # fmt: skip
    assert all(np.abs(take.position_m - walk_m).max() < 1e-9 for take in takes)
    with pytest.raises(InputError, match=r"holds 3 takes.*source 'left' body 'body1'"):
        read_take(path)
    with pytest.raises(InputError, match=r"holds 2 takes"):
        read_take(path, source="left")
    assert read_take(path, source="left", body="2").origin.metadata["body"] == "body2"
    with pytest.raises(InputError, match=r"has no source 'rihgt'.*did you mean 'right'"):
        read_take(path, source="rihgt")


def test_a_file_with_one_unnamed_source_takes_the_name_given(
    tmp_path: Path, walk_m: np.ndarray
) -> None:
    path = write(tmp_path / "walk.csv", wide_csv(walk_m))
    assert read_take(path).source == "walk"
    assert read_take(path, source="kinect a").source == "kinect a"


def test_a_table_without_coordinates_shows_its_columns_and_the_spellings(tmp_path: Path) -> None:
    path = write(tmp_path / "walk.csv", "time,speed,heart rate\n0,1,2\n")
    with pytest.raises(InputError, match=r"columns are 'time', 'speed', 'heart rate'; .*LASI_X"):
        read_take(path)
    path = write(tmp_path / "flat.csv", "time,Hip_x,Hip_y\n0,1,2\n")
    with pytest.raises(InputError, match=r"no label has all of x, y and z \(Hip have one or two\)"):
        read_take(path)


def test_a_header_alone_has_no_frames(tmp_path: Path, walk_m: np.ndarray) -> None:
    for text in (wide_csv(walk_m[:0]), "time,label,x,y,z\n"):
        with pytest.raises(InputError, match=r"no frames"):
            read_take(write(tmp_path / "walk.csv", text))


def test_columns_without_use_are_noticed_as_other() -> None:
    columns = understand(["time", "Hip_x", "Hip_y", "Hip_z", "weather", "Hip_likelihood"])
    assert columns.points == {"Hip": [1, 2, 3]}
    assert columns.other == [4]
    assert columns.confidence == {"Hip": 5}


def test_a_motive_export_gives_its_named_markers(tmp_path: Path, walk_m: np.ndarray) -> None:
    names = [f"Subj:{label}" for label in LABELS]
    kinds = ["Marker"] * 12 + ["Rigid Body"] * 7 + ["Marker"] * 3
    owner = [name for name in names for _ in "xyz"] + ["Wand"] * 7 + ["Unlabeled 1034"] * 3
    what = ["Position"] * 12 + ["Rotation"] * 4 + ["Position"] * 6
    axes = list("XYZ" * 4) + list("XYZW") + list("XYZ") + list("XYZ")
    walk_m[4, 2] = np.nan
    lines = [
        "Format Version,1.23,Take Name,walk,Export Frame Rate,100.000000,Length Units,Millimeters",
        "",
        ",".join(["", "Type", *kinds]),
        ",".join(["", "Name", *owner]),
        ",".join(["", "ID", *["1"] * 22]),
        ",".join(["", "", *what]),
        ",".join(["Frame", "Time (Seconds)", *axes]),
    ]
    for i, row in enumerate(walk_m):
        cells = ["" if np.isnan(value) else f"{1000 * value:.6f}" for value in row.ravel()]
        lines.append(",".join([str(i), f"{i / 100:.6f}", *cells, *["0.5"] * 10]))
    take = read_take(write(tmp_path / "take.csv", "\n".join(lines)))
    assert take.origin.format == "motive"
    assert take.labels == tuple(names)
    assert take.rate_hz == pytest.approx(100)
    assert np.array_equal(np.argwhere(~take.is_observed), [[4, 2]])
    assert np.nanmax(np.abs(take.position_m - walk_m)) < 1e-9
    assert any("Rigid Body" in finding.what for finding in take.repairs)


def test_a_qtm_export_is_millimetres_with_zeros_for_missing(
    tmp_path: Path, walk_m: np.ndarray
) -> None:
    lines = [
        "NO_OF_FRAMES\t20", "NO_OF_MARKERS\t4", "FREQUENCY\t100", "DATA_INCLUDED\t3D",
        "MARKER_NAMES\t" + "\t".join(LABELS),
    ]  # fmt: skip
    for i, row in enumerate(walk_m):
        values = np.where(i == 6, 0.0, row) * 1000
        lines.append("\t".join(f"{value:.3f}" for value in values.ravel()))
    take = read_take(write(tmp_path / "walk.tsv", "\r\n".join(lines)))
    assert take.labels == LABELS
    assert take.rate_hz == pytest.approx(100)
    assert np.array_equal(np.flatnonzero(~take.is_observed.any(axis=1)), [6])
    assert np.nanmax(np.abs(take.position_m - walk_m)) < 5.1e-7


def test_a_qtm_export_whose_rate_was_cut_asks_for_it(tmp_path: Path) -> None:
    lines = ["NO_OF_FRAMES\t2", "FREQUENCY", "MARKER_NAMES\tA\tB", *["1\t2\t3\t4\t5\t6"] * 2]
    path = write(tmp_path / "walk.tsv", "\n".join(lines))
    with pytest.raises(InputError, match="rate"):
        read_take(path)
    assert read_take(path, rate_hz=50).rate_hz == pytest.approx(50)


def test_two_stray_quotes_in_a_row_are_no_field(tmp_path: Path, walk_m: np.ndarray) -> None:
    lines = wide_csv(walk_m).rstrip().split("\n")
    cells = lines[6].split(",")
    cells[4], cells[8] = f'{cells[4]}"9', f'"{cells[8]}'
    lines[6] = ",".join(cells)
    take = read_take(write(tmp_path / "walk.csv", "\n".join(lines)))
    assert np.array_equal(np.argwhere(~take.is_observed), [[5, 1], [5, 2]])
    assert "2 cells are not numbers" in " | ".join(map(str, take.repairs))


def test_short_rows_stray_quotes_and_wild_numbers_are_gaps(
    tmp_path: Path, walk_m: np.ndarray
) -> None:
    lines = wide_csv(walk_m).rstrip().split("\n")
    lines[1] = ",".join(lines[1].split(",")[:7])  # the first row ends after Hip
    lines[6] = lines[6].replace(lines[6].split(",")[4], '"0.5')
    lines[9] = ",".join([*lines[9].split(",")[:10], "1e300", "-inf", "2"])
    take = read_take(write(tmp_path / "walk.csv", "\n".join(lines)))
    assert np.array_equal(np.argwhere(~take.is_observed), [[0, 2], [0, 3], [5, 1], [8, 3]])
    told = " | ".join(map(str, take.repairs))
    assert "1 cells are not numbers: '\"0.5' (row 7, column 5)" in told
    assert "1 samples have coordinates beyond 1e+09: taken as missing" in told
