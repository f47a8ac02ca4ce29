"""The benchmark's forward kinematics against positions another program wrote for the same file."""

import importlib.util
from pathlib import Path

import numpy as np
import pandas as pd

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "accuracy_sets.py"


def test_forward_kinematics_agree_with_another_program(shared_data):
    spec = importlib.util.spec_from_file_location("accuracy_sets", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    folder = shared_data / "bvh_amc"
    motion = module.read_bvh(folder / "walk01.bvh", metres_per_unit=0.01)
    table = pd.read_csv(folder / "walk01_pos.csv")
    joints = {name.rpartition(".")[0] for name in table.columns if "." in name}
    shared = [joint for joint in motion.skeleton.joints if joint in joints]
    assert len(shared) >= 17
    for joint in shared:
        theirs = table[[f"{joint}.{axis}" for axis in "xyz"]].to_numpy() / 100
        ours = motion.position_m[:, motion.skeleton.joint_index(joint)]
        np.testing.assert_allclose(ours, theirs, atol=1e-6)
