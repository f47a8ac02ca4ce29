"""What the README of the recordings states about each file."""

from __future__ import annotations

from typing import NamedTuple


class Stated(NamedTuple):
    """One row of the README's tables."""

    file: str
    frames: int
    rate_hz: float
    unit: str
    up: str  # empty where the README is not sure
    markers: int
    gaps_percent: float
    longest_gap: int | None = None


C3D = [
    Stated("nimblephysics/cmu_02_05.c3d", 1854, 120, "mm", "+z", 41, 0),
    Stated("nimblephysics/cmu_dribble_shoot_basketball.c3d", 494, 120, "mm", "+z", 41, 0),
    Stated("nimblephysics/squat.c3d", 2539, 120, "mm", "+y", 53, 1.73, 206),
    Stated("nimblephysics/UpsideDown_trial2.c3d", 48, 240, "mm", "+z", 37, 0),
    # The README states 48 markers and 26 outputs: it counts LFEP, LFEO, LTIO and their right sides
    # as outputs. They are this file's joint centres; 54 of 74 trajectories are positions.
    Stated("gaittoolbox/NS2-S02-Trial-Walk-1-viconvsxsens.c3d", 955, 100, "m", "+z", 48, 0),
    Stated("btkdata/sample01_Eb015pi.c3d", 450, 50, "mm", "", 26, 1.93, 47),
    Stated("btkdata/sample01_Eb015pr.c3d", 450, 50, "mm", "", 26, 1.93, 47),
    Stated("btkdata/sample01_Eb015vi.c3d", 450, 50, "mm", "", 26, 1.93, 47),
    Stated("btkdata/sample01_Eb015vr.c3d", 450, 50, "mm", "", 26, 1.93, 47),
    Stated("btkdata/sample08_TESTBPI.c3d", 450, 50, "mm", "", 26, 1.93, 47),
    Stated("btkdata/sample08_TESTDPI.c3d", 450, 50, "mm", "", 26, 1.93, 47),
    Stated("btkdata/sample09_PlugInC3D.c3d", 281, 60, "mm", "+z", 16, 23.82, 96),
    Stated("btkdata/sample10_TYPE-2.C3D", 199, 60, "mm", "", 13, 25.24, 75),
    Stated("btkdata/sample13_golfswing.c3d", 514, 107.527, "mm", "", 29, 0),
    Stated("btkdata/sample15_FP1.C3D", 480, 60, "m", "", 8, 0),
    Stated("btkdata/sample21_sample21.c3d", 574, 60, "mm", "+z", 14, 0),
    Stated("btkdata/MyCube.c3d", 1, 50, "mm", "", 14, 0),
    Stated("btkdata/shd01.c3d", 237, 250, "mm", "", 27, 0),
    # The README's 29 takes the four foot markers RFOO and LFOO (each twice) for model outputs.
    Stated("btkdata/Gait.c3d", 487, 100, "mm", "+z", 29, 60.23, 164),
    Stated("btkdata/PiG_Calibration-FlatFoot-Full.c3d", 94, 100, "mm", "+z", 35, 0),
    Stated("btkdata/PiG_Motion-FlatFoot-Full.c3d", 315, 100, "mm", "+z", 35, 0.27, 30),
    Stated("btkdata/PiG_Calibration-FlatFoot-One.c3d", 1, 100, "mm", "+z", 35, 0),
    Stated("ezc3d_testfiles/Qualisys.c3d", 340, 200, "mm", "+z", 55, 0),
    Stated("ezc3d_testfiles/FP_Type1.c3d", 634, 100, "m", "+y", 22, 0),
    Stated("ezc3d_testfiles/FP_Type3.c3d", 2, 250, "mm", "", 34, 0),
    Stated("ezc3d_testfiles/read_NOTworking2.c3d", 670, 25, "mm", "", 23, 0),
    Stated("kineticstoolkit/walkingOptiTrack.c3d", 3361, 160, "mm", "", 12, 7.43, 1007),
    Stated("kineticstoolkit/sprintbasket.c3d", 3678, 120, "m", "", 26, 38.76, 1760),
    Stated("kineticstoolkit/sample_probing_acromion_R.c3d", 140, 69.5, "m", "+y", 41, 0.03, 1),
    Stated("kineticstoolkit/sample_probing_olecrane_R.c3d", 140, 69.5, "m", "", 41, 2.44, 140),
    Stated("pycgm/Movement_trial.c3d", 323, 120, "mm", "+z", 39, 0),
    Stated("pycgm/Sample_Static.c3d", 275, 100, "mm", "+z", 35, 0),
    Stated("biomechzoo/HC002D02.c3d", 51, 100, "mm", "+z", 118, 0),
    Stated("biomechzoo/HC002D06.c3d", 255, 100, "mm", "+z", 99, 0.05, 12),
    Stated("biobuddy/static.c3d", 138, 100, "mm", "+z", 49, 0),
    Stated("biobuddy/static_rotated.c3d", 138, 100, "mm", "+y", 49, 0),
    Stated("biobuddy/static_lower_body.c3d", 344, 100, "mm", "", 100, 78.71, 344),
    Stated("opensim_core/test_walking.c3d", 806, 250, "mm", "+z", 38, 31.61, 293),
]

TRC = [
    Stated("nimblephysics/Subject4_static1.trc", 517, 100, "m", "+y", 55, 0),
    Stated("nimblephysics/Subject4_walking1.trc", 131, 100, "m", "+y", 51, 1.87, 117),
    Stated("nimblephysics/Subject4_squats1.trc.gz", 1346, 100, "m", "+y", 51, 0),
    Stated("nimblephysics/Subject4_DJ1.trc", 269, 100, "m", "+y", 51, 0.03, 3),
    Stated("nimblephysics/OpenCapUnfiltered_walking2.trc", 136, 100, "m", "+y", 51, 1.5, 5),
    Stated("nimblephysics/Hamner_run300.trc", 216, 100, "m", "+y", 42, 0),
    # The README states no gaps; 71 samples are exactly (0, 0, 0), which it does not count.
    Stated("nimblephysics/WeirdFormatTests_markers.trc", 281, 100, "m", "+y", 61, 0.41),
    Stated("nimblephysics/subject18_synthetic_walk2.trc", 215, 200, "m", "+y", 54, 0),
    Stated("nimblephysics/Tiziana2019_markers.trc", 185, 200, "mm", "+y", 29, 0),
    Stated("btkdata/Gait.trc", 487, 100, "mm", "+z", 33, 45.46, 159),
    Stated("btkdata/Knee.trc", 200, 200, "mm", "", 71, 24.38, 200),
    Stated("btkdata/MOTEK_T.trc", 89, 30, "mm", "+y", 41, 0),
    Stated("btkdata/MOTEK_ballet_reduced.trc", 100, 30, "mm", "+y", 41, 0),
    Stated("btkdata/UpperLimbStatic.trc", 146, 100, "mm", "", 34, 0),
    Stated("biobuddy/static.trc", 138, 100, "m", "+z", 49, 0),
    Stated(
        "opensim_core/dataWithBlanksForMissingMarkers.trc", 464, 250, "mm", "+z", 40, 80.85, 463
    ),
    Stated("opensim_core/dataWithEformat.trc", 5, 119.88, "m", "", 14, 0),
    Stated("opensim_core/dataWithNaNsOfDifferentCases.trc", 5, 250, "mm", "", 14, 7.14, 5),
    Stated("opensim_core/exampleFormat.trc", 5, 100, "m", "", 3, 13.33, 1),
    Stated("opensim_core/subject01_synthetic_marker_data.trc", 73, 60, "m", "+y", 31, 0),
    Stated("opensim_core/subject01_static.trc", 300, 60, "mm", "+y", 49, 0),
    Stated("opensim_core/init100.trc", 120, 120, "mm", "+z", 22, 0),
    Stated("opensim_core/gait10dof_subject01_walk.trc", 151, 60, "mm", "+y", 41, 0),
    Stated("opensim_core/rajagopal_markers_walk.trc", 238, 100, "mm", "+y", 41, 0),
    Stated("opensim_core/walk_free_01.trc", 73, 60, "mm", "+y", 41, 0),
    Stated("pose2sim_blender/Pose2Sim_markers.trc", 100, 60, "m", "+y", 21, 0),
]

KINECT = [
    Stated("keraal/G3-Kinect-CTK-P1T1-Unknown-C-0.txt", 197, 30, "m", "+y", 25, 0),
    Stated("keraal/G3-Kinect-ELK-P1T1-Unknown-C-0.txt", 193, 30, "m", "+y", 25, 0),
    Stated("keraal/G3-Vicon-CTK-P1T1-Unknown-C-0.txt", 390, 60, "mm", "+z", 17, 0),
    Stated("keraal/G3-Vicon-ELK-P1T1-Unknown-C-0.txt", 385, 60, "mm", "+z", 17, 0),
    Stated("labanotation/KinectReader_joints.csv", 371, 30, "m", "", 25, 0),
    Stated("labanotation/Ges01_wavehand.csv", 154, 30, "m", "", 25, 0),
    Stated("labanotation/Ges03_drawlines.csv", 213, 30, "m", "", 25, 0),
    Stated("labanotation/Ges06_chickenwing.csv", 160, 30, "m", "", 25, 0),
]
