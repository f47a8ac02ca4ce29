"""Formats that hold turns of bones: two independent readers, and a walk of the glTF's nodes, come
back to the fitted positions."""

from __future__ import annotations

import json
import struct
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import fitpipe as fp
from fitpipe.angles import skeleton_angles

from .conftest import ABSENT_FRAMES

PYBVH, BVHIO = "pybvh", "bvhio"


def bvh_positions(reader, path, joints):
    """(time, joint, 3) in the file's unit, and the seconds between frames."""
    module = pytest.importorskip(reader)
    if reader == PYBVH:
        file = module.read_bvh_file(str(path))
        names = [node.name for node in file.nodes]
        place = file.node_positions()[:, [names.index(joint) for joint in joints]]
        return place, file.frame_time
    root = module.readAsHierarchy(str(path))
    nodes = {node.Name: node for node, _, _ in root.layout()}
    n_frames = module.readAsBvh(str(path)).FrameCount
    place = np.empty((n_frames, len(joints), 3))
    for t in range(n_frames):
        root.loadPose(t)
        place[t] = [list(nodes[joint].PositionWorld) for joint in joints]
    return place, module.readAsBvh(str(path)).FrameTime


def write(fit, tmp_path, name, **options):
    path = tmp_path / name
    return path, fp.export(fit, path, **options)


def assert_near(found_m, fit, tolerance_m):
    """Alike wherever the fit has a position, and a number everywhere else."""
    assert np.isfinite(found_m).all()
    there = ~np.isnan(fit.position)
    np.testing.assert_allclose(found_m[there], fit.position[there], rtol=0, atol=tolerance_m)


@pytest.mark.parametrize("reader", [PYBVH, BVHIO])
@pytest.mark.parametrize(("unit", "metres"), [("cm", 0.01), ("m", 1.0), ("mm", 1e-3)])
def test_bvh_reads_back_in_independent_readers(walk_fit, tmp_path, reader, unit, metres):
    path, _ = write(walk_fit, tmp_path, "walk.bvh", units=unit)
    place, tick_s = bvh_positions(reader, path, walk_fit.skeleton.joints)
    assert_near(place * metres, walk_fit, 1e-5)
    assert tick_s == pytest.approx(1 / 30)


def test_bvh_offsets_are_the_bone_lengths(walk_fit, tmp_path):
    path, _ = write(walk_fit, tmp_path, "walk.bvh")
    lengths, joint = {}, ""
    for line in path.read_text(encoding="utf-8").splitlines():
        words = line.split()
        if words[:1] in (["ROOT"], ["JOINT"]):
            joint = words[1]
        elif words[:1] == ["OFFSET"]:
            lengths.setdefault(joint, np.linalg.norm([float(w) for w in words[1:]]) / 100)
    skeleton = walk_fit.skeleton
    for (_, child), length in zip(skeleton.bones, walk_fit.bone_length, strict=True):
        assert lengths[skeleton.joints[child]] == pytest.approx(length, abs=1e-9)
    extra = set(lengths) - set(skeleton.joints)
    assert extra == {
        *(f"HipCenter_{child}" for child in ("Spine", "HipLeft", "HipRight")),
        *(f"ShoulderCenter_{child}" for child in ("Head", "ShoulderLeft", "ShoulderRight")),
    }
    assert all(lengths[name] == 0 for name in extra)


def test_bvh_holds_what_is_absent_and_tells_where(walk_fit, tmp_path):
    path, findings = write(walk_fit, tmp_path, "walk.bvh", units="m")
    told = {f.what: f for f in findings if f.severity == "warning"}
    assert set(told) == {
        "2 frames without a skeleton (11-12)",
        "Head is absent in 1 frame (3)",
        "FootLeft is absent in 1 frame (20)",
        "HandRight is absent in 3 frames (0-1, 5)",
    }
    place, _ = bvh_positions(PYBVH, path, walk_fit.skeleton.joints)
    for frame in ABSENT_FRAMES:
        np.testing.assert_allclose(place[frame], place[10], atol=1e-9)
    # the hand goes on with the forearm, at the length of its bone
    hand, wrist = (walk_fit.skeleton.joint_index(f"{j}Right") for j in ("Hand", "Wrist"))
    k = walk_fit.skeleton.bone_names.index("WristRight-HandRight")
    apart = np.linalg.norm(place[:, hand] - place[:, wrist], axis=-1)
    np.testing.assert_allclose(apart, walk_fit.bone_length[k], atol=1e-7)
    np.testing.assert_allclose(place[5, wrist], walk_fit.position[5, wrist], atol=1e-7)


def test_bvh_angles_run_on_without_jumps(walk_fit, tmp_path):
    path, _ = write(walk_fit, tmp_path, "walk.bvh")
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = np.array([line.split() for line in lines[lines.index("MOTION") + 3 :]], float)
    assert np.abs(np.diff(rows[:, 3:], axis=0)).max() < 90


def test_joints_never_seen_are_left_out_of_bvh_and_the_root_is_placed_by_others(tmp_path):
    motion = _motion()
    position = motion.position_m.copy()
    gone = ["HipCenter", "Spine", "Head", "HandLeft"]
    legs = [j for j in motion.skeleton.joints if j[:3] in ("Hip", "Kne", "Ank", "Foo")]
    for joint in {*gone, *legs}:
        position[:, motion.skeleton.joint_index(joint)] = np.nan
    fit = _fitted(motion, position)
    path, findings = write(fit, tmp_path, "seated.bvh", units="m")
    (left,) = [f for f in findings if f.done == "left out"]
    assert "Head" in left.what
    assert "KneeRight" in left.what
    kept = [j for i, j in enumerate(fit.skeleton.joints) if fit.status[:, i].any()]
    place, _ = bvh_positions(BVHIO, path, kept)
    index = [fit.skeleton.joint_index(j) for j in kept]
    np.testing.assert_allclose(place, fit.position[:, index], atol=1e-5)
    assert path.read_text(encoding="utf-8").splitlines()[1] == "ROOT ShoulderCenter"


def test_two_people_in_one_fit_become_two_movers_under_one_root(tmp_path):
    motion = _motion()
    one = motion.skeleton
    names = (*one.joints, *(f"{j} of Ben" for j in one.joints))
    parents = (*one.parents, *(p + 20 if p >= 0 else -1 for p in one.parents))
    rest = np.concatenate([one.rest_direction] * 2)
    both = fp.Skeleton("pair", names, parents, rest_direction=rest)
    other = motion.position_m[::-1] @ np.diag([1.0, -1.0, -1.0]) + [3.0, 1.0, 0.0]
    position = np.concatenate([motion.position_m, other], axis=1)
    fit = _fitted(motion, position, both)
    path, findings = write(fit, tmp_path, "pair.bvh", units="m")
    (renamed,) = [f for f in findings if "names the format cannot hold" in f.what]
    assert "'HipCenter of Ben' as 'HipCenter_of_Ben'" in renamed.done
    place, _ = bvh_positions(BVHIO, path, [name.replace(" ", "_") for name in names])
    np.testing.assert_allclose(place, fit.position, atol=1e-5)


def test_bones_that_change_their_length_are_told_not_hidden(walk_fit, tmp_path):
    knee = walk_fit.skeleton.joint_index("KneeLeft")
    position = walk_fit.position.copy()
    position[15, knee] += [0.0, 0.01, 0.0]
    _, findings = write(replace(walk_fit, position=position), tmp_path, "walk.bvh")
    (off,) = [f for f in findings if "mm off" in f.what]
    assert off.severity == "warning"
    assert off.done == "written where bones of constant length lead"


def test_up_turns_bvh_so_that_plus_y_is_up(walk_fit, tmp_path):
    lying = replace(walk_fit, position=walk_fit.position[..., [2, 0, 1]])  # y up becomes z up
    _, findings = write(lying, tmp_path, "lying.bvh")
    (tilted,) = [f for f in findings if "head and feet say +z is up" in f.what]
    assert "--up +z" in tilted.otherwise
    path, findings = write(lying, tmp_path, "upright.bvh", up="+z", units="m")
    assert not [f for f in findings if "head and feet" in f.what]
    place, _ = bvh_positions(PYBVH, path, walk_fit.skeleton.joints)
    there = ~np.isnan(walk_fit.position[..., 0])
    y = walk_fit.position[..., 1]
    np.testing.assert_allclose(place[..., 1][there], y[there], atol=1e-7)


def storage(path):
    """Header lines and table of a storage file."""
    lines = path.read_text(encoding="utf-8").splitlines()
    end = lines.index("endheader")
    return lines[:end], pd.read_csv(path, sep="\t", skiprows=end + 1)


def test_mot_and_sto_hold_the_angles_by_name(walk_fit, tmp_path):
    angles = skeleton_angles(walk_fit.position, walk_fit.skeleton, walk_fit.bone_length)
    knee = angles.euler_rad[:, angles.segment_label.index("left knee"), 0]
    for name, factor, says in (
        ("walk.mot", 180 / np.pi, "inDegrees=yes"),
        ("walk.sto", 1.0, "inDegrees=no"),
    ):
        path, findings = write(walk_fit, tmp_path, name)
        head, table = storage(path)
        assert says in head
        assert f"nRows={len(table)}" in head
        assert f"nColumns={len(table.columns)}" in head
        np.testing.assert_allclose(table.time, walk_fit.time_s, rtol=1e-14, atol=1e-15)
        there = ~np.isnan(knee)
        np.testing.assert_allclose(table.left_knee_flexion[there], factor * knee[there], atol=1e-8)
        # OpenSim's older reader stops at a NaN
        assert np.isfinite(table.to_numpy()).all()
        np.testing.assert_allclose(table.left_knee_flexion[11:13], factor * knee[10], atol=1e-8)
        assert "2 frames without a skeleton (11-12)" in [f.what for f in findings]
        root = walk_fit.position[there][:, 0]
        columns = [f"HipCenter_t{axis}" for axis in "xyz"]
        np.testing.assert_allclose(table.loc[there, columns], root, atol=1e-9)


def glb(path):
    """The document of a binary glTF, and a function that gives an accessor's array."""
    data = path.read_bytes()
    magic, version, length = struct.unpack_from("<4sII", data)
    assert (magic, version, length) == (b"glTF", 2, len(data))
    n_text, kind = struct.unpack_from("<I4s", data, 12)
    assert kind == b"JSON"
    document = json.loads(data[20 : 20 + n_text])
    n_binary, kind = struct.unpack_from("<I4s", data, 20 + n_text)
    assert kind == b"BIN\0"
    binary = data[28 + n_text :]
    assert len(binary) == n_binary == document["buffers"][0]["byteLength"]

    def array(index):
        accessor = document["accessors"][index]
        view = document["bufferViews"][accessor["bufferView"]]
        dtype = {5126: np.float32, 5123: np.uint16}[accessor["componentType"]]
        width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}[accessor["type"]]
        values = np.frombuffer(binary, dtype, accessor["count"] * width, view["byteOffset"])
        assert view["byteLength"] == values.nbytes
        return values.reshape(-1, width)

    return document, array


def glb_positions(path, joints):
    """Where the nodes are in every frame, by matrices: (time, joint, 3)."""
    document, array = glb(path)
    nodes = document["nodes"]
    (animation,) = document["animations"]
    moved = {}
    for channel in animation["channels"]:
        sampler = animation["samplers"][channel["sampler"]]
        target = channel["target"]
        moved[target["node"], target["path"]] = array(sampler["output"])
    times = array(animation["samplers"][0]["input"])[:, 0]
    place = {}

    def visit(n, around):
        node = nodes[n]
        own = np.tile(np.eye(4), (len(times), 1, 1))
        turn = moved.get((n, "rotation"), np.array([node.get("rotation", [0, 0, 0, 1])]))
        x, y, z, w = np.broadcast_to(turn, (len(times), 4)).T.astype(float)
        own[:, 0, :3] = np.stack(
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)]
        ).T
        own[:, 1, :3] = np.stack(
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)]
        ).T
        own[:, 2, :3] = np.stack(
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]
        ).T
        own[:, :3, 3] = moved.get(
            (n, "translation"), np.array([node.get("translation", [0, 0, 0])])
        )
        world = around @ own
        place[node["name"]] = world[:, :3, 3]
        for child in node.get("children", ()):
            visit(child, world)

    visit(document["scenes"][0]["nodes"][0], np.eye(4))
    return np.stack([place[joint] for joint in joints], axis=1), times


def test_the_nodes_of_a_glb_lead_to_the_fitted_positions(walk_fit, tmp_path):
    path, findings = write(walk_fit, tmp_path, "walk.glb")
    place, times = glb_positions(path, walk_fit.skeleton.joints)
    assert_near(place, walk_fit, 2e-6)
    np.testing.assert_allclose(times, walk_fit.time_s - walk_fit.time_s[0], atol=1e-6)
    assert "2 frames without a skeleton (11-12)" in [f.what for f in findings]


def test_a_glb_shows_a_body_for_every_bone(walk_fit, tmp_path):
    path, _ = write(walk_fit, tmp_path, "walk.glb")
    document, array = glb(path)
    bodies = [node for node in document["nodes"] if "mesh" in node]
    assert len(bodies) == walk_fit.skeleton.n_bones
    (mesh,) = document["meshes"]
    corner = array(mesh["primitives"][0]["attributes"]["POSITION"])
    normal = array(mesh["primitives"][0]["attributes"]["NORMAL"])
    np.testing.assert_allclose(np.linalg.norm(normal, axis=1), 1, atol=1e-6)
    middle = corner.reshape(-1, 3, 3).mean(axis=1)
    assert (np.sum((middle - [0, 0.3, 0]) * normal[::3], axis=1) > 0).all()  # outwards
    assert (corner.min(axis=0)[1], corner.max(axis=0)[1]) == (0.0, 1.0)


def test_turned_formats_are_the_same_bytes_each_time(walk_fit, tmp_path):
    for name in ("a.bvh", "a.mot", "a.sto", "a.glb"):
        path, _ = write(walk_fit, tmp_path, name)
        before = path.read_bytes()
        write(walk_fit, tmp_path, name)
        assert path.read_bytes() == before, name


def _motion():
    from fitpipe.simulate import walk

    return walk(20, 30.0)


def _fitted(motion, position, skeleton=None):
    skeleton = skeleton or motion.skeleton
    take = fp.Take("truth", skeleton.joints, position, motion.time_s)
    return fp.fit(take, skeleton=skeleton, config={"weights": {"jumps": False}})
