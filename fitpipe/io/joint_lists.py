"""Names of joints by their number, for arrays that come without names."""

from __future__ import annotations

from typing import Final

MEDIAPIPE: Final = (
    "nose", "left_eye_inner", "left_eye", "left_eye_outer", "right_eye_inner", "right_eye",
    "right_eye_outer", "left_ear", "right_ear", "mouth_left", "mouth_right", "left_shoulder",
    "right_shoulder", "left_elbow", "right_elbow", "left_wrist", "right_wrist", "left_pinky",
    "right_pinky", "left_index", "right_index", "left_thumb", "right_thumb", "left_hip",
    "right_hip", "left_knee", "right_knee", "left_ankle", "right_ankle", "left_heel", "right_heel",
    "left_foot_index", "right_foot_index",
)  # fmt: skip
"""The 33 landmarks of MediaPipe Pose (BlazePose), in its order."""

_BODY: Final = (
    "pelvis", "left_hip", "right_hip", "spine1", "left_knee", "right_knee", "spine2", "left_ankle",
    "right_ankle", "spine3", "left_foot", "right_foot", "neck", "left_collar", "right_collar",
    "head", "left_shoulder", "right_shoulder", "left_elbow", "right_elbow", "left_wrist",
    "right_wrist",
)  # fmt: skip
_FINGERS: Final = tuple(
    f"{side}_{finger}{i}"
    for side in ("left", "right")
    for finger in ("index", "middle", "pinky", "ring", "thumb")
    for i in (1, 2, 3)
)
SMPL: Final = {
    22: _BODY,
    24: (*_BODY, "left_hand", "right_hand"),
    52: (*_BODY, *_FINGERS),
    55: (*_BODY, "jaw", "left_eye_smplhf", "right_eye_smplhf", *_FINGERS),
}
"""Joints of the SMPL body models: 22 of the body, 24 of SMPL, 52 of SMPL-H, 55 of SMPL-X."""

# MediaPipe Holistic as FreeMoCap stores it: body, both hands, and with 543 or 553 the face
MEDIAPIPE_COUNTS: Final = (33, 75, 543, 553)


def mediapipe_names(n_points: int) -> tuple[str, ...]:
    """Names of the points of a MediaPipe array: the body's first, then placeholders."""
    hands = [f"{side}_hand_{i}" for side in ("right", "left") for i in range(21)]
    face = [f"face_{i}" for i in range(max(0, n_points - 75))]
    return (*MEDIAPIPE, *hands, *face)[:n_points]
