"""How the kernels are compiled: one set of flags, and a request for the widest vectors."""

# mypy: allow-untyped-defs, allow-untyped-calls
# (Numba infers the types of compiled functions; the Python faces are annotated.)

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numba
from numba.core import cgutils, types
from numba.extending import intrinsic

# "contract" (fused multiply-add) is fixed when the code is compiled, so the same frame gives the
# same bits in any lane and thread; nothing here assumes away NaN or infinity.
FASTMATH = {"contract"}


# Numba trusts a cached function while its own file is unchanged, even when it calls into a file
# that has changed. This stamp, of what all files of this folder say, is compared instead.
_SOURCES = sha256(b"".join(f.read_bytes() for f in sorted(Path(__file__).parent.glob("*.py"))))


def kernel(*, contract: bool = True) -> Any:
    """Numba decorator of every kernel: cached on disk, free of the GIL, IEEE division.

    Without `contract`, two places that compute the same expression get the same bits.
    """
    compiled = numba.njit(
        cache=True, nogil=True, error_model="numpy", fastmath=FASTMATH if contract else False
    )

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = compiled(function)
        if hasattr(dispatcher, "_cache"):  # not so with NUMBA_DISABLE_JIT
            dispatcher._cache._cache_file._source_stamp = _SOURCES.hexdigest()
        return dispatcher

    return decorate


def _prefer_widest_vectors(typing_context):  # noqa: ARG001 - numba's protocol
    def codegen(context, builder, signature, args):  # noqa: ARG001 - numba's protocol
        # llvmlite's own `add` knows no key="value" attributes, the LLVM text form does.
        set.add(builder.function.attributes, '"prefer-vector-width"="512"')
        return context.get_dummy_value()

    return types.void(), codegen


# Called in a kernel: asks LLVM for 512-bit vectors there, on a processor that has them.
prefer_widest_vectors: Any = intrinsic(_prefer_widest_vectors)


def _borrow(typing_context, array):  # noqa: ARG001 - numba's protocol
    def codegen(context, builder, signature, args):
        view = context.make_array(signature.args[0])(context, builder, args[0])
        view.meminfo = cgutils.get_null_value(view.meminfo.type)
        return view._getvalue()

    return array(array), codegen


# Called in a kernel: the same array without its reference count, so that slices of it and calls
# with it cost no atomic operations. The caller must keep the array alive.
borrow: Any = intrinsic(_borrow)
