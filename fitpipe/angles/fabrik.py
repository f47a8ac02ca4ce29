"""Forward and backward reaching (FABRIK) on trees, with what each joint can do.

The backward pass is Aristidou and Lasenby's, with the mean where branches meet. The forward pass
sets joint values, so hinges, slides and limits hold and bones keep their lengths exactly. Where
joints cannot follow the points and rounds stop helping, sweeps of coordinate descent finish.

References
----------
Aristidou, Lasenby (2011), Graphical Models 73(5), doi:10.1016/j.gmod.2011.05.003.
"""

from __future__ import annotations

from fitpipe.angles.settings import Settings
from fitpipe.kernels import ik_descent

SETTINGS = Settings(ik_descent.FABRIK, max_iterations=5000)
