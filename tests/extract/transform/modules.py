"""Small components, written by hand: what they answer is written into them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pyarrow as pa
from wasmtime import wat2wasm

from hakiri.errors import Place
from hakiri.extract.transform.component import Component, read_component
from hakiri.extract.transform.reshape import Placed, Reshape
from hakiri.extract.transform.stream import to_stream
from hakiri.spec.component import ComponentSpec

PLACE = Place("hakiri.toml", 7)
FILE = "components/a.wasm"
ECHO = "(call $answer (i32.const 0) (local.get $at) (local.get $length))"
_AT = 1024
_WRAPPED = b"\0asm\x0d\x00\x01\x00"

_MODULE = """
(module
  {imports}
  (memory (export "memory") {pages})
  (global $free (mut i32) (i32.const 2097152))
  (func $realloc (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    (local $at i32)
    {realloc}
    (local.set $at (global.get $free))
    (global.set $free (i32.and (i32.add (i32.add (local.get $at) (local.get 3)) (i32.const 15)) (i32.const -16)))
    (block $fits
      (loop $more
        (br_if $fits (i32.le_u (global.get $free) (i32.mul (memory.size) (i32.const 65536))))
        (br_if $more (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))
        unreachable))
    (local.get $at))
  (func $answer (param $tag i32) (param $at i32) (param $length i32) (result i32)
    (i32.store (i32.const 0) (local.get $tag))
    (i32.store (i32.const 4) (local.get $at))
    (i32.store (i32.const 8) (local.get $length))
    (global.set $free (i32.const 2097152))
    (i32.const 0))
  (func (export "hakiri:connector/transform@0.1.0#prepare") (param $at i32) (param $length i32) (result i32)
    {prepare})
  (func (export "hakiri:connector/transform@0.1.0#apply") (param $at i32) (param $length i32) (result i32)
    {apply})
  {extra})
"""


def module(*, prepare: str = ECHO, apply: str = ECHO, pages: int = 33, **parts: str) -> bytes:
    """A component that gives back what it is given, or does what is said here."""
    rest = {"realloc": "", "imports": "", "extra": "", **parts}
    return bytes(wat2wasm(_MODULE.format(prepare=prepare, apply=apply, pages=pages, **rest)))


def wrapped(*modules: bytes) -> bytes:
    """A component around modules, or around other components."""
    parts = (bytes([4 if one.startswith(_WRAPPED) else 1]) + _leb128(len(one)) + one for one in modules)
    return _WRAPPED + b"".join(parts)


def _leb128(number: int) -> bytes:
    low, rest = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + _leb128(rest) if rest else bytes([low])


def answering(schema: pa.Schema, *answers: bytes) -> bytes:
    """A component that announces this schema and gives these answers in turn, the last one for ever."""
    announced = to_stream(schema)
    at, choice = _AT + len(announced), ""
    data = [bytes_at(_AT, announced)]
    for number, answer in enumerate(answers):
        data.append(bytes_at(at, answer))
        said = f"(return (call $answer (i32.const 0) (i32.const {at}) (i32.const {len(answer)})))"
        is_turn = (
            f"(i32.eq (global.get $turn) (i32.const {number + 1}))" if number + 1 < len(answers) else "(i32.const 1)"
        )
        choice += f"(if {is_turn} (then {said}))"
        at += len(answer)
    return module(
        prepare=f"(call $answer (i32.const 0) (i32.const {_AT}) (i32.const {len(announced)}))",
        apply=f"(global.set $turn (i32.add (global.get $turn) (i32.const 1))) {choice} unreachable",
        extra="(global $turn (mut i32) (i32.const 0))" + "".join(data),
    )


def saying(text: bytes) -> bytes:
    """A component that always fails with this text."""
    said = f"(call $answer (i32.const 1) (i32.const {_AT}) (i32.const {len(text)}))"
    return module(apply=said, extra=bytes_at(_AT, text))


def component(raw: bytes, **asked: Any) -> Component:
    limits = {"fuel": 50_000_000, "timeout": timedelta(seconds=20), "memory_mib": 64}
    return read_component(raw, ComponentSpec(component=FILE, **{**limits, **asked}), PLACE)


def reshape(*raws: bytes, **asked: Any) -> Reshape:
    """What components do to a table, one after the other."""
    return Reshape("things", tuple(Placed(component(raw, **asked), FILE, PLACE) for raw in raws))


def bytes_at(at: int, content: bytes) -> str:
    """Bytes that are in the memory of a component from the start."""
    return f'(data (i32.const {at}) "' + "".join(f"\\{byte:02x}" for byte in content) + '")'
