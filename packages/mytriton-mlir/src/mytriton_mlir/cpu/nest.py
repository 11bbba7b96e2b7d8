"""Writing a group of the plan as a loop nest over strips of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import mytriton.plugin_api as mt

from . import memory, reduce, values
from .ahead import STREAM, fetch
from .builder import Level, Val
from .evaluate import Buffer
from .plan import Group, Root
from .scratch import count
from .tile import Tile, trailing, vector_axis
from .tiled import pack
from .transpose import other_axis, square

if TYPE_CHECKING:
    from .emitter import Emitter


class Accumulator:
    """A reduction of the group. ``axis`` is the axis it folds (``None``: all)."""

    def __init__(self, e: Emitter, root: Root, tile: Tile) -> None:
        assert root.op is not None
        assert root.operand is not None
        self.root = root
        self.name = root.op.opcode
        self.result = root.op.results[0]
        self.ty = mt.scalar_of(root.operand.ty)
        shape = mt.shape_of(self.result.ty)
        self.axis: int | None = root.op.attrs.get("axis") if shape else None
        self.parts = reduce.parts(self.name, self.ty)
        #: Partial results round the loops in registers: through all loops, or the innermost.
        self.through_all = self.axis is None
        self.in_inner = self.axis is not None and self.axis == tile.axis
        self.buffers: list[Buffer] = []
        if shape:
            narrow = self.ty.is_floating() and self.ty.bits < 32
            element = mt.F32 if narrow else self.ty
            self.buffers = [
                e.new_buffer(element, shape, f"{self.name}{k}") for k in range(len(self.parts))
            ]

    def map(self, tile: Tile) -> tuple[int | None, ...]:
        """How the axes of the result run in the nest."""
        amap = tile.identity()
        assert self.axis is not None
        return (*amap[: self.axis], *amap[self.axis + 1 :])


class Nest:
    """One group being written."""

    def __init__(self, e: Emitter, group: Group) -> None:
        self.e = e
        self.b = e.b
        self.group = group
        self.fused = e.fused_loops(group)
        #: Whether the tile lies across the buffer that it is written to.
        self.turned = False
        self.tile = Tile(shape=group.shape, axis=vector_axis(group.shape))
        self.sums = [Accumulator(e, r, self.tile) for r in group.roots if r.kind == "reduce"]
        self._choose_tile()

    # ------------------------------------------------------------------ shape of the nest

    def _choose_tile(self) -> None:
        tile, shape, target = self.tile, self.group.shape, self.e.target
        if tile.axis < 0:
            self.order: list[int] = []
            return
        widest = self.e.widest(self.group)
        native = max(1, target.vector_bits // widest)
        extent = shape[tile.axis]
        # Two registers a value: independent work for the latencies, and few enough values live.
        # Sums alone need little but latency hidden.
        lanes = native * (4 if self.sums and len(self.group.roots) == len(self.sums) else 2)
        factors = all(root.slot.startswith("factor") for root in self.group.roots)
        if factors:
            lanes = target.vector_bits // 4  # a short row is one strip
        axes = [d for d, n in enumerate(shape) if n > 1]
        if self._turns(native):
            return
        if self.fused and len(axes) == 1:
            lanes = extent  # a single tile: the loop runs once
        tile.width = min(lanes, 1 << (extent.bit_length() - 1))
        others = [d for d in axes if d != tile.axis]
        self.order = [*others, tile.axis]
        whole = extent == tile.width or (factors and extent % tile.width == 0)
        if whole and others and not self.fused and not self.sums:
            # Where lanes are is found once for all rows.
            self.order = [tile.axis, *others]
        tile.streams = self.order[-1] == tile.axis and extent >= STREAM and not self.fused
        if self.fused and others and not self.sums:
            carried = sum(self.e.carried_blocks(loop) for loop in self.fused)
            room = target.registers // 2 // max(1, carried * -(-tile.width // native))
            tile.row_axis = others[-1]
            most = min(max(1, room), shape[tile.row_axis])
            tile.rows = 1 << (most.bit_length() - 1)
            self.order = [*others[:-1], tile.axis, tile.row_axis]

    def _turns(self, native: int) -> bool:
        """Whether squares are computed along another axis, and turned."""
        tile, shape = self.tile, self.group.shape
        axis = None if self.fused else other_axis(self.e, self.group)
        if axis is not None and (panel := self.e.target_buffer(self.group.roots[0]).panel):
            native = min(native, panel)  # a row of a square does not reach into the next panel
        if axis is None or native < 4 or shape[axis] % native or shape[tile.axis] % native:
            return False
        others = [d for d, n in enumerate(shape) if n > 1 and d not in (axis, tile.axis)]
        tile.row_axis, tile.axis = tile.axis, axis
        tile.width = tile.rows = native
        self.order = [*others, tile.axis, tile.row_axis]
        self.turned = True
        return True

    # ------------------------------------------------------------------ writing

    def write(self) -> None:
        """The nest, at the current level."""
        e, outer = self.e, self.e.tile
        e.tile = self.tile
        for acc in self.sums:
            if acc.buffers and not acc.in_inner:
                for buffer, part in zip(acc.buffers, acc.parts):
                    e.fill(buffer, part.neutral, acc.ty)
        starts = [
            reduce.neutral(self.b, part, acc.ty, self.tile.width)
            for acc in self.sums
            if acc.through_all
            for part in acc.parts
        ]
        totals = self._loops(0, starts)
        for acc in self.sums:
            if acc.through_all:
                mine, totals = totals[: len(acc.parts)], totals[len(acc.parts) :]
                self._scalar_result(acc, mine)
        e.tile = outer
        for acc in self.sums:
            if acc.buffers:
                self._finish_buffers(acc)
        # Readers find a kept value once it has been written.
        for root in self.group.roots:
            if root.kind == "keep" and root.target is not None:
                e.buffers[root.target.id] = e.target_buffer(root)

    def _loops(self, depth: int, carried: list[Val]) -> list[Val]:
        """Loops from ``order[depth]`` inwards; gives what they carry."""
        if not self.order:
            self.tile.inner = None
            return self._body(carried)
        axis = self.order[depth]
        if axis == self.tile.row_axis and self.e.chunk is not None:
            pack(self.e, self.e.chunk)
        extent = self.group.shape[axis]
        innermost = depth == len(self.order) - 1
        step = self._step(axis)
        whole = extent - extent % step
        outer_carried, carried = carried, self._inner_starts(carried) if innermost else carried
        if innermost:
            carried = self._split(axis, 0, whole, step, carried)
        else:
            carried = self._plain(depth, axis, 0, whole, step, carried)
        # What is left over when the extent is no multiple: in ever smaller steps.
        while whole < extent:
            step = 1 << ((extent - whole).bit_length() - 1)
            saved = self._resize(axis, step)
            if innermost:
                carried = self._split(axis, whole, whole + step, step, carried)
            else:
                carried = self._plain(depth, axis, whole, whole + step, step, carried)
            self._resize(axis, saved)
            whole += step
        if innermost:
            self._inner_results(carried[len(outer_carried) :])
            carried = carried[: len(outer_carried)]
        return carried

    def _step(self, axis: int) -> int:
        if axis == self.tile.axis:
            return self.tile.width
        return self.tile.rows if axis == self.tile.row_axis else 1

    def _resize(self, axis: int, step: int) -> int:
        old = self._step(axis)
        if axis == self.tile.axis:
            self.tile.width = step
        else:
            self.tile.rows = step
        return old

    def _plain(
        self, depth: int, axis: int, low: int, high: int, step: int, carried: list[Val]
    ) -> list[Val]:
        """A loop around other loops."""
        b = self.b
        outer = b.level
        names, level = self._enter(axis, carried)
        inside = self._loops(depth + 1, names)
        b.pop()
        iv = self.tile.positions.pop(axis).name
        bounds = (b.constant(low, "i64"), b.constant(high, "i64"), b.constant(step, "i64"))
        pairs = [(n.name, c) for n, c in zip(names, carried)]
        return b.loop(outer, iv, bounds, pairs, level, inside)

    def _enter(self, axis: int, carried: Sequence[Val]) -> tuple[list[Val], Level]:
        level = self.b.push()
        iv = self.b.name("i")
        self.tile.positions[axis] = Val(iv, "i64", 0, level)
        names = [Val(self.b.name("a"), c.kind, c.width, level) for c in carried]
        return names, level

    def _split(self, axis: int, low: int, high: int, step: int, carried: list[Val]) -> list[Val]:
        """The innermost loop: first the strips in which every mask holds, then the others."""
        if low == high:
            return carried
        b, tile = self.b, self.tile
        tile.assumed = []
        tile.full = b.expect_ordinary = True
        full = self._strip(axis, carried)
        tile.full = b.expect_ordinary = False
        start, end, by = (b.constant(n, "i64") for n in (low, high, step))
        if not tile.assumed:
            return self._close(full, (start, end, by), carried)
        middle = self._full_until(axis, low, high, step)
        carried = self._close(full, (start, middle, by), carried)
        end = self._active_until(axis, low, high)
        masked = self._strip(axis, carried)
        return self._close(masked, (middle, end, by), carried)

    def _strip(self, axis: int, carried: Sequence[Val]) -> tuple[Level, str, list[Val], list[Val]]:
        names, level = self._enter(axis, carried)
        self.tile.inner = level
        yields = self._body(names)
        self.tile.inner = None
        iv = self.tile.positions.pop(axis).name
        self.b.pop()
        return level, iv, names, yields

    def _close(
        self, strip: tuple[Level, str, list[Val], list[Val]], bounds: tuple[Val, Val, Val],
        carried: Sequence[Val],
    ) -> list[Val]:  # fmt: skip
        level, iv, names, yields = strip
        pairs = [(n.name, c) for n, c in zip(names, carried)]
        return self.b.loop(self.b.level, iv, bounds, pairs, level, yields)

    def _full_until(self, axis: int, low: int, high: int, step: int) -> Val:
        """Where the strips end in which every assumed mask holds."""
        e, b, tile = self.e, self.b, self.tile
        limit = b.constant(high, "i64")
        conditions: list[Val] = []
        seen: set[str] = set()
        for form, amap in tile.assumed:
            conditions += [e.value(condition) for condition in form.conditions]
            for at, bounds in zip(amap, form.bounds):
                for bound in map(e.scalar, bounds):
                    if at == axis:
                        if bound.name not in seen:
                            limit = b.binary("arith.minsi", limit, bound)
                        seen.add(bound.name)
                        continue
                    end = e.position(at)
                    if at is not None and self._step(at) > 1:
                        end = b.binary("arith.addi", end, b.constant(self._step(at) - 1, "i64"))
                    conditions.append(b.compare("arith.cmpi", "slt", end, bound))
        limit = b.binary("arith.maxsi", limit, b.constant(low, "i64"))
        for condition in conditions:
            if condition.name not in seen:
                seen.add(condition.name)
                limit = b.select(condition, limit, b.constant(low, "i64"))
        if step == 1:
            return limit
        if not low:
            return b.binary("arith.andi", limit, b.constant(-step, "i64"))
        # A remainder is a single strip.
        whole = b.compare("arith.cmpi", "sge", limit, b.constant(high, "i64"))
        return b.select(whole, b.constant(high, "i64"), b.constant(low, "i64"))

    def _active_until(self, axis: int, low: int, high: int) -> Val:
        """Where the strips end that write anything: those beyond are not run at all. Masked vectors
        whose every lane is off are slow where no memory is."""
        b, end = self.b, self.b.constant(high, "i64")
        stores = [r.op for r in self.group.roots if r.op is not None and r.kind == "store"]
        masks = [mask for store in stores if isinstance(mask := store.operands[2], mt.SSAValue)]
        if len(masks) < len(self.group.roots):
            return end
        limits = [self._limit(mask, axis, low, high) for mask in dict.fromkeys(masks)]
        found = limits[0]
        for limit in limits[1:]:
            found = found and limit and b.binary("arith.maxsi", found, limit)
        return found or end

    def _limit(self, mask: mt.SSAValue, axis: int, low: int, high: int) -> Val | None:
        """Where a mask ends along an axis, in the strips that the loops around stand at; ``None`` if
        that cannot be told here, or is the same for all programs."""
        e, b = self.e, self.b
        form = e.affine.masks.get(mask.id)
        if form is None:
            return None
        amap = trailing(self.tile.identity(), mt.shape_of(mask.ty))
        limit, first = b.constant(high, "i64"), b.constant(low, "i64")
        conditions = [e.value(condition) for condition in form.conditions]
        for at, bounds in zip(amap, form.bounds):
            for bound in map(e.scalar, bounds):
                if at == axis:
                    limit = b.binary("arith.minsi", limit, bound)
                else:
                    conditions.append(b.compare("arith.cmpi", "slt", e.position(at), bound))
        limit = b.binary("arith.maxsi", limit, first)
        for condition in conditions:
            limit = b.select(condition, limit, first)
        # A bound that is the same for all programs leaves none of them without lanes, and costs a
        # register where the end of the strips is a constant otherwise.
        return limit if b.root.depth < limit.level.depth <= b.level.depth else None

    # ------------------------------------------------------------------ the innermost body

    def _body(self, carried: Sequence[Val]) -> list[Val]:
        """Everything is computed before anything is written: what is read is as it was."""
        e, tile = self.e, self.tile
        identity = tile.identity()
        rows = range(tile.rows)
        computed: list[list[Val]] = []
        for root in self.group.roots:
            assert root.operand is not None
            amap = trailing(identity, mt.shape_of(root.operand.ty))
            convert = e.address if mt.is_pointer(root.operand.ty) else e.value
            computed.append([convert(root.operand, amap, r) for r in rows])
        if tile.streams and tile.full:
            for hint in self.group.hints:
                fetch(e, hint)
        yields: list[Val] = []
        position = 0
        # Registers carried: reductions of everything first, then those of the innermost loop.
        order = [a for a in self.sums if a.through_all] + [a for a in self.sums if a.in_inner]
        for acc in order:
            vals = computed[self.group.roots.index(acc.root)]
            e.at(acc.root)
            for part in acc.parts:
                total = carried[position] if carried else reduce.neutral(e.b, part, acc.ty, 0)
                position += 1
                for val in vals:
                    total = reduce.take(e.b, part, total, e.b.spread(val, total.width))
                yields.append(total)
        if self.turned:
            self._write_turned(computed[0])
            return yields
        for root, vals in zip(self.group.roots, computed):
            for r, val in zip(rows, vals):
                self._write_root(root, val, r)
        return yields

    def _write_turned(self, vals: Sequence[Val]) -> None:
        e, b, tile = self.e, self.b, self.tile
        buffer = e.target_buffer(self.group.roots[0])
        vals = [b.spread(val, tile.width) for val in vals]
        if vals[0].kind == "i1":
            vals = [b.cast("arith.extui", val, "i8") for val in vals]
        strides = buffer.strides
        first, _ = e.slot(buffer, tile.identity(), 0)
        for k, val in enumerate(square(b, vals)):
            slot = e.element(first, b.constant(k * strides[tile.axis], "i64"), buffer.kind)
            align = values.bits_of(val.kind) // 8
            text = f"{{alignment = {align} : i64}} : {val.type}, !llvm.ptr"
            b.line(b.level, f"llvm.store {val.name}, {slot.name} {text}")

    def _write_root(self, root: Root, val: Val, r: int) -> None:
        e, tile = self.e, self.tile
        identity = tile.identity()
        e.at(root)
        if root.kind == "store":
            assert root.op is not None
            memory.store(e, root.op, val, identity, r, e.streams(root))
        elif root.kind != "reduce":
            e.put(e.target_buffer(root), val, identity, r)
        else:
            acc = next(a for a in self.sums if a.root is root)
            if not acc.through_all and not acc.in_inner:
                amap = acc.map(tile)
                for buffer, part in zip(acc.buffers, acc.parts):
                    old = e.get(buffer, amap, r)
                    e.put(buffer, reduce.take(e.b, part, old, val), amap, r)

    # ------------------------------------------------------------------ results of reductions

    def _inner_starts(self, carried: list[Val]) -> list[Val]:
        inner = [acc for acc in self.sums if acc.in_inner]
        return [
            *carried,
            *(reduce.neutral(self.b, p, a.ty, self.tile.width) for a in inner for p in a.parts),
        ]

    def _inner_results(self, totals: Sequence[Val]) -> None:
        totals = list(totals)
        for acc in self.sums:
            if acc.in_inner:
                self.e.at(acc.root)
                for buffer, part in zip(acc.buffers, acc.parts):
                    total = reduce.across(self.b, part, totals.pop(0))
                    self.e.put(buffer, total, acc.map(self.tile), 0)

    def _scalar_result(self, acc: Accumulator, totals: Sequence[Val]) -> None:
        self.e.at(acc.root)
        across = [reduce.across(self.b, part, t) for part, t in zip(acc.parts, totals)]
        found = reduce.finish(self.b, acc.name, acc.ty, across)
        self.e.remember(acc.result, (), 0, found)

    def _finish_buffers(self, acc: Accumulator) -> None:
        """A pass over the partial results, where there is something left to do."""
        e, b = self.e, self.b
        if (
            len(acc.buffers) == 1 and values.held(acc.ty) == acc.ty.name
        ) or not acc.ty.is_floating():
            e.buffers[acc.result.id] = acc.buffers[0]
            return

        size = count(acc.buffers[0].shape)
        flat = [Buffer(buffer.pointer, buffer.element, (size,)) for buffer in acc.buffers]

        def body(identity: tuple[int | None, ...]) -> None:
            totals = [e.get(buffer, identity, 0) for buffer in flat]
            e.put(flat[0], reduce.finish(b, acc.name, acc.ty, totals), identity, 0)

        e.sweep((size,), body)
        e.buffers[acc.result.id] = Buffer(
            acc.buffers[0].pointer, mt.scalar_of(acc.result.ty), acc.buffers[0].shape
        )
