"""Binding call arguments to parameters, as Python binds them, by a function made for each kernel."""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..errors import ASTFrontendError, Span
from ..language.compile_time import constexpr

#: Keyword arguments of a launch that are no parameters of the kernel: passed through to backends.
LAUNCH_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")
#: Options of Triton's compilers that programs pass now and then. They reach backends the same way,
#: but a launch without them does not pay for them.
RARE_OPTIONS = (
    "enable_fp_fusion", "launch_cooperative_grid", "launch_pdl", "launch_cluster", "cluster_dims",
    "waves_per_eu", "matrix_instr_nonkdim", "kpack", "allow_flush_denorm", "schedule_hint",
    "instruction_sched_variant", "warp_size", "num_buffers_warp_spec", "num_consumer_groups",
    "reg_dec_producer", "reg_inc_consumer", "minRegAutoWS", "maxRegAutoWS", "ptx_version",
    "ptx_options", "ir_override", "extern_libs", "debug", "sanitize_overflow", "arch",
    "supported_fp8_dtypes", "deprecated_fp8_dot_operand_dtypes", "default_dot_input_precision",
    "allowed_dot_input_precisions", "max_num_imprecise_acc_default", "enable_reflect_ftz",
    "enable_warp_specialization", "instrumentation_mode", "grf_mode", "threads_per_warp",
)  # fmt: skip


@dataclass
class Binder:
    """``bind(*args, **kwargs)`` gives ``(runtime values, compile-time values, option values)``,
    ``keyed(*args, **kwargs)`` these and the specialisation key of all of them."""

    signature: inspect.Signature
    runtime: tuple[str, ...]
    constexprs: tuple[str, ...]
    options: tuple[str, ...]
    bind: Callable[..., tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]]
    #: Names of the options that ``bind`` and ``keyed`` do not take; in tuples of option values
    #: theirs come after those of ``options``.
    rare: tuple[str, ...] = ()
    #: Made on the first launch, by ``make_keyed``: it needs NumPy.
    keyed: Callable[..., tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...], Any]] | None = (
        None
    )
    #: Parameter list and defaults of ``bind``, to make ``keyed`` from.
    head: str = ""
    defaults: dict[str, Any] = field(default_factory=dict)


def is_constexpr(annotation: Any, function: types.FunctionType) -> bool:
    """Whether an annotation (possibly a string, under ``from __future__ import annotations``)
    marks a compile-time parameter."""
    if isinstance(annotation, str):
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
        names = {k: c.cell_contents for k, c in cells.items() if _filled(c)}
        try:
            annotation = eval(annotation, dict(function.__globals__), names)
        except Exception:
            # An annotation nobody can evaluate is a type hint for people, unless it says constexpr.
            return "constexpr" in re.findall(r"\w+", str(annotation))
    return annotation is constexpr or constexpr in typing.get_args(annotation)


def _filled(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018  (raises while the variable is unassigned)
    except ValueError:
        return False
    return True


def make_binder(function: types.FunctionType) -> Binder:
    """Build the binder of a kernel. Raises ``ASTFrontendError`` for variadic parameters."""
    signature = inspect.signature(function)
    defaults: dict[str, Any] = {}
    heads: list[tuple[Any, str]] = []
    runtime: list[str] = []
    constants: list[str] = []
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            code = function.__code__
            raise ASTFrontendError(
                f"kernel {function.__name__!r} has a variadic parameter {parameter}; name each parameter "
                "(one may take a tuple)",
                Span(code.co_filename, code.co_firstlineno, 1),
            )
        head = parameter.name
        if parameter.default is not parameter.empty:
            defaults[head] = parameter.default
            head += f"=defaults[{parameter.name!r}]"
        heads.append((parameter.kind, head))
        chosen = constants if is_constexpr(parameter.annotation, function) else runtime
        chosen.append(parameter.name)
    options = tuple(o for o in LAUNCH_OPTIONS if o not in signature.parameters)
    body = f"return ({_tuple(runtime)}), ({_tuple(constants)}), ({_tuple(options)})"
    head = _head(heads, options)
    text = f"def bind({head}):\n    {body}\n"
    namespace: dict[str, Any] = {"defaults": defaults}
    exec(compile(text, f"<binder of {function.__name__}>", "exec"), namespace)
    bind = namespace["bind"]
    bind.__name__ = bind.__qualname__ = function.__name__
    return Binder(
        signature, tuple(runtime), tuple(constants), options, bind,
        rare=tuple(o for o in RARE_OPTIONS if o not in signature.parameters),
        head=head, defaults=defaults,
    )  # fmt: skip


def make_keyed(
    binder: Binder, name: str, arrays: type, flags: int,
    argument_key: Callable[[str, Any], Any], constant_key: Callable[[str, Any], Any],
) -> Callable[..., Any]:  # fmt: skip
    """``binder.keyed``: every launch runs it, so what arguments usually are is written out.

    ``arrays`` is the usual array type, of whose ``flags.num`` the bits in ``flags`` count.
    """
    lines, keys = [], []
    for k, parameter in enumerate(binder.runtime):
        keys.append(f"_k{k}")
        lines += [
            f"_t = type({parameter})",
            "if _t is _array:",
            f"    _k{k} = ({parameter}.dtype, {parameter}.flags.num & {flags})",
            f"elif _t is int and -2147483648 <= {parameter} <= 2147483647:",
            f"    _k{k} = 'i32'",
            "else:",
            f"    _k{k} = _argument({parameter!r}, {parameter})",
        ]
    for k, parameter in enumerate(binder.constexprs):
        keys.append(f"_c{k}")
        lines += [
            f"_t = type({parameter})",
            f"_c{k} = (_t, {parameter}) if _t in _plain else _constant({parameter!r}, {parameter})",
        ]
    options = f"({_tuple(binder.options)})"
    values = f"({_tuple(binder.runtime)}), ({_tuple(binder.constexprs)}), {options}"
    lines.append(f"return {values}, ({_tuple(keys)}{options})")
    body = "".join(f"    {line}\n" for line in lines)
    namespace: dict[str, Any] = {
        "defaults": binder.defaults, "_array": arrays, "_argument": argument_key,
        "_constant": constant_key, "_plain": frozenset({int, str, bool, type(None)}),
    }  # fmt: skip
    text = f"def keyed({binder.head}):\n{body}"
    exec(compile(text, f"<binder of {name}>", "exec"), namespace)
    keyed: Callable[..., Any] = namespace["keyed"]
    keyed.__name__ = keyed.__qualname__ = name
    return keyed


def _tuple(names: Any) -> str:
    return "".join(f"{name}, " for name in names)


def _head(heads: list[tuple[Any, str]], options: tuple[str, ...]) -> str:
    parts: list[str] = []
    kinds = [kind for kind, _ in heads]
    for i, (kind, head) in enumerate(heads):
        if (
            kind == inspect.Parameter.KEYWORD_ONLY
            and inspect.Parameter.KEYWORD_ONLY not in kinds[:i]
        ):
            parts.append("*")
        parts.append(head)
        positional_only = inspect.Parameter.POSITIONAL_ONLY
        if kind == positional_only and positional_only not in kinds[i + 1 :]:
            parts.append("/")
    if options and "*" not in parts:
        parts.append("*")
    return ", ".join([*parts, *(f"{o}=None" for o in options)])
