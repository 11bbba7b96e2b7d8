"""Stages below a backend's text: debug information becomes the sources of lines, and is not shown."""

import pytest

from mytriton.inspection.compiled import compiled_stage
from mytriton.inspection.model import Line, Stage

#: Line 1 of the text above comes from line 10 of the kernel, line 2 from 20, line 3 from nowhere.
ABOVE = Stage("c", "C", "C", (Line("one", 10), Line("two", 20), Line("three")))


def rows(name, text, above=ABOVE):
    return [(line.text, line.source) for line in compiled_stage(name, text, above).lines]


def test_assembly_is_marked_from_a_loc_to_the_next():
    text = (
        "f:\n\t.loc\t1 2 5\n\tmovl\t$1, %eax\n.LBB0_1:\n\taddl\t$2, %eax\n"
        "\t.loc\t1 1 0 is_stmt 0\n\tretq\n\t.loc 1 3\n\tnop\n\t.loc\t1 0 5\n\tnop\n"
    )
    assert rows("asm", text) == [
        ("f:", None), ("\tmovl\t$1, %eax", 20), (".LBB0_1:", None), ("\taddl\t$2, %eax", 20),
        ("\tretq", 10), ("\tnop", None), ("\tnop", None),
    ]  # fmt: skip


def test_sections_for_debuggers_leave_assembly():
    text = (
        "\t.text\n\t.loc 1 1 0\n\tretq\n.Ltmp3:\n\t.cfi_endproc\n"
        '\t.section\t.debug_line,"",@progbits\n\t.byte\t1\n\t.section\t".note",@x\n\t.long\t7\n'
    )
    assert rows("asm", text) == [
        ("\t.text", None), ("\tretq", 10), ('\t.section\t".note",@x', None), ("\t.long\t7", None),
    ]  # fmt: skip


def test_sections_for_debuggers_leave_ptx():
    text = (
        '.visible .entry f()\n{\n\t.loc\t1 2 3\n\tret;\n}\n\t.file\t1 "f.cu"\n'
        "\t.section\t.debug_str\n\t{\n$L__info_string0:\n.b8 95\n\n\t}\n"
    )
    assert [row for row in rows("ptx", text) if row[0].strip()] == [
        (".visible .entry f()", None), ("{", None), ("\tret;", 20), ("}", None),
    ]  # fmt: skip


def test_an_inlined_helper_counts_for_its_call():
    text = "\t.loc\t1 3 7, function_name $L__info_string0, inlined_at 1 2 9\n\tfma;\n"
    assert rows("ptx", text) == [("\tfma;", 20)]


def test_llvm_instructions_are_marked_by_their_locations():
    text = (
        "define i32 @f() !dbg !3 {\n  %1 = add i32 1, 2, !dbg !7\n  br label %4, !dbg !8\n"
        "4:\n  ret i32 %1\n}\n\n!3 = distinct !DISubprogram(line: 1)\n"
        "!7 = !DILocation(line: 2, column: 4, scope: !3)\n"
        "!8 = distinct !DILocation(line: 1, column: 4, scope: !3)\n"
    )
    assert rows("llir", text)[:5] == [
        ("define i32 @f() {", None), ("  %1 = add i32 1, 2", 20), ("  br label %4", 10),
        ("4:", None), ("  ret i32 %1", None),
    ]  # fmt: skip
    assert not [row for row, _ in rows("llir", text) if "DI" in row]


@pytest.mark.parametrize("above", [None, ABOVE])
def test_text_without_debug_information_is_kept_as_it_is(above):
    assert rows("asm", "f:\n\tretq\n", above) == [("f:", None), ("\tretq", None)]


def test_stages_nobody_knows_keep_their_name():
    stage = compiled_stage("spirv", "OpNop\n", None)
    assert (stage.name, stage.title, stage.language) == ("spirv", "spirv", "spirv")


def test_known_stages_have_titles():
    assert compiled_stage("llir", "", None).title == "LLVM IR"
