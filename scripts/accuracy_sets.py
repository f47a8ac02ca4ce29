"""Sets with a truth for bench_accuracy.py: simulated ones, and recordings of ../shared/data.

Every set gives takes on the joints of a skeleton, and a function from positions on the first
take's clock and in its frame to distances from the truth. Where two systems do not share a frame,
each method's result is aligned by ONE rigid transform over the take, all methods alike.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

import fitpipe as fp
from fitpipe.config import NoiseConfig, SimulateConfig, make_config
from fitpipe.mapping import map_take
from fitpipe.report import joint_error, rigid_alignment
from fitpipe.simulate import Motion, simulate

KINECT20 = fp.Skeleton.preset("kinect20")
Errors = Callable[[np.ndarray], np.ndarray]

# Independent noise of about 15 mm per axis at 3.4 m and nothing else: what smoothing can remove.
NOISE: dict[str, Any] = {
    **{name: 0.0 for name in NoiseConfig.model_fields if name.endswith("_share")},
    "noise_along_at_2m_m": 0.0055, "noise_across_at_2m_m": 0.0085, "hidden_noise_factor": 1.0,
    "hidden_confidence": 1.0, "wander_m": 0.0,
}  # fmt: skip


class TruthSet(NamedTuple):
    """Takes with a truth."""

    name: str
    kind: str  # "noise", "kinect" or "recorded"
    takes: list[fp.Take]
    skeleton: fp.Skeleton
    errors: Errors
    remark: str = ""


Named = Iterator[tuple[str, Callable[[], TruthSet]]]


def simulated_sets(frames: int) -> Named:
    """Name and maker of each simulated set; frames at 30 Hz."""
    rows: list[tuple[str, str, int, dict[str, Any]]] = [
        *(
            (f"walk, 2 sensors, {share:.0%} outliers", "walk", 2, {"outlier_share": share})
            for share in (0.0, 0.03, 0.10)
        ),
        ("walk, 3 sensors, 3% outliers", "walk", 3, {"outlier_share": 0.03}),
        ("reach, 2 sensors, 3% outliers", "reach", 2, {"outlier_share": 0.03}),
        ("punch, 2 sensors, 3% outliers", "punch", 2, {"outlier_share": 0.03}),
        (
            "walk, 2 sensors, 3% outliers, 10% lost",
            "walk",
            2,
            {"outlier_share": 0.03, "dropout_share": 0.1, "hidden_dropout_share": 0.1},
        ),
    ]
    for name, motion, sensors, noise in rows:
        table = {
            "seed": 100,  # the same noise in all, so that outliers alone make the difference
            "motion": {"name": motion, "seconds": frames / 30},
            "sensors": {"count": sensors, "tick_jitter_s": 0.0},
            "noise": {**NOISE, **noise},
        }
        name = f"noise: {name}"
        yield name, partial(_simulated, name, "noise", table)
    for seed, (name, motion, sensors, noise) in enumerate(
        [
            ("walk, 2 sensors", "walk", 2, {}),
            ("walk, 3 sensors", "walk", 3, {}),
            ("reach, 2 sensors", "reach", 2, {}),
            ("reach, 2 sensors, arms lost", "reach", 2, {"limb_loss_share": 0.2}),
            ("punch, 2 sensors", "punch", 2, {}),
        ]
    ):
        table = {
            "seed": 200 + seed,
            "motion": {"name": motion, "seconds": frames / 30},
            "sensors": {"count": sensors},
            "noise": noise,
        }
        name = f"kinect: {name}"
        yield name, partial(_simulated, name, "kinect", table)


def _simulated(
    name: str, kind: str, table: dict[str, Any], motion: Motion | None = None
) -> TruthSet:
    made = simulate(make_config(SimulateConfig, table), motion=motion)
    truth = made.motion.position_m
    skeleton = replace(made.motion.skeleton, bone_length_m=None)
    return TruthSet(name, kind, list(made.takes), skeleton, lambda p: joint_error(p, truth))


def recorded_sets(data: Path) -> Named:
    """Name and maker of each recording with a reference, numbered as in the README of the data."""
    folder = data / "opencap_visualizer"
    rows: list[tuple[str, Callable[..., TruthSet], tuple[Any, ...]]] = [
        ("row 1: keraal CTK, Kinect - optical", _keraal, (data / "keraal", "CTK")),
        ("row 2: keraal ELK, Kinect - optical", _keraal, (data / "keraal", "ELK")),
        ("row 3: opencap squat, mono - mocap", _opencap, (folder, "squat", ["mono"])),
        ("row 4: opencap walk, mono + wham - mocap", _opencap, (folder, "walk", ["mono", "wham"])),
        ("row 5: gaittoolbox walk, Xsens - Vicon", _xsens, (data / "gaittoolbox",)),
        (
            "row 6: Plug-in Gait walk (btkdata)",
            _plug_in_gait,
            (data / "btkdata" / "PiG_Motion-FlatFoot-Full.c3d",),
        ),
        (
            "row 6: Plug-in Gait walk (pycgm)",
            _plug_in_gait,
            (data / "pycgm" / "Movement_trial.c3d",),
        ),
        ("row 7: CMU 12_01 walk (BVH), 2 simulated Kinects", _bvh, (data / "bvh_amc",)),
    ]
    for name, make, arguments in rows:
        yield name, partial(make, name, *arguments)


# Which optical body carries a joint, and at a constant place (Kinect's joint, body).
_BODIES = (
    "RForearm", "LForearm", "RArm", "LArm", "Chest", "RThigh", "LThigh", "RShoulder", "LShoulder",
    "RHand", "LHand", "RFoot", "LFoot", "Hips", "Head", "RTibia", "LTibia",
)  # fmt: skip
_BODY_OF = {"HipCenter": "Hips", "ShoulderCenter": "Chest", "Head": "Head"} | {
    f"{joint}{side}": body if body == "Hips" else f"{side[0]}{body}"
    for side in ("Left", "Right")
    for joint, body in (
        ("Shoulder", "Shoulder"), ("Elbow", "Arm"), ("Wrist", "Hand"), ("Hand", "Hand"),
        ("Hip", "Hips"), ("Knee", "Thigh"), ("Ankle", "Tibia"),
    )
}  # fmt: skip


def _keraal(name: str, folder: Path, exercise: str) -> TruthSet:
    """One Kinect; 17 optical rigid bodies at twice its rate, starting together.

    A body's origin is no joint centre: per joint a constant offset in its body and one rigid
    transform of the take are estimated by re-weighted least squares, for every method anew.
    """
    kinect = fp.read_take(folder / f"G3-Kinect-{exercise}-P1T1-Unknown-C-0.txt")
    optical = np.loadtxt(folder / f"G3-Vicon-{exercise}-P1T1-Unknown-C-0.txt")[::2]
    take = map_take(kinect, "kinect25", KINECT20)
    n = min(take.n_frames, len(optical))
    pose = optical[:n].reshape(n, len(_BODIES), 7)[:, [_BODIES.index(b) for b in _BODY_OF.values()]]
    origin = pose[..., :3] / 1e3
    R_body = Rotation.from_quat(pose[..., 3:].reshape(-1, 4)).as_matrix().reshape(n, -1, 3, 3)
    joints = [KINECT20.joint_index(joint) for joint in _BODY_OF]

    def errors(position: np.ndarray) -> np.ndarray:
        distances = np.full((take.n_frames, KINECT20.n_joints), np.nan)
        distances[:n, joints] = _to_bodies(position[:n, joints], origin, R_body)
        return distances

    return TruthSet(name, "recorded", [take], KINECT20, errors)


def _to_bodies(position: np.ndarray, origin: np.ndarray, R_body: np.ndarray) -> np.ndarray:
    """Distances to points fixed in bodies, after the best points and the best transform.

    Positions are NaN where missing, origins and rotations where the body is.
    """
    body_seen = ~(np.isnan(origin[..., 0]) | np.isnan(R_body[..., 0, 0]))
    seen = ~np.isnan(position[..., 0]) & body_seen
    R, t = rigid_alignment(origin, position)
    where, at, turn = (np.nan_to_num(array) for array in (position, origin, R_body))
    offset = np.zeros((position.shape[1], 3))
    for step in range(150):
        point = at + np.einsum("tjab,jb->tja", turn, offset)
        off = np.linalg.norm(where - (point @ R.T + t), axis=-1)
        # from 300 mm down, so that what is lost for a while does not draw the rest
        scale = max(0.02, 0.3 * 0.95**step)
        weight = np.where(seen, 1 / (off**2 + scale**2), 0.0)
        R, t = _weighted(point, where, weight)
        local = np.einsum("tjba,tjb->tja", turn, (where - t) @ R - at)
        offset = np.einsum("tj,tja->ja", weight, local) / weight.sum(axis=0)[:, None]
    point = (at + np.einsum("tjab,jb->tja", turn, offset)) @ R.T + t
    return np.where(body_seen, joint_error(position, point), np.nan)


def _weighted(
    source: np.ndarray, target: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    w = weight.ravel() / weight.sum()
    a, b = source.reshape(-1, 3), target.reshape(-1, 3)
    a_mid, b_mid = w @ a, w @ b
    rotation, _ = Rotation.align_vectors(b - b_mid, a - a_mid, weights=w)
    R = rotation.as_matrix()
    return R, b_mid - R @ a_mid


_OPENSIM = {"HipCenter": "pelvis", "Spine": "torso"} | {
    f"{joint}{side}": f"{body}_{side[0].lower()}"
    for side in ("Left", "Right")
    for joint, body in (
        ("Shoulder", "humerus"), ("Elbow", "ulna"), ("Wrist", "hand"),
        ("Hip", "femur"), ("Knee", "tibia"), ("Ankle", "talus"), ("Foot", "toes"),
    )
}  # fmt: skip


def _opencap(name: str, folder: Path, trial: str, systems: list[str]) -> TruthSet:
    """Video systems against the marker-based fit; a body's origin is its proximal joint."""
    takes = [
        map_take(_opencap_take(folder, f"{trial}_{system}", system), _OPENCAP_SET, KINECT20)
        for system in systems
    ]
    mocap = map_take(_opencap_take(folder, f"{trial}_mocap", "mocap"), _OPENCAP_SET, KINECT20)
    n = min(takes[0].n_frames, mocap.n_frames)
    truth = mocap.position_m[:n]

    def errors(position: np.ndarray) -> np.ndarray:
        return _aligned_error(position[:n], truth)

    return TruthSet(name, "recorded", takes, KINECT20, errors)


_OPENCAP_SET = fp.MarkerSet("opensim bodies", _OPENSIM)


def _opencap_take(folder: Path, stem: str, source: str) -> fp.Take:
    path = folder / f"{stem}.json"
    if path.exists():
        text = path.read_text(encoding="utf-8")
    else:
        text = gzip.decompress(path.with_suffix(".json.gz").read_bytes()).decode()
    table = json.loads(text)
    bodies = table["bodies"]
    position = np.stack([np.array(body["translation"]) for body in bodies.values()], axis=1)
    return fp.Take(source, tuple(bodies), position, np.array(table["time"], dtype=float))


def _aligned_error(position: np.ndarray, truth: np.ndarray) -> np.ndarray:
    R, t = rigid_alignment(position, truth)
    return joint_error(position @ R.T + t, truth)


def _xsens(name: str, folder: Path) -> TruthSet:
    """Lower body, pelvis-centred: the inertial system drifts. One rotation over the take."""
    take = fp.read_take(folder / "NS2-S02-Trial-Walk-1-viconvsxsens.c3d")
    points = ("MIDPEL", *(f"{s}{p}" for s in "LR" for p in ("FEP", "FEO", "TIO", "TOE")))
    joints = (
        "HipCenter",
        *(f"{j}{s}" for s in ("Left", "Right") for j in ("Hip", "Knee", "Ankle", "Foot")),
    )
    names = dict(zip(joints, points, strict=True))
    xsens = map_take(take, fp.MarkerSet("xsens", names), KINECT20)
    vicon = {joint: f"{point}Ref" for joint, point in names.items()}
    truth = map_take(take, fp.MarkerSet("vicon", vicon), KINECT20).position_m

    def errors(position: np.ndarray) -> np.ndarray:
        ours, theirs = position - position[:, :1], truth - truth[:, :1]
        R, _ = rigid_alignment(ours, theirs)
        distances = joint_error(ours @ R.T, theirs)
        distances[:, 0] = np.nan  # zero by construction
        return distances

    return TruthSet(name, "recorded", [xsens], KINECT20, errors)


_SEGMENT_OF = {"HipCenter": "PEL", "ShoulderCenter": "TRX", "Head": "HED"} | {
    f"{joint}{side}": segment if segment in ("PEL", "TRX") else f"{side[0]}{segment}"
    for side in ("Left", "Right")
    for joint, segment in (
        ("Shoulder", "TRX"), ("Elbow", "HU"), ("Wrist", "RA"), ("Hand", "HN"),
        ("Hip", "PEL"), ("Knee", "FE"), ("Ankle", "TI"), ("Foot", "TO"),
    )
}  # fmt: skip


def _plug_in_gait(name: str, path: Path) -> TruthSet:
    """Joints from markers against the segments of the vendor's model, by constant offsets.

    Surface markers lie centimetres beside joint centres; what counts here is how rigidly the
    joints sit in the segments, whose axes the file stores as four points (origin, anterior,
    lateral, proximal).
    """
    take = fp.read_take(path, up="z")
    mapped = map_take(take, "pig39", KINECT20)
    joints = [KINECT20.joint_index(joint) for joint in _SEGMENT_OF]

    def points(letter: str) -> np.ndarray:
        return take.position_m[:, [take.index(f"{seg}{letter}") for seg in _SEGMENT_OF.values()]]

    origin = points("O")
    axes = [points(letter) - origin for letter in "ALP"]
    R_body = np.stack([axis / np.linalg.norm(axis, axis=-1, keepdims=True) for axis in axes], -1)

    def errors(position: np.ndarray) -> np.ndarray:
        distances = np.full(mapped.position_m.shape[:2], np.nan)
        distances[:, joints] = _to_bodies(position[:, joints], origin, R_body)
        return distances

    remark = "the reference is computed from these very markers"
    return TruthSet(name, "recorded", [mapped], KINECT20, errors, remark)


def _bvh(name: str, folder: Path) -> TruthSet:
    """Forward kinematics of a recorded walk as the truth of two simulated Kinects."""
    motion = read_bvh(folder / "cmu_12_01_walk.bvh", metres_per_unit=0.0564)
    return _simulated(name, "recorded", {"seed": 300}, motion)


def read_bvh(path: Path, *, metres_per_unit: float) -> Motion:
    """Joints of a BVH file by forward kinematics; joints that coincide with their parent go."""
    head, body = path.read_text(encoding="utf-8").split("MOTION")
    names: list[str] = []
    parents: list[int] = []
    offsets: list[list[float]] = []
    channels: list[list[str]] = []
    stack: list[int] = []
    for words in (line.split() for line in head.splitlines()):
        if not words:
            continue
        if words[0] in ("ROOT", "JOINT", "End"):
            parents.append(stack[-1] if stack else -1)
            names.append(words[1] if words[0] != "End" else f"{names[parents[-1]]}End")
            channels.append([])
        elif words[0] == "OFFSET":
            offsets.append([float(word) for word in words[1:]])
        elif words[0] == "CHANNELS":
            channels[-1] = words[2:]
        elif words[0] == "{":
            stack.append(len(names) - 1)
        elif words[0] == "}":
            stack.pop()
    lines = body.strip().splitlines()
    tick_s = float(lines[1].split()[-1])
    values = np.array([[float(word) for word in line.split()] for line in lines[2:]])
    position = np.zeros((len(values), len(names), 3))
    turned: list[Rotation] = []
    column = 0
    for j, own in enumerate(channels):
        block = values[:, column : column + len(own)]
        column += len(own)
        turns = [i for i, channel in enumerate(own) if channel.endswith("rotation")]
        order = "".join(own[i][0] for i in turns)
        rotation = (
            Rotation.from_euler(order, block[:, turns], degrees=True)
            if order
            else Rotation.from_rotvec(np.zeros((len(values), 3)))
        )
        shift = np.tile(offsets[j], (len(values), 1))
        for i, channel in enumerate(own):
            if channel.endswith("position"):
                shift[:, "XYZ".index(channel[0])] = block[:, i]  # in place of the offset
        p = parents[j]
        position[:, j] = shift if p < 0 else position[:, p] + turned[p].apply(shift)
        turned.append(rotation if p < 0 else turned[p] * rotation)
    position *= metres_per_unit
    kept = [j for j in range(len(names)) if parents[j] < 0 or np.linalg.norm(offsets[j]) > 0.1]
    place = {j: i for i, j in enumerate(kept)}

    def nearest_kept(j: int) -> int:
        while j >= 0 and j not in place:
            j = parents[j]
        return place.get(j, -1)

    skeleton = fp.Skeleton(
        path.stem, tuple(names[j] for j in kept), tuple(nearest_kept(parents[j]) for j in kept)
    )
    bones = np.array(skeleton.bones)
    first = position[0, kept]
    length_m = np.linalg.norm(first[bones[:, 0]] - first[bones[:, 1]], axis=-1)
    time_s = np.arange(len(values)) * tick_s
    return Motion(position[:, kept], time_s, skeleton.with_lengths(length_m))
