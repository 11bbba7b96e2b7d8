"""From SSA to the text of one MLIR function that runs a range of programs.

``func @kernel(args, lo, hi)`` runs programs ``lo`` to ``hi`` of the grid, axis 0 counting fastest.
``args`` points to 64-bit slots: the kernel's parameters in order, then the three grid sizes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import mytriton.plugin_api as mt
from mytriton.analysis.axis import AxisInfo, axis_info, value_info
from mytriton.transforms.dce import DCE

from . import memory, structured, talk, values
from .ahead import give_hints
from .builder import Level, Val
from .deep import deepen
from .evaluate import Buffer, pointee
from .facts import FOLDS, Facts
from .fold import Fold
from .fuse import fuse_products
from .guard import guarded
from .nest import Nest
from .plan import DEEP, Branch, Group, Loop, Planner, Root, Step, While
from .product import Product
from .scratch import STACK_BYTES, Scratch, count
from .target import Target
from .tile import AxisMap
from .tiled import CHUNK_TRIPS, Chunk, enter, unpack
from .visit import visit

#: Bytes that arrays of a streaming variant are aligned to.
STREAM_ALIGNMENT = 16


@dataclass(frozen=True)
class Assumptions:
    """What a variant of the code may rely on. ``classes``: for each pointer parameter, its alias
    class; ``streaming``: stores bypass the caches."""

    classes: tuple[tuple[str, int], ...]
    exact: bool = True
    streaming: bool = False


def default_assumptions(function: mt.SSAFunction) -> Assumptions:
    """No two arrays overlap, and they fit the caches."""
    pointers = [p.name for p in function.params if mt.is_pointer(p.ty)]
    return Assumptions(tuple((name, k) for k, name in enumerate(pointers)))


class Emitter(Scratch):
    """One function being written."""

    def __init__(self, function: mt.SSAFunction, target: Target, assume: Assumptions) -> None:
        from .builder import Builder

        self.facts = Facts(function, dict(assume.classes))
        self.facts.exact_classes = assume.exact
        super().__init__(Builder(), function, self.facts.affine, self.facts.makers)
        self.function = function
        self.target = target
        self.maskable = target.maskable
        self.streaming = assume.streaming
        self.planner = Planner(self.facts, target.registers, target.vector_bits)
        self.run_loop = self._fused_loop
        #: The loop that is being written chunk by chunk, and the bounds of a chunk.
        self.chunk: Chunk | None = None
        self._axes: dict[int, AxisInfo] | None = None
        self._loaded: dict[int, bool] = {}
        #: String constants, and their names.
        self.texts: dict[str, str] = {}

    # ------------------------------------------------------------------ the function

    def kernel(self, entry: str) -> str:
        """The module's text."""
        b = self.b
        args = Val("%args", "!llvm.ptr", 0, b.root)
        for k, param in enumerate(self.function.params):
            self.params[param.name] = self._parameter(args, k, param)
        slots = len(self.function.params)
        sizes = [self._slot(args, slots + axis, "i64") for axis in range(3)]
        iv, body = b.name("p"), b.push()
        program = Val(iv, "i64", 0, body)
        self._program_ids(program, sizes)
        self.program, self.grid = program, sizes
        for axis, size in enumerate(sizes):
            self.num_programs[axis] = b.cast("arith.trunci", size, "i32")
        self.home = body
        guarded(self, self.planner.body(self.function.body))
        b.pop()
        low, high = Val("%lo", "i64", 0, b.root), Val("%hi", "i64", 0, b.root)
        b.loop(b.root, iv, (low, high, b.constant(1, "i64")), [], body, [])
        return self._module(entry)

    def _module(self, entry: str) -> str:
        b = self.b
        status = b.constant(0, "i32").name
        heap = self.bytes > STACK_BYTES
        opening, closing = self.storage(heap)
        body = b.root.lines
        if self.texts:
            # A failed assertion, as what Python raises, jumps back to where the programs started.
            opening += [
                f"  %jump_bytes = arith.constant {talk.JUMP_BYTES} : i64",
                "  %jump = llvm.alloca %jump_bytes x i8 {alignment = 64 : i64} : (i64) -> !llvm.ptr",
                "  %back = llvm.call @_setjmp(%jump) : (!llvm.ptr) -> i32",
            ]
            started = f"    %started = arith.cmpi eq, %back, {status} : i32"
            body, status = self._guard(body, started, status, b.constant(talk.FAILED, "i32").name)
        if heap:
            # No memory: nothing has been run, and the launch raises MemoryError.
            there = "    %there = arith.cmpi ne, %storage_address, %no_address : i64"
            body, status = self._guard(body, there, status, b.constant(1, "i32").name)
        fence = ['  llvm.call_intrinsic "llvm.x86.sse.sfence"() : () -> ()'] if self.fences else []
        features = (
            f', passthrough = [["target-features", "{self.target.features}"]]'
            if self.target.features
            else ""
        )
        external = "".join(
            f"  llvm.func @{name}({', '.join([kind] * arity)}) -> {kind}\n"
            for name, kind, arity in sorted(b.externals)
        )
        if heap:
            external += "  llvm.func @malloc(i64) -> !llvm.ptr\n  llvm.func @free(!llvm.ptr)\n"
        if self.texts:
            external += talk.SAY + talk.globals_of(self)
        lines = [*b.constants(), *opening, *body, *fence, *closing]
        text = "\n".join(f"  {line}" for line in lines)
        return (
            f"module {{\n{external}"
            f"  func.func @{entry}(%args: !llvm.ptr, %lo: i64, %hi: i64) -> i32 "
            f"attributes {{no_inline{features}}} {{\n{text}\n    return {status} : i32\n  }}\n}}\n"
        )

    @staticmethod
    def _guard(
        body: list[str], condition: str, status: str, otherwise: str
    ) -> tuple[list[str], str]:
        """The lines of a body that runs under a condition, and the status of the whole."""
        name = condition.split()[0]
        lines = [
            condition,
            f"    {name}_status = scf.if {name} -> (i32) {{",
            *("  " + line for line in body),
            f"      scf.yield {status} : i32",
            "    } else {",
            f"      scf.yield {otherwise} : i32",
            "    }",
        ]
        return lines, f"{name}_status"

    @property
    def fences(self) -> bool:
        """Whether streaming stores must be made visible at the end."""
        return self.streaming and self.target.name != "neon"

    def _slot(self, args: Val, k: int, kind: str) -> Val:
        address = self.element(args, self.b.constant(k, "i64"), "i64")
        return self.load_at(address, kind, 0, self.b.root, aligned=True)

    def _parameter(self, args: Val, k: int, param: mt.Param) -> Val:
        if mt.is_pointer(param.ty):
            return self._slot(args, k, "!llvm.ptr")
        ty = mt.scalar_of(param.ty)
        if ty.is_floating():  # passed as f64: Python's float
            return values.convert(self.b, self._slot(args, k, "f64"), mt.F64, ty)
        return values.convert(self.b, self._slot(args, k, "i64"), mt.I64, ty)

    def _program_ids(self, program: Val, sizes: Sequence[Val]) -> None:
        used = {
            item.attrs["axis"]
            for item in mt.walk(self.function.body)
            if item.opcode == "program_id"
        }
        b, rest = self.b, program
        for axis in range(3):
            if axis in used:
                index = rest if axis == 2 else b.binary("arith.remui", rest, sizes[axis])
                self.program_ids[axis] = b.cast("arith.trunci", index, "i32")
            if any(later > axis for later in used):
                rest = b.binary("arith.divui", rest, sizes[axis])

    # ------------------------------------------------------------------ steps

    def steps(self, steps: Sequence[Step]) -> None:
        """Write the steps of a plan at the current level."""
        give_hints(self, steps)
        for step in steps:
            self.step(step)

    def step(self, step: Step) -> None:
        """Write one of them."""
        if isinstance(step, Group):
            Nest(self, step).write()
        elif isinstance(step, Loop):
            self._loop(step)
        elif isinstance(step, Branch):
            structured.branch(self, step)
        elif isinstance(step, While):
            structured.repeat(self, step)
        elif step.opcode in ("device_print", "device_assert"):
            talk.speak(self, step)
        elif step.opcode == "dot":
            Product(self, step).write()
        elif step.opcode in FOLDS:
            Fold(self, step).write()
        elif step.opcode == "store":
            _ptr, value, _ = step.operands
            memory.store(self, step, self.value(value), (), 0)
        elif step.results:
            self.value(step.results[0])
        else:
            raise mt.UnsupportedFeature(mt.get_op(step.opcode).feature_id, span=step.span)

    def _loop(self, plan: Loop) -> None:
        """A loop around nests: scalars and bases are carried in registers, blocks in buffers."""
        if plan.tiled:
            self._tiled_loop(plan)
            return
        loop, b, facts = plan.item, self.b, self.facts
        iv = b.name("k")
        scalars = [a for a in loop.carried_args if not mt.shape_of(a.ty) and facts.carries_data(a)]
        inputs = dict(zip((a.id for a in loop.carried_args), loop.carried_inputs))
        starts = [self.value(inputs[a.id]) for a in scalars]
        based, base_starts = self._base_starts(loop)
        for arg in plan.carried:
            self.buffers[arg.id] = self.owned[arg.id, False]
        self.staged |= plan.staged
        low, high, step = self._bounds(loop)
        deep = deepen(self, plan, (low, high, step), [*starts, *base_starts])
        if deep is not None:
            (low, high, step), starts = deep.bounds, deep.starts[: len(starts)]
            base_starts = deep.starts[len(starts) :]
        outer, level = b.level, b.push()
        home, self.home = self.home, level
        names = [Val(b.name("a"), s.kind, 0, level) for s in [*starts, *base_starts]]
        self._enter_loop(loop, iv, level, scalars, based, names)
        if deep is not None:
            deep.enter(Val(iv, "i64", 0, level))
            deep.steps(plan.body)
        else:
            self.steps(plan.body)
        for arg in plan.carried:
            if arg.id in plan.staged:
                self.copy_staged(arg)
        ends = dict(zip((a.id for a in loop.carried_args), loop.yields))
        yields = [self.value(ends[a.id]) for a in scalars]
        yields += [self._base(ends[a.id]) for a in based]
        b.pop()
        self.home = home
        pairs = [(n.name, s) for n, s in zip(names, [*starts, *base_starts])]
        results = b.loop(outer, iv, (low, high, step), pairs, level, yields)
        if deep is not None:
            results = deep.close(results)
        of = dict(zip((a.id for a in loop.carried_args), loop.results))
        for arg, val in zip([*scalars, *based], results):
            if arg in scalars:
                self.remember(of[arg.id], (), 0, val)
            else:
                self.bases[of[arg.id].id] = val
        for arg in plan.carried:
            self.buffers[of[arg.id].id] = self.buffers[arg.id]

    def _bounds(self, loop: mt.SSAForRange) -> tuple[Val, Val, Val]:
        def wide(operand: mt.SSAOperand) -> Val:
            assert operand is not None
            signed = mt.scalar_of(operand.ty).is_signed()
            return values.resize(self.b, self.value(operand), "i64", signed)

        return wide(loop.start), wide(loop.stop), wide(loop.step)

    def _base_starts(self, loop: mt.SSAForRange) -> tuple[list[mt.SSAValue], list[Val]]:
        based = [a for a in loop.carried_args if a.id in self.affine.linear]
        inputs = dict(zip((a.id for a in loop.carried_args), loop.carried_inputs))
        return based, [self._base(inputs[a.id]) for a in based]

    def _base(self, operand: mt.SSAOperand) -> Val:
        form = self.affine.of(operand)
        if form is None:  # a block that lanes are counted from
            return self.b.constant(0, "i64")
        return self.scalar(form.base)

    def _enter_loop(
        self, loop: mt.SSAForRange, iv: str, level: Level, scalars: Sequence[mt.SSAValue],
        based: Sequence[mt.SSAValue], names: Sequence[Val],
    ) -> None:  # fmt: skip
        index = Val(iv, "i64", 0, level)
        kind = values.held(mt.scalar_of(loop.index.ty))
        self.remember(loop.index, (), 0, values.resize(self.b, index, kind, True))
        for arg, name in zip([*scalars, *based], names):
            if arg in scalars:
                self.remember(arg, (), 0, name)
        for arg, name in zip(based, names[len(scalars) :]):
            self.bases[arg.id] = name

    def _tiled_loop(self, plan: Loop) -> None:
        """Chunks of trips around a nest of tiles around the loop itself."""
        loop, b = plan.item, self.b
        low, high, step = self._bounds(loop)
        outer, level = b.level, b.push()
        home, self.home = self.home, level
        first = Val(b.name("k"), "i64", 0, level)
        stride = b.binary("arith.muli", step, b.constant(CHUNK_TRIPS, "i64"))
        last = b.binary("arith.minsi", b.binary("arith.addi", first, stride), high)
        of = dict(zip((a.id for a in loop.carried_args), loop.results))
        roots = []
        for arg in plan.carried:
            self.buffers[arg.id] = self.owned[arg.id, False]
            result = of[arg.id]
            roots.append(Root("carry", result, mt.shape_of(arg.ty), target=arg))
            self.planner.fused[result.id] = loop
        self.chunk = Chunk(loop, first, last, step, [])
        Nest(self, Group(roots[0].shape, roots)).write()
        self.chunk = None
        b.pop()
        self.home = home
        b.loop(outer, first.name, (low, high, stride), [], level, [])
        for arg in plan.carried:
            # From here on the results are found in the buffers of the arguments.
            del self.planner.fused[of[arg.id].id]
            self.buffers[of[arg.id].id] = self.buffers[arg.id]

    def copy_staged(self, arg: mt.SSAValue) -> None:
        """Move the new value of a carried block to where the old one was."""
        staging, own = self.owned[arg.id, True], self.owned[arg.id, False]

        def body(identity: AxisMap) -> None:
            flat = mt.with_shape((count(own.shape),), own.element)
            shape = mt.shape_of(flat)
            source = Buffer(staging.pointer, own.element, shape)
            self.put(
                Buffer(own.pointer, own.element, shape), self.get(source, identity, 0), identity, 0
            )

        self.sweep((count(own.shape),), body)

    def trips_of(self, op: mt.SSAOp) -> int:
        """Trips of the loop around a product that it is computed for at once."""
        operand = op.operands[0]
        assert operand is not None
        return DEEP // mt.shape_of(operand.ty)[-1] if id(op) in self.planner.deep else 1

    def product_buffer(self, op: mt.SSAOp) -> Buffer:
        """Where a product accumulates: its own buffer, or that of a loop's argument."""
        result = op.results[0]
        return self.own_buffer(self.planner.in_place.home.get(result.id, result))

    # ------------------------------------------------------------------ loops inside a nest

    def fused_loops(self, group: Group) -> list[mt.SSAForRange]:
        """The loops that run inside a group's nest."""
        found: dict[int, mt.SSAForRange] = {}
        targets = {r.target.id for r in group.roots if r.kind == "keep" and r.target}
        for value, _ in visit(self.planner, group):
            stored = value.id in self.planner.kept and value.id not in targets
            if value.id in self.planner.fused and not stored:
                loop = self.planner.fused[value.id]
                found[id(loop)] = loop
        return list(found.values())

    def carried_blocks(self, loop: mt.SSAForRange) -> int:
        """Blocks a loop carries, those of loops inside it included."""
        return sum(
            bool(mt.shape_of(arg.ty)) and self.facts.carries_data(arg) for arg in loop.carried_args
        )

    def _fused_loop(self, loop: mt.SSAForRange) -> None:
        """The whole loop for the tile at hand."""
        b, tile, facts = self.b, self.tile, self.facts
        identity, rows = tile.identity(), range(tile.rows)
        data = [a for a in loop.carried_args if facts.carries_data(a)]
        inputs = dict(zip((a.id for a in loop.carried_args), loop.carried_inputs))
        ends = dict(zip((a.id for a in loop.carried_args), loop.yields))
        of = dict(zip((a.id for a in loop.carried_args), loop.results))
        slots = [(a, r) for a in data for r in (rows if mt.shape_of(a.ty) else range(1))]
        low, high, step = self._bounds(loop)
        chunk = self.chunk if self.chunk is not None and self.chunk.loop is loop else None
        if chunk is not None:
            low, high = chunk.low, chunk.high
            starts = [self.read(self.buffers[a.id], identity, r) for a, r in slots]
        else:
            starts = [self._tile_value(inputs[a.id], r, bool(mt.shape_of(a.ty))) for a, r in slots]
        based, base_starts = self._base_starts(loop)
        iv = b.name("k")
        # The loop stands in the innermost body, whatever could stand further out.
        outer, level = b.level, b.push()
        names = [Val(b.name("a"), s.kind, s.width, level) for s in [*starts, *base_starts]]
        enter(self, loop, iv, level)
        if chunk is not None:
            unpack(self, chunk, Val(iv, "i64", 0, level), level)
        self._enter_loop(loop, iv, level, [], based, names[len(slots) :])
        for (arg, r), name in zip(slots, names):
            self.remember(arg, identity if mt.shape_of(arg.ty) else (), r, name)
        yields = [self._tile_value(ends[a.id], r, bool(mt.shape_of(a.ty))) for a, r in slots]
        yields += [self._base(ends[a.id]) for a in based]
        b.pop()
        pairs = [(n.name, s) for n, s in zip(names, [*starts, *base_starts])]
        results = b.loop(outer, iv, (low, high, step), pairs, level, yields)
        for (arg, r), val in zip(slots, results):
            self.remember(of[arg.id], identity if mt.shape_of(arg.ty) else (), r, val)

    def _tile_value(self, operand: mt.SSAOperand, r: int, block: bool) -> Val:
        """A carried value for the tile: every lane of it, as the loop's type says."""
        if not block:
            return self.value(operand)
        val = self.value(operand, self.tile.identity(), r)
        return self.b.spread(val, self.tile.width)

    # ------------------------------------------------------------------ choices

    def is_loaded(self, ptr: mt.SSAOperand) -> bool:
        """Whether addresses depend on what a load gives."""
        assert ptr is not None
        if ptr.id not in self._loaded:  # type: ignore[union-attr]
            pending: list[mt.SSAOperand] = [ptr]
            seen: set[int] = set()
            found = False
            while pending and not found:
                value = pending.pop()
                if not isinstance(value, mt.SSAValue) or value.id in seen:
                    continue
                seen.add(value.id)
                item = self.makers.get(value.id)
                if not mt.shape_of(value.ty) or item is None:
                    continue
                if isinstance(item, mt.SSAForRange) and value in item.carried_args:
                    k = item.carried_args.index(value)
                    pending += [item.carried_inputs[k], item.yields[k]]
                    continue
                found = item.opcode == "load" or value not in item.results
                pending.extend(item.inputs)
            self._loaded[ptr.id] = found  # type: ignore[union-attr]
        return self._loaded[ptr.id]  # type: ignore[union-attr]

    def widest(self, group: Group) -> int:
        """Bits of the widest element a group computes with."""
        bits = 8
        for value, _ in visit(self.planner, group):
            element = mt.element_of(value.ty)
            bits = max(
                bits,
                values.bits_of(values.held(element)) if isinstance(element, mt.ScalarType) else 64,
            )
        for root in group.roots:
            if root.operand is not None and isinstance(
                element := mt.element_of(root.operand.ty), mt.ScalarType
            ):
                bits = max(bits, values.bits_of(values.held(element)))
        return min(64, bits)

    def streams(self, root: Root) -> int:
        """Alignment in bytes a store that bypasses the caches may rely on; 0: it does not.

        Arrays that are streamed to are aligned to 16 bytes, as NumPy's are: where every strip is as
        well, the processor stores 16 bytes at once past its caches, and 8 otherwise.
        """
        ptr = root.op.operands[0] if self.streaming and root.op is not None else None
        if not isinstance(ptr, mt.SSAValue):
            return 0
        if self._axes is None:
            pointers = [p.name for p in self.function.params if mt.is_pointer(p.ty)]
            self._axes = axis_info(self.function, dict.fromkeys(pointers, STREAM_ALIGNMENT))
        known = value_info(self._axes, ptr)
        size = max(1, values.bits_of(values.in_memory(pointee(ptr))) // 8)
        aligned = known.divisibility[-1] >= STREAM_ALIGNMENT
        run = known.contiguity[-1] * size >= STREAM_ALIGNMENT
        return STREAM_ALIGNMENT if aligned and run else size


def entry_name(function: mt.SSAFunction) -> str:
    """The symbol of a kernel."""
    return re.sub(r"\W", "_", function.name, flags=re.ASCII)


def prepared(function: mt.SSAFunction) -> mt.SSAFunction:
    """The function as it is planned. What nothing needs is in it at optimisation level 0, and the plan
    keeps nothing for it."""
    return fuse_products(DCE().run(function))


def emit(function: mt.SSAFunction, target: Target, assume: Assumptions | None = None) -> str:
    """The MLIR text of a kernel."""
    function = prepared(function)
    emitter = Emitter(function, target, assume or default_assumptions(function))
    return emitter.kernel(entry_name(function))
