"""The hook API of generation 1, frozen: a change here breaks plugins that exist."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from mytriton.plugins import builtin_info, interface, types
from mytriton.plugins.errors import PluginInterfaceError
from mytriton.plugins.hookspecs import hookimpl


def test_signatures() -> None:
    # New hooks and new trailing arguments are minor versions; nothing else may change.
    assert interface.HOOKS == {
        "mytriton_backend_info": (),
        "mytriton_probe": (),
        "mytriton_claim": ("function", "launch"),
        "mytriton_cache_key": ("launch",),
        "mytriton_passes": ("function", "launch"),
        "mytriton_lower": ("function", "launch"),
        "mytriton_compile": ("source", "launch"),
        "mytriton_adapt_argument": ("value",),
        "mytriton_event": ("event",),
    }
    assert types.HOOK_API == (1, 0)


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (types.Capability, "state reason issue"),
        (types.Limits, "block_elements grid shared_bytes"),
        (types.Availability, "can_lower can_launch devices reason hint"),
        (types.Device, "kind name arch index"),
        (types.ArgSpec, "name type device_kind device_id contiguous readonly"),
        (types.LaunchSpec, "arguments constexprs options grid"),
        (types.Source, "text language entry resources"),
        (types.Claim, "score note"),
        (types.Decline, "reason missing"),
        (types.Event, "kind kernel backend data"),
        (types.BackendInfo, "name summary hook_api url priority device_kinds capabilities limits"
         " install_hint requirement_hints language variables"),
    ],
)  # fmt: skip
def test_fields(kind: Any, fields: str) -> None:
    # Later fields have defaults and come last.
    assert " ".join(f.name for f in dataclasses.fields(kind))[: len(fields)] == fields


def test_the_interpreter_describes_itself_once() -> None:
    from mytriton.interpreter.backend import INFO

    assert dataclasses.replace(builtin_info.INFO, capabilities=INFO.capabilities) == INFO
    assert dict(builtin_info.INFO.capabilities) == dict(INFO.capabilities)
    assert len(builtin_info.INFO.capabilities) == len(INFO.capabilities)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("@hookimpl\ndef mytriton_claim(function, launch, *rest): ...", "argument '*rest' of mytriton_claim is not in the spec (function, launch)"),
        ("@hookimpl\ndef mytriton_claim(function, *, launch): ...", "argument 'launch' of mytriton_claim is not in the spec (function, launch)"),
        ("@hookimpl(specname='mytriton_prob')\ndef f(): ...", "hook 'mytriton_prob' does not exist (closest: mytriton_probe)"),
        ("@hookimpl\ndef wholly_different(): ...", "hook 'wholly_different' does not exist"),
        ("def mytriton_lower(function, launch): ...", "mytriton_lower is defined but not marked @hookimpl"),
        ("@hookimpl(wrapper=True)\ndef mytriton_probe():\n    yield", "the required hook mytriton_probe is missing"),
    ],
)  # fmt: skip
def test_what_is_refused(source: str, text: str) -> None:
    from types import SimpleNamespace

    scope: dict[str, Any] = {"hookimpl": hookimpl}
    exec(source, scope)
    plugin = SimpleNamespace(
        **{k: v for k, v in scope.items() if k not in ("hookimpl", "__builtins__")}
    )
    with pytest.raises(PluginInterfaceError) as caught:
        interface.check(plugin, "acme-x", backend="x")
    assert caught.value.message == f"plugin acme-x: {text}"


def test_fewer_arguments_and_other_names_are_fine() -> None:
    scope: dict[str, Any] = {"hookimpl": hookimpl}
    exec(
        "@hookimpl\ndef mytriton_event(): ...\ndef mytriton_helper(): ...\nmytriton_version = 3",
        scope,
    )
    from types import SimpleNamespace

    interface.check(SimpleNamespace(**scope), "acme-x")
