"""One run that is killed at a random moment and begun again, and what must hold throughout."""

from __future__ import annotations

import contextlib
import random
import shutil
import time
from collections import Counter

import psutil

N_TAKES = 10
NAMES = tuple(f"slow_{i}" for i in range(N_TAKES))
_GONE_S = 10.0


def right_images(project):
    """The outputs of a run that nobody disturbs."""
    project.with_workers(2)
    code, _, err = project.run()
    assert code == 0, err
    return project.images()


def kill_run(project, right, seed):
    """Kill the run or one of its workers, check what is there, begin again, check the end.

    Returns a Counter of what was killed, when, and what was found.
    """
    rng = random.Random(seed)  # noqa: S311 - a seed, no secret
    shutil.rmtree(project.out, ignore_errors=True)
    told = Counter(runs=1)
    project.with_workers(rng.choice([1, 2]))
    process = project.start()
    try:
        _wait(project, process, rng)
        victim = process.pid if rng.random() < 0.6 else _worker_of(process.pid, rng)
        family = psutil.Process(process.pid).children(recursive=True) if _lives(process) else []
        if victim is not None and _lives(process):
            with contextlib.suppress(psutil.NoSuchProcess):
                psutil.Process(victim).kill()
                told["parents killed" if victim == process.pid else "workers killed"] += 1
        _, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert "Traceback" not in err, err
    _, left = psutil.wait_procs(family, timeout=_GONE_S)
    assert not left, "workers outlive their run"

    project.check_truth(right)
    told["outputs checked after the kill"] += len(project.images())
    told["part files left by the kill"] += len(project.parts())
    done = {name for name, row in project.journal().items() if row["status"] == "fitted"}
    found = {path.stem for path in project.out.glob("*.h5")}
    assert done <= found
    told["outputs that the journal had not told of yet"] += len(found - done)
    stamps = _stamps(project, found)

    project.with_workers(1)
    code, _, err = project.run()
    assert code == 0, err
    project.check_truth(right)
    assert project.images() == right
    assert [row["status"] for row in project.summary().values()] == ["fitted"] * N_TAKES
    assert project.parts() == []
    assert _stamps(project, found) == stamps, "a finished take was made again"
    told["finished takes kept"] += len(found)
    return told


def _wait(project, process, rng):
    """Until some moment while the run starts, or some moment while a take is at work."""
    if rng.random() < 0.15:
        time.sleep(rng.uniform(0, 1.5))
        return
    wanted = rng.randrange(N_TAKES)
    while _lives(process) and len(list(project.out.glob("*.h5"))) < wanted:
        time.sleep(0.001)
    time.sleep(rng.uniform(0, 0.06))


def _stamps(project, names):
    return {name: (project.out / f"{name}.h5").stat().st_mtime_ns for name in names}


def _lives(process):
    return process.poll() is None


def _worker_of(pid, rng):
    try:
        children = psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return None
    return rng.choice(children).pid if children else None
