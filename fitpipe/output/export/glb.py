"""glTF 2.0 in one binary file (.glb): the nodes with their motion, and a body for every bone.

Khronos, glTF 2.0 specification: https://registry.khronos.org/glTF/specs/2.0/glTF-2.0.html
"""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
import numpy.typing as npt

import fitpipe
from fitpipe.arrays import FloatArray
from fitpipe.output.export.formats import Content, ExportFormat, Written, plain_names
from fitpipe.output.export.rig import Rig, make_rig

_FLOAT, _SHORT = 5126, 5123  # component types
_ARRAY, _INDEX = 34962, 34963  # buffer targets
_WAIST, _WIDTH = 0.15, 0.08  # of the bones' bodies, as shares of the length


def _write(content: Content) -> Written:
    fit = content.fit
    rig, findings = make_rig(fit, content.angles())
    (name,), _ = plain_names([fit.name])
    file = _File()
    mesh = _bone_body(file)
    nodes: list[dict[str, Any]] = [{"name": node.name} for node in rig.nodes]
    for n, node in enumerate(rig.nodes):
        offset = rig.place_m[n][0] if node.moves else np.array(node.offset_m)
        nodes[n]["translation"] = offset.tolist()
        nodes[n]["rotation"] = _xyzw(rig.local_wxyz[0, n]).tolist()
        if node.parent >= 0:
            nodes[node.parent].setdefault("children", []).append(n)
    for node in rig.nodes:
        length = float(np.linalg.norm(node.offset_m))
        if length > 0:
            body = {"mesh": mesh, "scale": [length] * 3, "rotation": _from_y(node.offset_m)}
            nodes[node.parent].setdefault("children", []).append(len(nodes))
            nodes.append({"name": f"{node.name} bone", **body})
    document = {
        "asset": {"version": "2.0", "generator": f"fitpipe {fitpipe.__version__}"},
        "scene": 0,
        "scenes": [{"name": name, "nodes": [0]}],
        "nodes": nodes,
        "meshes": file.meshes,
        "materials": [
            {
                "name": "bone",
                "pbrMetallicRoughness": {
                    "baseColorFactor": [0.8, 0.72, 0.6, 1.0],
                    "metallicFactor": 0.0,
                    "roughnessFactor": 0.8,
                },
            }
        ],
        "animations": [{"name": name, **_animation(rig, fit.time_s, file)}],
    }
    return file.pack(document), findings


class _File:
    """Arrays of the file, gathered in its one buffer."""

    def __init__(self) -> None:
        self.data = b""
        self.views: list[dict[str, int]] = []
        self.accessors: list[dict[str, Any]] = []
        self.meshes: list[dict[str, Any]] = []

    def add(
        self,
        values: npt.NDArray[Any],
        kind: str,
        *,
        target: int | None = None,
        range_: bool = False,
    ) -> int:
        """Index of a new accessor on an array; ``range_`` writes its lowest and highest values."""
        view = {"buffer": 0, "byteOffset": len(self.data), "byteLength": values.nbytes}
        if target is not None:
            view["target"] = target
        self.views.append(view)
        self.data += values.tobytes() + b"\0" * (-values.nbytes % 4)
        accessor = {
            "bufferView": len(self.views) - 1,
            "componentType": _SHORT if values.dtype == np.uint16 else _FLOAT,
            "count": len(values),
            "type": kind,
        }
        if range_:
            rows = values.reshape(len(values), -1)
            accessor |= {"min": rows.min(axis=0).tolist(), "max": rows.max(axis=0).tolist()}
        self.accessors.append(accessor)
        return len(self.accessors) - 1

    def pack(self, document: dict[str, Any]) -> bytes:
        """The whole file: header, JSON chunk, binary chunk."""
        document |= {
            "buffers": [{"byteLength": len(self.data)}],
            "bufferViews": self.views,
            "accessors": self.accessors,
        }
        text = json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()
        text += b" " * (-len(text) % 4)
        chunks = struct.pack("<I4s", len(text), b"JSON") + text
        chunks += struct.pack("<I4s", len(self.data), b"BIN\0") + self.data
        return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


def _animation(rig: Rig, time_s: FloatArray, file: _File) -> dict[str, Any]:
    """Samplers and channels: the turn of every node that turns, the place of those that move."""
    # single precision loses the frames of a take that starts at a late time
    times = file.add((time_s - time_s[0]).astype(np.float32), "SCALAR", range_=True)
    samplers, channels = [], []

    def channel(node: int, path: str, values: FloatArray, kind: str) -> None:
        output = file.add(values.astype(np.float32), kind)
        samplers.append({"input": times, "output": output, "interpolation": "LINEAR"})
        target = {"node": node, "path": path}
        channels.append({"sampler": len(samplers) - 1, "target": target})

    for n, node in enumerate(rig.nodes):
        if node.moves:
            channel(n, "translation", rig.place_m[n], "VEC3")
        if node.segment >= 0:
            channel(n, "rotation", _xyzw(rig.local_wxyz[:, n]), "VEC4")
    return {"samplers": samplers, "channels": channels}


def _bone_body(file: _File) -> int:
    """Mesh of a bone of length 1 along +y: eight flat faces, widest near its start."""
    ring = _WIDTH * np.array([[1, 0, 0], [0, 0, 1], [-1, 0, 0], [0, 0, -1]]) + [0, _WAIST, 0]
    corners = []
    for a, b in zip(ring, np.roll(ring, -1, axis=0), strict=True):
        corners += [np.zeros(3), a, b, a, np.array([0.0, 1.0, 0.0]), b]
    faces = np.array(corners).reshape(-1, 3, 3)
    normal = np.cross(faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 0])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    place = faces.reshape(-1, 3).astype(np.float32)
    attributes = {
        "POSITION": file.add(place, "VEC3", target=_ARRAY, range_=True),
        "NORMAL": file.add(np.repeat(normal, 3, axis=0).astype(np.float32), "VEC3", target=_ARRAY),
    }
    index = file.add(np.arange(len(place), dtype=np.uint16), "SCALAR", target=_INDEX)
    primitive = {"attributes": attributes, "indices": index, "material": 0, "mode": 4}
    file.meshes.append({"name": "bone", "primitives": [primitive]})
    return len(file.meshes) - 1


def _from_y(direction: tuple[float, float, float]) -> list[float]:
    """Quaternion xyzw of the smallest turn from +y to a direction."""
    x, y, z = np.array(direction) / np.linalg.norm(direction)
    if y < -1 + 1e-9:
        return [1.0, 0.0, 0.0, 0.0]
    turn = np.array([z, 0.0, -x, 1 + y])
    return (turn / np.linalg.norm(turn)).tolist()  # type: ignore[no-any-return]


def _xyzw(wxyz: FloatArray) -> FloatArray:
    return np.roll(wxyz, -1, axis=-1)


FORMAT = ExportFormat(
    name="glb",
    suffix=".glb",
    keeps="positions in metres in single precision, as turns of bones of constant length; joint "
    "names, hierarchy, bone lengths, time of every frame from the first; a body for every bone, "
    "so that viewers show it",
    loses="which samples are absent (the last turn is held), the time of the first frame, all "
    "statuses, residuals and weights, calibration, log, provenance",
    units=("m",),
    write=_write,
    expects_y_up=True,
)
