"""What Wasmtime's own Python API for components costs for a list of bytes, in both directions.

uv run python benchmarks/component_api.py

The component gives back what it is given. docs/dependencies.md says what is decided by this.
"""

from __future__ import annotations

import resource
from time import process_time

from wasmtime import Config, Engine, Store, WasmtimeError, wat2wasm
from wasmtime.component import Component, Linker

ECHO = """
(component
  (core module $m
    (memory (export "memory") 1)
    (global $top (mut i32) (i32.const 1024))
    (func (export "realloc") (param i32 i32 i32 i32) (result i32)
      (local $at i32)
      (local.set $at (global.get $top))
      (global.set $top (i32.add (global.get $top) (local.get 3)))
      (block $fits
        (br_if $fits (i32.le_u (global.get $top) (i32.mul (memory.size) (i32.const 65536))))
        (drop (memory.grow (i32.add (i32.div_u (local.get 3) (i32.const 65536)) (i32.const 1)))))
      (local.get $at))
    (func (export "echo") (param i32 i32) (result i32)
      (i32.store (i32.const 16) (local.get 0))
      (i32.store (i32.const 20) (local.get 1))
      (i32.const 16)))
  (core instance $i (instantiate $m))
  (func (export "echo") (param "rows" (list u8)) (result (list u8))
    (canon lift (core func $i "echo") (memory (core memory $i "memory")) (realloc (core func $i "realloc")))))
"""


def main() -> None:
    config = Config()
    config.consume_fuel = True
    engine = Engine(config)
    component = Component(engine, bytes(wat2wasm(ECHO)))
    for mib in (1, 2, 4, 16):
        store = Store(engine)
        store.set_limits(memory_size=256 << 20)
        store.set_fuel(20_000_000_000)
        echo = Linker(engine).instantiate(store, component).get_func(store, "echo")
        assert echo is not None
        given = bytes(mib << 20)
        start = process_time()
        try:
            answered = echo(store, given) == given
        except WasmtimeError as refused:
            answered = str(refused).splitlines()[-1]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        print(
            f"{mib:3} MiB: {process_time() - start:5.1f} CPU s, answered: {answered}, peak of the process {peak:,} MiB"
        )


if __name__ == "__main__":
    main()
