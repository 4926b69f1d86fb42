"""The profiler: what is counted, how it nests, the table, the trace. No test looks at how long anything takes."""

import asyncio
import contextvars
import json
import threading

import pytest

import pullback as pb
from pullback import autograd
from pullback.autograd.profiler import profile, record_function


def leaf(*values):
    return pb.tensor(values or (1.0, 2.0), requires_grad=True)


def counts(prof):
    return {row.key: row.count for row in prof.key_averages()}


def test_operators_and_nodes_are_counted_by_name():
    x = leaf()
    with profile() as prof:
        for _ in range(3):
            (x.sin() * x).sum().backward()
    assert counts(prof) == dict.fromkeys(["sin", "mul", "sum", "SumBackward0", "MulBackward0", "SinBackward0"], 3)
    kinds = {event.name: event.kind for event in prof.function_events}
    assert kinds["sin"] == "operator"
    assert kinds["SinBackward0"] == "backward"


def test_nothing_is_recorded_outside_or_when_disabled():
    x = leaf()
    with profile(enabled=False) as off:
        x.sin()
    with profile() as prof:
        pass
    x.sin()
    assert len(off.function_events) == len(prof.function_events) == 0


def test_in_place_out_and_custom_functions_have_names():
    class Double(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    with profile() as prof:
        y = pb.ones(2)
        y.add_(1)
        pb.exp(y, out=y)
        Double.apply(leaf()).sum().backward()
    seen = counts(prof)
    assert {"add_", "exp", "Double", "DoubleBackward"} <= set(seen)
    inside = {event.name: [c.name for c in event.cpu_children] for event in prof.function_events}
    assert inside["Double"] == inside["DoubleBackward"] == ["mul"]


def test_ranges_nest():
    x = leaf()
    with profile() as prof, record_function("outer"):
        with record_function("inner", args="batch 3"):
            y = x.sin()
        y.sum().backward()
    outer, *_ = prof.events()
    assert [child.name for child in outer.cpu_children] == ["inner", "sum", "SumBackward0", "SinBackward0"]
    inner = outer.cpu_children[0]
    assert inner.cpu_parent is outer
    assert [child.name for child in inner.cpu_children] == ["sin"]
    assert outer.start_us <= inner.start_us <= inner.end_us <= outer.end_us
    assert inner.args == "batch 3"


def test_totals_are_self_times_and_what_is_inside():
    x = leaf()
    with profile() as prof, record_function("outer"):
        x.sin().cos()
    outer = prof.events()[0]
    inside = sum(child.cpu_time_total for child in outer.cpu_children)
    assert outer.self_cpu_time_total == pytest.approx(outer.cpu_time_total - inside)
    assert prof.self_cpu_time_total == pytest.approx(outer.cpu_time_total)
    assert prof.total_average().cpu_time_total == pytest.approx(outer.cpu_time_total)


def test_a_range_inside_itself_counts_once_in_the_total():
    def recurse(n):
        with record_function("recurse"):
            if n:
                recurse(n - 1)

    with profile() as prof:
        recurse(3)
    (row,) = prof.key_averages()
    assert row.count == 4
    assert row.cpu_time_total == pytest.approx(prof.events()[0].cpu_time_total)
    assert row.self_cpu_time_total == pytest.approx(row.cpu_time_total)


def test_ranges_without_a_profile_do_nothing_and_decorate():
    @record_function("named")
    def function():
        return pb.ones(1).sin()

    function()
    with profile() as prof:
        function()
    assert counts(prof) == {"named": 1, "sin": 1}
    with pytest.raises(TypeError, match="takes a name, got int"):
        record_function(3)


def test_a_range_ends_when_an_error_leaves_it():
    with profile() as prof:
        with pytest.raises(ZeroDivisionError), record_function("fails"):
            1 / 0
        with pytest.raises(ValueError, match="broadcast"):
            pb.ones(2) + pb.ones(3)
        pb.ones(1).sin()
    assert [(event.name, event.cpu_parent) for event in prof.events()] == [
        ("fails", None),
        ("add", None),
        ("sin", None),
    ]


def test_a_decorated_function_collects_over_calls():
    prof = profile()

    @prof
    def step(n):
        pb.ones(1).sin()
        if n:
            step(n - 1)

    step(1)
    step(0)
    assert counts(prof) == {"sin": 3}


def test_memory_is_that_of_results_with_memory_of_their_own():
    x = pb.ones(1000, requires_grad=True)
    with profile(profile_memory=True) as prof, record_function("all"):
        y = x.view(10, 100).exp()
        y.detach().add_(1)
        y.t().sum()
    memory = {row.key: row.cpu_memory_usage for row in prof.key_averages()}
    assert memory["exp"] == 8000
    assert memory["view"] == memory["add_"] == 0
    assert memory["all"] == 8000 + memory["sum"]
    self_memory = {row.key: row.self_cpu_memory_usage for row in prof.key_averages()}
    assert self_memory["all"] == 0
    assert prof.events()[0].cpu_memory_usage == memory["all"]
    assert "CPU Mem" in prof.table()
    assert "7.81 KiB" in prof.table()


def test_shapes_group():
    with profile(record_shapes=True) as prof:
        for n in (2, 2, 3):
            pb.ones(n) * pb.ones(n)
    rows = prof.key_averages(group_by_input_shape=True)
    assert {row.input_shapes: row.count for row in rows} == {((2,), (2,)): 2, ((3,), (3,)): 1}
    assert "Input Shapes" in rows.table()
    assert "Input Shapes" not in prof.table()


def test_table_sorts_limits_and_refuses():
    with profile() as prof:
        for _ in range(3):
            pb.ones(1).sin()
        pb.ones(1).cos()
        with record_function("a name of many characters"):
            pass
    averages = prof.key_averages()
    lines = averages.table(sort_by="count", row_limit=1).splitlines()
    assert lines[1].split("  ")[0] == "Name"
    assert lines[3].startswith("sin ")
    assert lines[3].endswith(" 3")
    assert lines[4] == "... and 2 rows more; row_limit=-1 shows them"
    assert lines[-1].startswith("Self CPU time total: ")
    by_name = averages.table(sort_by="key", max_name_column_width=10).splitlines()
    assert [line.split()[0] for line in by_name[3:6]] == ["a", "cos", "sin"]
    assert by_name[3].startswith("a name ...")
    assert str(averages) == averages.table()
    with pytest.raises(ValueError, match=r"sort_by must be one of 'cpu_time', .*'key', got 'speed'"):
        averages.table(sort_by="speed")


def test_an_empty_profile_has_a_table():
    assert "Self CPU time total: 0.000us" in profile().table()


def test_chrome_trace_is_json_with_arrows_from_forward_to_backward(tmp_path):
    x = leaf()
    with profile(record_shapes=True, profile_memory=True) as prof, record_function("step", args="1"):
        x.sin().sum().backward()
    path = prof.export_chrome_trace(tmp_path / "deep" / "trace.json")
    trace = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    spans = {event["name"]: event for event in trace if event["ph"] == "X"}
    assert set(spans) == {"step", "sin", "sum", "SumBackward0", "SinBackward0"}
    assert spans["step"]["args"] == {"args": "1"}
    assert spans["sin"]["args"]["Input dims"] == [[2]]
    assert all(event["dur"] >= 0 and event["ts"] >= 0 for event in spans.values())
    inside, outside = spans["sin"], spans["step"]
    assert outside["ts"] <= inside["ts"]
    assert inside["ts"] + inside["dur"] <= outside["ts"] + outside["dur"]
    starts = {event["id"]: event["ts"] for event in trace if event["ph"] == "s"}
    ends = {event["id"]: event["ts"] for event in trace if event["ph"] == "f"}
    assert starts.keys() == ends.keys() == {spans[name]["args"]["Sequence number"] for name in ("sin", "sum")}
    assert all(starts[i] < ends[i] for i in starts)
    assert [event["args"]["name"] for event in trace if event["ph"] == "M"] == ["MainThread"]


def test_threads_are_seen_if_they_enter_or_copy_the_context():
    def work():
        pb.ones(1).sin()

    def entering():
        with prof:
            work()

    with profile() as prof:
        context = contextvars.copy_context()
        targets = [work, entering, lambda: context.run(work)]
        threads = [threading.Thread(target=target, name=f"worker {i}") for i, target in enumerate(targets)]
        for thread in threads:
            thread.start()
            thread.join()
    assert [event.thread for event in prof.events()] == ["worker 1", "worker 2"]


def test_asyncio_tasks_have_ranges_of_their_own():
    async def work(name):
        with record_function(name):
            await asyncio.sleep(0)
            pb.ones(1).sin()
            await asyncio.sleep(0)

    async def main():
        with profile() as prof:
            await asyncio.gather(work("a"), work("b"))
        return prof

    prof = asyncio.run(main())
    ranges = {event.name: event for event in prof.events() if event.kind == "range"}
    assert [child.name for child in ranges["a"].cpu_children] == ["sin"]
    assert [child.name for child in ranges["b"].cpu_children] == ["sin"]
    assert ranges["a"].thread != ranges["b"].thread
    assert ranges["a"].cpu_children[0].thread == ranges["a"].thread


def test_profiles_nest():
    with profile() as outer:
        pb.ones(1).sin()
        with profile() as inner:
            pb.ones(1).cos()
    assert counts(outer) == {"sin": 1, "cos": 1}
    assert counts(inner) == {"cos": 1}


def test_composites_appear_as_the_primitives_that_they_call():
    with profile() as prof:
        pb.kron(pb.ones(2, 3), pb.ones(4, 3))
    assert "kron" not in counts(prof)
    assert "mul" in counts(prof)


def test_reprs_are_short():
    with profile() as prof:
        pb.ones(1).sin()
    assert repr(prof) == "<pullback.autograd.profiler.profile: 1 events>"
    assert str(prof) == prof.table()


# -- what programs for PyTorch's profiler use -------------------------------------------------------------------


def test_events_and_rows_give_times_as_texts_and_events_count_as_one():
    with profile() as prof:
        pb.ones(3).sin()
    event, row = prof.function_events[-1], prof.key_averages()[0]
    assert (event.key, event.count, event.cpu_time) == (event.name, 1, event.cpu_time_total)
    for times in (event, row, prof.total_average()):
        for text in (times.cpu_time_str, times.cpu_time_total_str, times.self_cpu_time_total_str):
            assert text.endswith(("us", "ms", "s"))


def test_table_takes_pytorchs_options():
    with profile(record_shapes=True) as prof, record_function("outer"):
        pb.ones((3, 4)).sin()
    plain = {"sort_by": "cpu_time_total", "row_limit": 5, "max_src_column_width": 10, "max_name_column_width": 20}
    lines = prof.key_averages().table(**plain, header="A header", time_unit="ms").splitlines()
    assert lines[0] == "A header"
    assert all("ms" in line and "us" not in line for line in lines[4:-2])
    top = prof.table(top_level_events_only=True)
    assert "outer" in top
    assert "sin" not in top
    grouped = prof.function_events.key_averages(group_by_input_shapes=True).table(max_shapes_column_width=5)
    assert "[(..." in grouped
    with pytest.raises(ValueError, match="time_unit must be 'us', 'ms' or 's', got 'min'"):
        prof.table(time_unit="min")


def test_options_of_pytorchs_profile_are_accepted_or_refused_with_the_reason():
    with profile(use_cuda=False, use_kineto=True, use_cpu=True, with_stack=False, use_device=None) as prof:
        pb.ones(3).sin()
    assert counts(prof)["sin"] == 1
    with pytest.raises(RuntimeError, match=r"profile\(use_cuda=True\) is not available: everything runs on the CPU"):
        profile(use_cuda=True)
    with pytest.raises(RuntimeError, match=r"with_stack=True.*source lines are not kept"):
        profile(with_stack=True)
    with pytest.raises(TypeError, match="unexpected keyword argument 'with_stak'"):
        profile(with_stak=True)
