"""Runs a WebAssembly component in a sandbox, with limited memory, fuel and time, and only the permitted imports.

It runs the core module inside the component, and implements the canonical ABI of the component model itself: Wasmtime's
Python API for components creates an object for every byte, takes 4 s per MiB, and refuses an answer of 4 MiB.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Timer
from time import monotonic
from typing import cast
from weakref import finalize

from wasmtime import (
    Config,
    Engine,
    Func,
    FuncType,
    Linker,
    Memory,
    MemoryType,
    Module,
    Store,
    Trap,
    TrapCode,
    ValType,
    WasmtimeError,
)

from hakiri.extract.transform.network import MAX_REQUEST_BYTES, Network, Unanswered

TRANSFORM = "hakiri:connector/transform@0.1.0"
NETWORK = "hakiri:connector/network@0.1.0"
MAX_ANSWER_BYTES = 64 << 20
_MAX_SAID = 300
_WORD, _PAGE = 0xFFFFFFFF, 1 << 16
_SIGNATURES = {
    f"{TRANSFORM}#prepare": (2, 1),
    f"{TRANSFORM}#apply": (2, 1),
    "cabi_realloc": (4, 1),
}


@dataclass
class Unfit(Exception):
    """The module cannot be used as a transform."""

    reason: str
    advice: str | None = None


@dataclass
class Failure(Exception):
    """The component returned an error, crashed, or gave an invalid answer."""

    reason: str


class Excess(Failure):
    """The component was stopped at a limit."""


class Silence(Failure):
    """The component failed after one of its requests got no answer."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a guest. Fuel and time apply to each call."""

    memory_bytes: int
    fuel: int
    seconds: float


def compiled(raw: bytes) -> bytes:
    """Compile a module to machine code of this platform, without running it. A repeat uses the user's cache.

    Raises Unfit.
    """
    try:
        module = Module(_engine(is_cached=True), raw)
    except WasmtimeError as wrong:
        raise Unfit(f"is not WebAssembly that runs here: {_line(wrong)}") from wrong
    _require_exports(module)
    return bytes(module.serialize())


def imports_of(code: bytes) -> list[str]:
    """Return the names of the modules that compiled code imports."""
    return list(dict.fromkeys(str(one.module) for one in _module(_engine(), code, b"").imports))


class Guest:
    """One running component with its own memory."""

    def __init__(self, code: bytes, raw: bytes, limits: Limits, network: Network | None = None) -> None:
        """Start the component. `raw` is used if `code` was compiled on another platform.

        Raises Failure: the limits also apply to code that runs at the start.
        """
        self._limits = limits
        self._network = network
        self._engine = _engine()
        self._store = Store(self._engine)
        # At exit, before Python takes its modules apart: a store that is deleted later ends in a segmentation fault.
        finalize(self, self._store.close)
        self._store.set_limits(
            memory_size=limits.memory_bytes, table_elements=1 << 20, instances=1, tables=8, memories=1
        )
        self._deadline = 0.0
        self._was_cut_off = False
        self._functions: dict[str, Func] = {}
        module = _module(self._engine, code, raw)
        _require_modest(module, limits)
        linker = Linker(self._engine)
        if network is not None:
            linker.define_func(NETWORK, "send", FuncType([ValType.i32()] * 9, []), self._send)
        with self._limited():
            exports = linker.instantiate(self._store, module).exports(self._store)
        self._memory = cast("Memory", exports["memory"])
        self._functions = {name: one for name, one in exports.items() if isinstance(one, Func)}

    def prepare(self, schema: bytes) -> bytes:
        """Return the schema of the result for rows of this schema. Raises Failure."""
        return self._call("prepare", schema)

    def apply(self, rows: bytes) -> bytes:
        """Apply the component to some rows. It may keep state. Raises Failure."""
        return self._call("apply", rows)

    def _call(self, name: str, given: bytes) -> bytes:
        self._was_cut_off = False
        with self._limited():
            at = self._put(given)
            answer = self._ask(f"{TRANSFORM}#{name}", at, len(given))
            is_error, where, length = struct.unpack("<III", self._read(answer, 12))
            if is_error & 0xFF:
                said = self._read(where, min(length, 4 * _MAX_SAID))
                kind = Silence if self._was_cut_off else Failure
                raise kind(f"it says: {_printable(said.decode(errors='replace'))}")
            if length > MAX_ANSWER_BYTES:
                raise Excess(f"its answer has more than {MAX_ANSWER_BYTES >> 20} MiB")
            found = self._read(where, length)
            if f"cabi_post_{TRANSFORM}#{name}" in self._functions:
                self._functions[f"cabi_post_{TRANSFORM}#{name}"](self._store, answer)
        return found

    @contextmanager
    def _limited(self) -> Iterator[None]:
        """Enforce the limits of fuel and time on what runs inside."""
        self._store.set_fuel(self._limits.fuel)
        self._store.set_epoch_deadline(1)
        self._deadline = monotonic() + self._limits.seconds
        watch = Timer(self._limits.seconds, self._engine.increment_epoch)
        watch.daemon = True
        watch.start()
        try:
            yield
        except Trap as trap:
            raise self._failure_of(trap) from None
        except (WasmtimeError, IndexError) as wrong:
            raise Failure(_line(wrong)) from None
        finally:
            watch.cancel()
            watch.join()

    def _failure_of(self, trap: Trap) -> Failure:
        match trap.trap_code:
            case TrapCode.OUT_OF_FUEL:
                return Excess(f"it took more than {self._limits.fuel:,} instructions at once")
            case TrapCode.INTERRUPT:
                return Excess(f"it took longer than {self._limits.seconds:g} s at once")
            case TrapCode.STACK_OVERFLOW:
                return Excess("it called itself too often")
            case TrapCode.UNREACHABLE:
                return Failure("it gave up, as code does that finds no memory or meets what it did not expect")
            case code:
                return Failure(
                    f"it broke down ({code.name.lower().replace('_', ' ') if code else 'for no known reason'})"
                )

    def _ask(self, name: str, *given: int) -> int:
        """Call a function and return the address that it gives, as an unsigned integer."""
        return int(self._functions[name](self._store, *given)) & _WORD

    def _put(self, given: bytes) -> int:
        at = self._ask("cabi_realloc", 0, 0, 8, len(given))
        self._write(at, given)
        return at

    def _write(self, at: int, given: bytes) -> None:
        if at + len(given) > self._memory.data_len(self._store):
            raise Failure("it gave a place outside its memory")
        self._memory.write(self._store, bytearray(given), at)

    def _read(self, at: int, length: int) -> bytes:
        if at + length > self._memory.data_len(self._store):
            raise Failure("it gave a place outside its memory")
        return bytes(self._memory.read(self._store, at, at + length)) if length else b""

    def _send(self, *given: int) -> None:
        """Implement `network.send`: four byte strings, and the address for the answer."""
        if self._network is None or not self._functions:
            raise Failure("it sends a request before it is asked for anything")
        *places, into = (one & _WORD for one in given)
        pieces = [self._piece(at, length) for at, length in zip(places[::2], places[1::2], strict=True)]
        method, url, kind = (one.decode(errors="replace") for one in pieces[:3])
        try:
            status, answer = self._network.send(method, url, kind, pieces[3], seconds=self._deadline - monotonic())
            head = _words(0, status)
        except Unanswered as unanswered:
            self._was_cut_off = self._was_cut_off or unanswered.may_pass
            head, answer = _words(1), unanswered.reason.encode()
        self._write(into, head + _words(self._put(answer), len(answer)))

    def _piece(self, at: int, length: int) -> bytes:
        if length > MAX_REQUEST_BYTES:
            raise Excess(f"it sends more than {MAX_REQUEST_BYTES >> 20} MiB")
        return self._read(at, length)


def _engine(*, is_cached: bool = False) -> Engine:
    config = Config()
    if is_cached:
        with suppress(WasmtimeError):  # without a cache it is only slower
            config.cache = True
    config.consume_fuel = True
    config.epoch_interruption = True
    config.cranelift_nan_canonicalization = True  # the same result on every machine
    config.wasm_relaxed_simd_deterministic = True
    for unused in ("wasm_threads", "wasm_memory64", "wasm_multi_memory", "wasm_gc", "wasm_exceptions"):
        setattr(config, unused, False)
    return Engine(config)


def _module(engine: Engine, code: bytes, raw: bytes) -> Module:
    try:
        return Module.deserialize(engine, code)
    except WasmtimeError:
        return Module(engine, raw)


def _require_exports(module: Module) -> None:
    there = {one.name: one.type for one in module.exports}
    for name, shape in _SIGNATURES.items():
        kind = there.get(name)
        if not isinstance(kind, FuncType) or _shape(kind) != shape:
            advice = "build it for the world `transformer` of connector.wit; docs/transforms.md shows how"
            raise Unfit(f"has no function `{name}` of the interface", advice)
    if not isinstance(there.get("memory"), MemoryType):
        raise Unfit("has no memory that it shares with its host")


def _require_modest(module: Module, limits: Limits) -> None:
    for one in module.exports:
        if isinstance(one.type, MemoryType) and one.type.limits.min * _PAGE > limits.memory_bytes:
            raise Excess(f"it begins with more memory than the {limits.memory_bytes >> 20} MiB it may have")


def _shape(kind: FuncType) -> tuple[int, int] | None:
    """Return the numbers of 32-bit parameters and results; None if there are other types."""
    if any(one != ValType.i32() for one in (*kind.params, *kind.results)):
        return None
    return len(kind.params), len(kind.results)


def _words(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}I", *numbers)


def _printable(text: str) -> str:
    return "".join(one if one.isprintable() else " " for one in text)[:_MAX_SAID]


def _line(wrong: Exception) -> str:
    return _printable(str(wrong).strip().partition("\n")[0])
