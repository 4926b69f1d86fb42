"""The generator's work grows with the size of the file and not with its square."""

import sys

import pytest

from pullback.codegen.third_party import emit_third_party, read_third_party

ONE = "namespace: growth\nkernels: numpy\nnative_functions:\n  - func: op(Tensor self) -> Tensor\n    kernel: sin\n"


def operators(n):
    lines = ["namespace: growth", "kernels: numpy", "native_functions:"]
    for i in range(n):
        lines += [f"  - func: op_{i}(Tensor self) -> Tensor", "    kernel: sin", "    variants: function, inplace, out"]
        lines += [f"    alias: other_{i}"]
    lines.append("derivatives:")
    for i in range(n):
        lines += [f"  - name: op_{i}(Tensor self) -> Tensor", f"    self: grad * op_{n - 1 - i}(self)"]
        lines += ["    result: auto_element_wise"]
    return "\n".join(lines)


def overloads(n):
    lines = ["namespace: growth", "kernels: numpy", "native_functions:"]
    for i in range(n):
        lines += [f"  - func: op.kind{i}(Tensor self, int a{i}) -> Tensor", "    kernel: sin"]
    return "\n".join(lines)


def composites(n):
    lines = ["namespace: growth", "composites: numpy", "native_functions:"]
    for i in range(n):
        lines += [f"  area{i}:", f"  - func: op_{i}(Tensor self) -> Tensor"]
    return "\n".join(lines)


def aliases(n):
    names = ", ".join(f"other_{i}" for i in range(n))
    return f"{ONE}    alias: {names}\n"


def named_nodes(n):
    lines = [operators(n)[: operators(n).index("derivatives:")] + "derivatives:"]
    for i in range(n):
        lines += [f"  - name: op_{i}(Tensor self) -> Tensor", f"    node: Own{i}Backward0", "    self: grad"]
    return "\n".join(lines)


def work(text):
    """How many of Python's instructions our own code takes to turn `text` into a module."""
    count = 0

    def trace(frame, event, _):
        nonlocal count
        if event == "call":
            if "codegen" not in frame.f_code.co_filename:
                return None
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        emit_third_party(read_third_party(text))
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("declarations", [operators, overloads, composites, aliases, named_nodes])
def test_twice_as_many_declarations_take_twice_the_work(declarations):
    work(declarations(2))  # what is cached for good
    first, second, third = (work(declarations(n)) for n in (30, 60, 120))
    assert third - second < 2.2 * (second - first)  # 2 where it is linear, 4 where it is quadratic


def test_a_long_docstring_of_one_word_is_kept_whole():
    # Breaking such a word copies the rest of it for each line.
    assert "w" * 5000 in emit_third_party(read_third_party(f"{ONE}    doc: {'w' * 5000}\n"))
