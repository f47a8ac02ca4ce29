"""How the kernels are compiled: one set of flags, and a request for the widest vectors."""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions; the Python faces are annotated.)

from __future__ import annotations

from typing import Any

import numba
from numba.core import types
from numba.extending import intrinsic

# "contract" (fused multiply-add) is fixed when the code is compiled, so the same frame gives the
# same bits in any lane and thread; nothing here assumes away NaN or infinity.
FASTMATH = {"contract"}


def kernel(**options: Any) -> Any:
    """Numba decorator of every kernel: cached on disk, free of the GIL, IEEE division."""
    return numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FASTMATH, **options)


def _prefer_widest_vectors(typing_context):  # noqa: ARG001 - numba's protocol
    def codegen(context, builder, signature, args):  # noqa: ARG001 - numba's protocol
        # llvmlite's own `add` knows no key="value" attributes, the LLVM text form does.
        set.add(builder.function.attributes, '"prefer-vector-width"="512"')
        return context.get_dummy_value()

    return types.void(), codegen


# Called in a kernel: asks LLVM for 512-bit vectors there, on a processor that has them.
prefer_widest_vectors: Any = intrinsic(_prefer_widest_vectors)
