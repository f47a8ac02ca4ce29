"""Xsens MVNX files: origins of segments, which are joints, and the tips of head, hands and feet."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

import numpy as np

from fitpipe.arrays import FloatArray
from fitpipe.errors import InputError
from fitpipe.io.raw import Format, RawTake, ReadOptions
from fitpipe.io.textfile import FileHead
from fitpipe.records import Finding

# points of a segment that no other segment begins at: where the body ends
_TIPS = {
    "Head": "pTopOfHead",
    "RightHand": "pRightTopOfHand",
    "LeftHand": "pLeftTopOfHand",
    "RightToe": "pRightToe",
    "LeftToe": "pLeftToe",
}


class _RefusedEntityError(Exception):
    """The file declares an entity."""


@dataclass(slots=True)
class _Body:
    """What one subject of the file holds."""

    name: str = ""
    rate: str = ""
    segments: list[str] = field(default_factory=list)
    tips: dict[str, str] = field(default_factory=dict)
    time_ms: list[str] = field(default_factory=list)
    position: list[str] = field(default_factory=list)
    orientation: list[str] = field(default_factory=list)
    metadata: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Reader:
    """Gathers bodies from the events of an XML parser."""

    bodies: list[_Body] = field(default_factory=list)
    path: list[str] = field(default_factory=list)
    point: str = ""
    in_motion: bool = False
    text: list[str] | None = None

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(" ")[2]
        self.path.append(name)
        if name == "subject":
            body = _Body(attributes.get("label", ""), attributes.get("frameRate", ""))
            for key in ("configuration", "recDate"):
                if attributes.get(key):
                    body.metadata[key] = attributes[key]
            self.bodies.append(body)
        if not self.bodies:
            return
        if name == "segment":
            self.bodies[-1].segments.append(attributes.get("label", ""))
        elif name == "point":
            self.point = attributes.get("label", "")
        elif name == "frame":
            # poses of the calibration come before the motion
            self.in_motion = attributes.get("type", "normal") == "normal"
            if self.in_motion:
                self.bodies[-1].time_ms.append(attributes.get("time", ""))
        if name in ("position", "orientation", "pos_b"):
            self.text = []

    def words(self, text: str) -> None:
        if self.text is not None:
            self.text.append(text)

    def end(self, tag: str) -> None:
        del tag
        name = self.path.pop()
        if self.text is None or name not in ("position", "orientation", "pos_b"):
            return
        said, self.text = "".join(self.text), None
        body = self.bodies[-1] if self.bodies else _Body()
        if name == "pos_b" and body.segments and _TIPS.get(body.segments[-1]) == self.point:
            body.tips[body.segments[-1]] = said
        elif self.in_motion and self.path[-1:] == ["frame"]:
            (body.position if name == "position" else body.orientation).append(said)


def _sniff(head: FileHead) -> bool:
    return head.is_text and b"<mvnx" in head.start[:4096]


def _read(head: FileHead, options: ReadOptions) -> list[RawTake]:
    del options
    reader = _Reader()
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.words
    parser.EntityDeclHandler = _refuse
    cut = ""
    try:
        parser.Parse(head.read_bytes(), True)
    except _RefusedEntityError:
        raise InputError(
            "declares XML entities, which are not read because they can expand without bound",
            path=head.path,
        ) from None
    except expat.ExpatError as error:
        cut = str(error)
    except (LookupError, ValueError) as error:
        if reader.path:
            raise
        cut = str(error)  # the encoding that the first line names
    bodies = [body for body in reader.bodies if body.position]
    if not bodies:
        what = f"is damaged XML ({cut})" if cut else "no frames: the file holds no motion"
        raise InputError(what, path=head.path, hint="export the file again")
    findings = [Finding(f"the XML is cut or damaged ({cut})", "what is before it read")]
    several = len(bodies) > 1
    return [
        _take(head.path, body, findings if cut else [], is_one_of_many=several) for body in bodies
    ]


def _refuse(*_: object) -> None:
    raise _RefusedEntityError


def _take(path: Path, body: _Body, findings: list[Finding], *, is_one_of_many: bool) -> RawTake:
    findings = list(findings)
    n_segments = len(body.segments)
    position = _rows(body.position, 3 * n_segments, "position", path, findings)
    n = len(position)
    position = position.reshape(n, n_segments, 3)
    labels = list(body.segments)
    if len(body.orientation) == n and body.tips:
        wxyz = _rows(body.orientation, 4 * n_segments, "orientation", path, findings)
        tips, names = _tips(body, position, wxyz.reshape(n, n_segments, 4))
        position = np.concatenate([position, tips], axis=1)
        labels += names
    else:
        findings.append(Finding("no orientations", "tips of head, hands and feet left out", "note"))
    time_ms = np.array([_number(text) for text in body.time_ms[:n]])
    rate = _number(body.rate)
    return RawTake(
        labels=labels,
        position=position,
        time_s=time_ms / 1000 if len(time_ms) == n else None,
        rate_hz=rate if np.isfinite(rate) else None,
        unit="m",
        up="+z",
        body=body.name if is_one_of_many else "",
        has_no_gaps=True,
        metadata={"software": "Xsens MVN", "subject": body.name, **body.metadata},
        findings=findings,
    )


def _tips(body: _Body, position: FloatArray, wxyz: FloatArray) -> tuple[FloatArray, list[str]]:
    """Points of some segments in the world: origin plus the turned place in the segment."""
    from scipy.spatial.transform import Rotation

    points, names = [], []
    for segment, text in body.tips.items():
        place = np.array([_number(word) for word in text.split()])
        if place.shape != (3,) or not np.isfinite(place).all():
            continue
        s = body.segments.index(segment)
        quaternion = wxyz[:, s]
        norm = np.linalg.norm(quaternion, axis=1)
        known = np.isfinite(norm) & (norm > 0)
        tip = np.full((len(position), 3), np.nan)
        turn = Rotation.from_quat(quaternion[known][:, [1, 2, 3, 0]])  # SciPy: scalar last
        tip[known] = position[known, s] + turn.apply(place)
        points.append(tip)
        names.append(_TIPS[segment])
    if not points:
        return np.empty((len(position), 0, 3)), []
    return np.stack(points, axis=1), names


def _rows(
    texts: list[str], width: int, what: str, path: Path, findings: list[Finding]
) -> FloatArray:
    """One row of numbers a frame; NaN for a frame that has not as many as it should."""
    table = np.full((len(texts), width), np.nan)
    odd = 0
    for i, text in enumerate(texts):
        words = text.split()
        if len(words) != width:
            odd += 1
            continue
        try:
            table[i] = words
        except ValueError:
            table[i] = [_number(word) for word in words]
            odd += 1
    if odd == len(texts):
        raise InputError(
            f"no frame holds {width} numbers of {what} for {len(texts)} frames",
            path=path,
            hint="export the file again",
        )
    if odd:
        findings.append(Finding(f"{odd} frames have not {width} numbers of {what}", "missing"))
    return table


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


FORMAT = Format("mvnx", (".mvnx",), _sniff, _read)
