"""The launcher's code, as LLVM IR: one function for every kernel, driven by a table.

``launch(self, args, nargs, kwnames)`` is a function as Python's ``METH_FASTCALL | METH_KEYWORDS`` has
them; its first argument is the grid. ``self`` is a ``bytes`` object that holds the table (``native.py``
lays it out). It binds the arguments, compares each with what the table says, looks at the watched
values, and if all is as it was when the kernel was compiled, fills the descriptor of a launch on its
stack and runs it with the GIL released. Otherwise it calls the table's ``slow`` with what it was given,
having done nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

#: Words of the table's head.
(API, COUNT, POSITIONAL, WORDS, WATCHED, WATCHED_AT, CONTEXTS, CONTEXTS_AT, PAIRS, PAIRS_AT, SLOW,
 FAILED, RESOLVE, RESULT, FUNCTION, COST, STATE, RUN, MOST, GRID_AT, HEAD) = range(21)  # fmt: skip
#: Words of a parameter. ``WANTED`` are an array's flags, or the value of a constant int; ``MASK`` the
#: flags that count, or 1 for a constant that is an int. An ``INT32`` has 1 in ``WANTED`` when it must
#: be 1, and 2 when it must not.
KIND, NAME, DEFAULT, EXPECTED, WANTED, SLOT, ITEMSIZE, MASK, PARAMETER = range(9)
ARRAY, INT32, INT64, FLOAT, BOOL, CONSTANT = range(6)
#: Words of the API: types and objects, then functions.
(LONG_TYPE, BOOL_TYPE, FLOAT_TYPE, TUPLE_TYPE, ARRAY_TYPE, TRUE, AS_LONG, TO_LONG, AS_DOUBLE, GET_ITEM,
 CONTEXT_GET, INC_REF, DEC_REF, SAVE, RESTORE, CALL, API_WORDS) = range(17)  # fmt: skip

#: Where objects keep what: the type; size and items of a tuple; contents of ``bytes``; and of an
#: array data, number of axes, shape, dtype and flags. ``native.py`` tests all of them.
TYPE, SIZE = 8, 16
TUPLE_ITEMS, BYTES_DATA = tuple.__basicsize__, bytes.__basicsize__ - 1
DATA, NDIM, SHAPE, DESCR, ARRAY_FLAGS = 16, 24, 32, 56, 64


class _Code:
    """Text of one function. Variables live in memory; a pass of LLVM's puts them in registers."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.allocas: list[str] = []
        self._count = 0

    def name(self) -> str:
        self._count += 1
        return f"t{self._count}"

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def new(self, text: str) -> str:
        found = f"%{self.name()}"
        self.do(f"{found} = {text}")
        return found

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def variable(self, ty: str, value: str) -> str:
        found = f"%{self.name()}"
        self.allocas.append(f"  {found} = alloca {ty}")
        self.do(f"store {ty} {value}, ptr {found}")
        return found

    def at(self, base: str, offset: int | str) -> str:
        return self.new(f"getelementptr i8, ptr {base}, i64 {offset}")

    def word(self, base: str, index: str) -> str:
        return self.new(f"getelementptr i64, ptr {base}, i64 {index}")

    def load(self, ty: str, base: str, offset: int = 0) -> str:
        return self.new(f"load {ty}, ptr {self.at(base, offset) if offset else base}")

    def field(self, ty: str, base: str, index: int) -> str:
        return self.load(ty, base, 8 * index)

    def call(self, ty: str, function: str, *args: str) -> str:
        return self.new(f"call {ty} {function}({', '.join(args)})")

    def compare(self, how: str, ty: str, a: str, b: str) -> str:
        return self.new(f"icmp {how} {ty} {a}, {b}")

    def require(self, condition: str, otherwise: str = "slow") -> None:
        go_on = self.name()
        self.do(f"br i1 {condition}, label %{go_on}, label %{otherwise}")
        self.label(go_on)

    def require_equal(self, ty: str, a: str, b: str, otherwise: str = "slow") -> None:
        self.require(self.compare("eq", ty, a, b), otherwise)

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        then, end = self.name(), self.name()
        self.do(f"br i1 {condition}, label %{then}, label %{end}")
        self.label(then)
        yield
        self.do(f"br label %{end}")
        self.label(end)

    @contextmanager
    def each(self, count: str, start: str = "0") -> Iterator[str]:
        """A loop over ``i64`` numbers from ``start`` below ``count``."""
        held = self.variable("i64", start)
        head, body, end = self.name(), self.name(), self.name()
        self.do(f"br label %{head}")
        self.label(head)
        i = self.load("i64", held)
        self.do(f"br i1 {self.compare('slt', 'i64', i, count)}, label %{body}, label %{end}")
        self.label(body)
        yield i
        following = self.new(f"add i64 {i}, 1")
        self.do(f"store i64 {following}, ptr {held}")
        self.do(f"br label %{head}")
        self.label(end)


def _bind(c: _Code, table: str, bound: str, count: str) -> None:
    """Arguments to parameters."""
    given = c.new("sub i64 %nargs, 1")
    most = c.field("i64", table, POSITIONAL)
    c.require(c.compare("ule", "i64", given, most))
    with c.each(given) as i:
        number = c.new(f"add i64 {i}, 1")
        value = c.load("ptr", c.word("%args", number))
        c.do(f"store ptr {value}, ptr {c.word(bound, number)}")
    with c.each(count, given) as i:
        number = c.new(f"add i64 {i}, 1")
        c.do(f"store ptr null, ptr {c.word(bound, number)}")
    with c.when(c.compare("ne", "ptr", "%kwnames", "null")):
        named = c.load("i64", "%kwnames", SIZE)
        names = c.at("%kwnames", TUPLE_ITEMS)
        with c.each(named) as k:
            name = c.load("ptr", c.word(names, k))
            value = c.load("ptr", c.word("%args", c.new(f"add i64 {k}, %nargs")))
            home = c.variable("ptr", "null")
            with c.each(count) as i:
                parameter = _parameter(c, table, i)
                with c.when(c.compare("eq", "ptr", c.field("ptr", parameter, NAME), name)):
                    place = c.word(bound, c.new(f"add i64 {i}, 1"))
                    c.do(f"store ptr {place}, ptr {home}")
            # Nobody's name, or one whose argument is there: Python's message is better.
            where = c.load("ptr", home)
            c.require(c.compare("ne", "ptr", where, "null"))
            c.require_equal("ptr", c.load("ptr", where), "null")
            c.do(f"store ptr {value}, ptr {where}")


def _parameter(c: _Code, table: str, i: str) -> str:
    at = c.new(f"mul i64 {i}, {PARAMETER}")
    return c.word(table, c.new(f"add i64 {at}, {HEAD}"))


def _type_is(c: _Code, value: str, api: str, which: int) -> None:
    c.require_equal("ptr", c.load("ptr", value, TYPE), c.field("ptr", api, which))


def _integer(c: _Code, value: str, api: str) -> str:
    """The value of an int that fits in 64 bits."""
    _type_is(c, value, api, LONG_TYPE)
    overflow = c.variable("i32", "0")
    function = c.field("ptr", api, AS_LONG)
    found = c.call("i64", function, f"ptr {value}", f"ptr {overflow}")
    c.require_equal("i32", c.load("i32", overflow), "0")
    return found


def _check(c: _Code, table: str, api: str, bound: str, slots: str, low: str, high: str) -> None:
    """Every argument is what it must be; its value is in its slot of the descriptor."""
    with c.each(c.field("i64", table, COUNT)) as i:
        parameter = _parameter(c, table, i)
        place = c.word(bound, c.new(f"add i64 {i}, 1"))
        with c.when(c.compare("eq", "ptr", c.load("ptr", place), "null")):
            c.do(f"store ptr {c.field('ptr', parameter, DEFAULT)}, ptr {place}")
        value = c.load("ptr", place)
        c.require(c.compare("ne", "ptr", value, "null"))
        kind = c.field("i64", parameter, KIND)
        slot = c.word(slots, c.field("i64", parameter, SLOT))
        with c.when(c.compare("eq", "i64", kind, str(ARRAY))):
            _array(c, parameter, api, value, slot, c.word(low, i), c.word(high, i))
        constant = c.compare("eq", "i64", kind, str(CONSTANT))
        other = c.compare("ne", "ptr", value, c.field("ptr", parameter, EXPECTED))
        with c.when(c.new(f"and i1 {constant}, {other}")):
            c.require_equal("i64", c.field("i64", parameter, MASK), "1")
            number = _integer(c, value, api)
            c.require_equal("i64", number, c.field("i64", parameter, WANTED))
        with c.when(c.compare("eq", "i64", kind, str(INT32))):
            number, narrow = _narrow(c, value, api)
            c.require_equal("i64", number, narrow)
            c.do(f"store i64 {number}, ptr {slot}")
            wanted = c.field("i64", parameter, WANTED)
            with c.when(c.compare("ne", "i64", wanted, "0")):
                one = c.compare("eq", "i64", number, "1")
                c.require_equal("i1", one, c.compare("eq", "i64", wanted, "1"))
        with c.when(c.compare("eq", "i64", kind, str(INT64))):
            number, narrow = _narrow(c, value, api)
            c.require(c.compare("ne", "i64", number, narrow))
            c.do(f"store i64 {number}, ptr {slot}")
        with c.when(c.compare("eq", "i64", kind, str(FLOAT))):
            _type_is(c, value, api, FLOAT_TYPE)
            real = c.call("double", c.field("ptr", api, AS_DOUBLE), f"ptr {value}")
            c.do(f"store double {real}, ptr {slot}")
        with c.when(c.compare("eq", "i64", kind, str(BOOL))):
            _type_is(c, value, api, BOOL_TYPE)
            truth = c.compare("eq", "ptr", value, c.field("ptr", api, TRUE))
            number = c.new(f"zext i1 {truth} to i64")
            c.do(f"store i64 {number}, ptr {slot}")


def _narrow(c: _Code, value: str, api: str) -> tuple[str, str]:
    """The value of an int, and what 32 bits hold of it."""
    number = _integer(c, value, api)
    low = c.new(f"trunc i64 {number} to i32")
    return number, c.new(f"sext i32 {low} to i64")


def _array(c: _Code, parameter: str, api: str, value: str, slot: str, low: str, high: str) -> None:
    _type_is(c, value, api, ARRAY_TYPE)
    c.require_equal("ptr", c.load("ptr", value, DESCR), c.field("ptr", parameter, EXPECTED))
    flags = c.new(f"sext i32 {c.load('i32', value, ARRAY_FLAGS)} to i64")
    seen = c.new(f"and i64 {flags}, {c.field('i64', parameter, MASK)}")
    c.require_equal("i64", seen, c.field("i64", parameter, WANTED))
    data = c.load("i64", value, DATA)
    c.do(f"store i64 {data}, ptr {slot}")
    c.do(f"store i64 {data}, ptr {low}")
    size = c.variable("i64", c.field("i64", parameter, ITEMSIZE))
    axes = c.new(f"sext i32 {c.load('i32', value, NDIM)} to i64")
    shape = c.load("ptr", value, SHAPE)
    with c.each(axes) as axis:
        extent = c.load("i64", c.word(shape, axis))
        grown = c.new(f"mul i64 {c.load('i64', size)}, {extent}")
        c.do(f"store i64 {grown}, ptr {size}")
    end = c.new(f"add i64 {data}, {c.load('i64', size)}")
    c.do(f"store i64 {end}, ptr {high}")


def _watch(c: _Code, table: str, api: str) -> None:
    """Every value looked at is the object it was."""
    places = c.word(table, c.field("i64", table, WATCHED_AT))
    with c.each(c.field("i64", table, WATCHED)) as i:
        place = c.word(places, c.new(f"mul i64 {i}, 3"))
        mapping, key = c.field("ptr", place, 0), c.field("ptr", place, 1)
        found = c.call("ptr", c.field("ptr", api, GET_ITEM), f"ptr {mapping}", f"ptr {key}")
        c.require_equal("ptr", found, c.field("ptr", place, 2))
    places = c.word(table, c.field("i64", table, CONTEXTS_AT))
    with c.each(c.field("i64", table, CONTEXTS)) as i:
        place = c.word(places, c.new(f"mul i64 {i}, 2"))
        held = c.variable("ptr", "null")
        function = c.field("ptr", api, CONTEXT_GET)
        c.call("i32", function, f"ptr {c.field('ptr', place, 0)}", "ptr null", f"ptr {held}")
        found = c.load("ptr", held)
        c.do(f"call void {c.field('ptr', api, DEC_REF)}(ptr {found})")
        c.require_equal("ptr", found, c.field("ptr", place, 1))


def _apart(c: _Code, table: str, low: str, high: str) -> None:
    """Arrays that must not overlap do not."""
    places = c.word(table, c.field("i64", table, PAIRS_AT))
    with c.each(c.field("i64", table, PAIRS)) as i:
        place = c.word(places, c.new(f"mul i64 {i}, 2"))
        a, b = c.field("i64", place, 0), c.field("i64", place, 1)
        first = c.compare(
            "ult", "i64", c.load("i64", c.word(low, a)), c.load("i64", c.word(high, b))
        )
        second = c.compare(
            "ult", "i64", c.load("i64", c.word(low, b)), c.load("i64", c.word(high, a))
        )
        both = c.new(f"and i1 {first}, {second}")
        c.require_equal("i1", both, "false")


def _grid(c: _Code, table: str, api: str, bound: str, sizes: str, grid: str, owned: str) -> None:
    """Three sizes from the grid: a tuple of ints, or what ``resolve`` makes of anything else."""
    c.do("br label %parse")
    c.label("parse")
    for axis in range(3):
        c.do(f"store i64 1, ptr {c.word(sizes, str(axis))}")
    given = c.load("ptr", grid)
    kind = c.load("ptr", given, TYPE)
    c.require_equal("ptr", kind, c.field("ptr", api, TUPLE_TYPE), "odd")
    size = c.load("i64", given, SIZE)
    c.require(c.compare("ult", "i64", c.new(f"sub i64 {size}, 1"), "3"), "odd")
    items = c.at(given, TUPLE_ITEMS)
    with c.each(size) as k:
        item = c.load("ptr", c.word(items, k))
        of = c.load("ptr", item, TYPE)
        c.require_equal("ptr", of, c.field("ptr", api, LONG_TYPE), "odd")
        overflow = c.variable("i32", "0")
        number = c.call("i64", c.field("ptr", api, AS_LONG), f"ptr {item}", f"ptr {overflow}")
        c.require_equal("i32", c.load("i32", overflow), "0", "odd")
        c.require(c.compare("ult", "i64", number, str(1 << 31)), "odd")
        c.do(f"store i64 {number}, ptr {c.word(sizes, k)}")
    c.do("br label %sized")
    c.label("odd")
    # What has been resolved is not resolved again.
    c.require_equal("ptr", c.load("ptr", owned), "null")
    number = c.new(f"add i64 {c.field('i64', table, COUNT)}, 1")
    c.do(f"store ptr {c.load('ptr', grid)}, ptr {bound}")
    resolve = c.field("ptr", table, RESOLVE)
    call = c.field("ptr", api, CALL)
    made = c.call("ptr", call, f"ptr {resolve}", f"ptr {bound}", f"i64 {number}", "ptr null")
    c.require(c.compare("ne", "ptr", made, "null"), "raised")
    c.do(f"store ptr {made}, ptr {owned}")
    c.do(f"store ptr {made}, ptr {grid}")
    c.do("br label %parse")
    c.label("raised")
    c.do("ret ptr null")
    c.label("sized")


def _run(c: _Code, table: str, api: str, descriptor: str, sizes: str) -> None:
    a, b, d = (c.load("i64", c.word(sizes, str(k))) for k in range(3))
    plane = c.new(f"mul i64 {a}, {b}")
    pair = c.call("{ i64, i1 }", "@llvm.smul.with.overflow.i64", f"i64 {plane}", f"i64 {d}")
    c.require_equal("i1", c.new(f"extractvalue {{ i64, i1 }} {pair}, 1"), "false")
    total = c.new(f"extractvalue {{ i64, i1 }} {pair}, 0")
    c.require(c.compare("ne", "i64", total, "0"), "done")
    c.require(c.compare("sle", "i64", total, c.field("i64", table, MOST)))
    state = c.load("i64", c.field("ptr", table, STATE))
    function, cost = c.field("i64", table, FUNCTION), c.field("i64", table, COST)
    for place, value in enumerate((function, state, cost, total, "0")):
        c.do(f"store i64 {value}, ptr {c.word(descriptor, str(place))}")
    thread = c.call("ptr", c.field("ptr", api, SAVE))
    status = c.call("i32", c.field("ptr", table, RUN), f"ptr {descriptor}")
    c.do(f"call void {c.field('ptr', api, RESTORE)}(ptr {thread})")
    c.require(c.compare("ne", "i32", status, "0"), "done")
    # Workers are wanted, and nothing has been run.
    c.require(c.compare("ne", "i32", status, "-1"))
    values = c.new("alloca ptr, i64 2")
    numbers = (c.new(f"sext i32 {status} to i64"), c.new(f"ptrtoint ptr {descriptor} to i64"))
    made = [c.call("ptr", c.field("ptr", api, TO_LONG), f"i64 {number}") for number in numbers]
    for place, value in enumerate(made):
        c.require(c.compare("ne", "ptr", value, "null"), "raised")
        c.do(f"store ptr {value}, ptr {c.word(values, str(place))}")
    call, failed = c.field("ptr", api, CALL), c.field("ptr", table, FAILED)
    error = c.call("ptr", call, f"ptr {failed}", f"ptr {values}", "i64 2", "ptr null")
    for value in made:
        c.do(f"call void {c.field('ptr', api, DEC_REF)}(ptr {value})")
    # It went on to the end, or raised.
    c.require(c.compare("ne", "ptr", error, "null"), "failed")
    c.do(f"call void {c.field('ptr', api, DEC_REF)}(ptr {error})")
    c.do("br label %done")
    c.label("failed")
    c.do(f"call void {c.field('ptr', api, DEC_REF)}(ptr {c.load('ptr', '%owned')})")
    c.do("ret ptr null")


def source(entry: str) -> str:
    """A module with the function ``entry``, and ``entry_probe``: a kernel that copies its slots,
    as many as the second says, to where the first points."""
    c = _Code()
    table = c.at("%self", BYTES_DATA)
    api = c.field("ptr", table, API)
    count = c.field("i64", table, COUNT)
    room = c.new(f"add i64 {count}, 1")
    bound = c.new(f"alloca ptr, i64 {room}")
    low, high = c.new(f"alloca i64, i64 {room}"), c.new(f"alloca i64, i64 {room}")
    descriptor = c.new(f"alloca i64, i64 {c.field('i64', table, WORDS)}")
    grid = c.variable("ptr", c.load("ptr", "%args"))
    c.do("store ptr null, ptr %owned")
    keywords = c.variable("i64", "0")
    with c.when(c.compare("ne", "ptr", "%kwnames", "null")):
        c.do(f"store i64 {c.load('i64', '%kwnames', SIZE)}, ptr {keywords}")
    _bind(c, table, bound, count)
    _check(c, table, api, bound, descriptor, low, high)
    _watch(c, table, api)
    _apart(c, table, low, high)
    sizes = c.word(descriptor, c.field("i64", table, GRID_AT))
    _grid(c, table, api, bound, sizes, grid, "%owned")
    _run(c, table, api, descriptor, sizes)

    c.label("done")
    result = c.field("ptr", table, RESULT)
    c.do(f"call void {c.field('ptr', api, INC_REF)}(ptr {result})")
    c.do("br label %leave")
    c.label("slow")
    every = c.new(f"add i64 %nargs, {c.load('i64', keywords)}")
    copy = c.new(f"alloca ptr, i64 {every}")
    with c.each(every) as i:
        c.do(f"store ptr {c.load('ptr', c.word('%args', i))}, ptr {c.word(copy, i)}")
    c.do(f"store ptr {c.load('ptr', grid)}, ptr {copy}")
    call, slow = c.field("ptr", api, CALL), c.field("ptr", table, SLOW)
    other = c.call("ptr", call, f"ptr {slow}", f"ptr {copy}", "i64 %nargs", "ptr %kwnames")
    c.do("br label %leave")
    c.label("leave")
    found = c.new(f"phi ptr [ {result}, %done ], [ {other}, %{_last_label(c)} ]")
    c.do(f"call void {c.field('ptr', api, DEC_REF)}(ptr {c.load('ptr', '%owned')})")
    c.do(f"ret ptr {found}")
    body = "\n".join(["entry:", "  %owned = alloca ptr", *c.allocas, *c.lines])
    return f"""
declare {{ i64, i1 }} @llvm.smul.with.overflow.i64(i64, i64)

define ptr @{entry}(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) {{
{body}
}}

define i32 @{entry}_probe(ptr %slots, i64 %from, i64 %to) {{
entry:
  %home = load ptr, ptr %slots
  %countp = getelementptr i64, ptr %slots, i64 1
  %count = load i64, ptr %countp
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %head ]
  %s = getelementptr i64, ptr %slots, i64 %i
  %d = getelementptr i64, ptr %home, i64 %i
  %v = load i64, ptr %s
  store i64 %v, ptr %d
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %head, label %end
end:
  ret i32 0
}}
"""


def _last_label(c: _Code) -> str:
    """The block that ends just before ``leave``."""
    at = c.lines.index("leave:")
    return next(x[:-1] for x in reversed(c.lines[:at]) if x.endswith(":") and x[0] != " ")
