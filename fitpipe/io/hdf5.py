"""HDF5 and netCDF-4: arrays with labels, datasets of ``movement``, tracks of SLEAP."""

from __future__ import annotations

from typing import Any

from fitpipe.errors import InputError
from fitpipe.io.arrays import KNOWN, MOST_BYTES, POSITION, damaged, takes_of
from fitpipe.io.raw import Format, RawTake, ReadOptions
from fitpipe.io.textfile import FileHead

_MAGIC = b"\x89HDF\r\n\x1a\n"
_CLASSIC = (b"CDF\x01", b"CDF\x02", b"CDF\x05")
_MOST_RATIO = 1100  # deflate packs no better than 1032 to 1


def _read(head: FileHead, options: ReadOptions) -> list[RawTake]:
    del options
    import h5py

    try:
        with h5py.File(head.path, "r") as file:
            held = sorted(file)
            attributes = {key: value for key, value in file.attrs.items() if key in KNOWN}
            values: dict[str, Any] = {}
            for name in held:
                if name in KNOWN and isinstance(file.get(name), h5py.Dataset):
                    values[name] = _whole(head, file[name])
            name = next((name for name in POSITION if name in values), None)
            if name is not None:
                if "units" in file[name].attrs:
                    attributes["units"] = file[name].attrs["units"]
                if values[name].ndim == 4:
                    attributes["dims"] = _dims(file[name])
    except _DAMAGE as error:
        raise damaged(head.path, "HDF5", error) from error
    return takes_of(head.path, {**attributes, **values}, held)


_DAMAGE = (
    OSError, RuntimeError, KeyError, ValueError, TypeError, MemoryError, OverflowError,
    UnicodeDecodeError, NotImplementedError, AttributeError,
)  # fmt: skip


def _whole(head: FileHead, dataset: Any) -> Any:
    """A dataset's values, if the file can hold as much as it announces."""
    n_bytes = dataset.size * max(dataset.dtype.itemsize, 1) if dataset.size else 0
    stored = dataset.id.get_storage_size()
    if n_bytes > MOST_BYTES or n_bytes > _MOST_RATIO * stored + 65536:
        raise InputError(
            f"{dataset.name} announces {n_bytes:.3g} bytes and {stored} are stored",
            path=head.path,
            hint="copy the file again",
        )
    return dataset[()]


def _dims(dataset: Any) -> tuple[str, ...]:
    """Names of the axes of a netCDF variable; empty if it has none."""
    names = []
    for dim in dataset.dims:
        name = dim.label or (dim[0].name.rsplit("/", 1)[-1] if len(dim) else "")
        names.append({"keypoint": "keypoints", "individual": "individuals"}.get(name, name))
    return tuple(names) if all(names) else ()


def _refuse_classic(head: FileHead, options: ReadOptions) -> list[RawTake]:
    del options
    raise InputError(
        "is a classic netCDF file, which is not read",
        path=head.path,
        hint='save it as netCDF-4: dataset.to_netcdf(path, engine="h5netcdf")',
    )


FORMAT = Format(
    "hdf5", (".h5", ".hdf5", ".hdf", ".nc"), lambda head: head.start.startswith(_MAGIC), _read
)
CLASSIC = Format("netcdf-classic", (".nc",), lambda h: h.start[:4] in _CLASSIC, _refuse_classic)
