"""Kernels that print."""

from __future__ import annotations

import numpy as np
import pytest

from mytriton_testkit.ptx import launch, load_module

from .one import kernel

FORM = "n=%d|%u|%5x|%lld|%llu|%.3f|%g|%s|%c|%%|%-4d|\n"
DECLARE = f"""
.extern .func (.param .b32 result) vprintf (.param .b64 form, .param .b64 values);
.global .align 1 .b8 form[{len(FORM) + 1}] = {{{", ".join(str(b) for b in FORM.encode())}, 0}};
.global .align 1 .b8 word[4] = {{97, 98, 99, 0}};
"""


def printing(stores: str) -> str:
    return kernel(
        f"""
.local .align 8 .b8 depot[96];
.reg .b64 %s, %g, %w, %v;
.reg .b32 %done;
mov.u64 %s, depot;
cvta.local.u64 %g, %s;
mov.u64 %w, word;
cvta.global.u64 %v, %w;
setp.gt.u32 %q0, %t, 1;
@%q0 bra $END;
{stores}
mov.u64 %w, form;
cvta.global.u64 %v, %w;
{{
.param .b64 first;
st.param.b64 [first+0], %v;
.param .b64 second;
st.param.b64 [second+0], %g;
.param .b32 answer;
call.uni (answer), vprintf, (first, second);
ld.param.b32 %done, [answer+0];
}}
$END:
ret;""",
        declare=DECLARE,
    )


def test_every_kind_of_value(capsys: pytest.CaptureFixture[str]) -> None:
    text = printing("""
st.local.u32 [%s], %t;
st.local.u32 [%s+4], 0xffffffff;
st.local.u32 [%s+8], 255;
mov.u64 %a1, -5;
st.local.u64 [%s+16], %a1;
st.local.u64 [%s+24], %a1;
mov.b64 %a2, 0x3ff8000000000000;
st.local.u64 [%s+32], %a2;
st.local.u64 [%s+40], %a2;
st.local.u64 [%s+48], %v;
st.local.u32 [%s+56], 65;
st.local.u32 [%s+60], 7;""")
    out = np.zeros(4, "i4")
    launch(load_module(text), 1, 3, [out, out, out])
    line = "n={}|4294967295|   ff|-5|18446744073709551611|1.500|1.5|abc|A|%|7   |\n"
    assert capsys.readouterr().out == line.format(0) + line.format(1)
