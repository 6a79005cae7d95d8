"""The values of variables in every state of a UMB file, as names of states: x=1,y=2.

The values of a state are packed bit by bit, from the lowest bit of the first byte on:

    {"variables": [{"name": "x", "type": {"type": "uint", "size": 4}, "offset": 0}, {"padding": 4}, …]}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from painless.problem.formats.umb.archive import Archive

SIZES = {"bool": 1, "int": 64, "uint": 64, "double": 64}  # bits of a type, if none are given
BLOCK = 2**16  # states that are unpacked together


def state_names(archive: Archive, index: Mapping[str, Any], states: int) -> list[str] | None:
    """Return a name for every state; None if there are no values, or of kinds that are not read: texts and several classes."""
    about = (index.get("valuations") or {}).get("states")
    if about is None or len(about["classes"]) != 1 or about.get("#strings"):
        return None
    fields = about["classes"][0]["variables"]
    if any(
        ("type" in field and field["type"]["type"] not in SIZES) or field.get("is-optional")
        for field in fields
    ):
        return None
    widths = [_width(field) for field in fields]
    size = -(-sum(widths) // 8)
    packed = archive.array("valuations/states/valuations.bin", "u1", states * size).reshape(states, size)
    names: list[str] = []
    for begin in range(0, states, BLOCK):
        bits = np.unpackbits(packed[begin : begin + BLOCK], axis=1, bitorder="little")
        names += _named(bits, fields, widths)
    return names


def _width(field: Mapping[str, Any]) -> int:
    if "padding" in field:
        return int(field["padding"])
    return int(field["type"].get("size", SIZES[field["type"]["type"]]))


def _named(bits: NDArray[np.uint8], fields: list[Any], widths: list[int]) -> list[str]:
    """Return the names of some states from their bits, (n, bits)."""
    ends = np.cumsum(widths)
    columns = [
        [f"{field['name']}={value}" for value in _values(bits[:, end - width : end], field)]
        for field, width, end in zip(fields, widths, ends.tolist(), strict=True)
        if "padding" not in field
    ]
    return [",".join(parts) for parts in zip(*columns, strict=True)] if columns else [""] * len(bits)


def _values(bits: NDArray[np.uint8], field: Mapping[str, Any]) -> list[Any]:
    """Return the values of one variable, from its bits (n, width)."""
    kind, width = field["type"]["type"], bits.shape[1]
    if kind == "bool":
        return ["true" if value else "false" for value in bits[:, 0].tolist()]
    whole = np.zeros((len(bits), 64), np.uint8)
    whole[:, :width] = bits
    if kind == "int":
        whole[:, width:] = bits[:, -1:]  # the sign
    raw = np.packbits(whole, axis=1, bitorder="little")
    if kind == "double":
        return raw.view("<f8")[:, 0].tolist()
    return [
        value + (field.get("offset") or 0)
        for value in raw.view("<i8" if kind == "int" else "<u8")[:, 0].tolist()
    ]
