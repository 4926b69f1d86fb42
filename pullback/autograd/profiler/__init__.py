"""Profiling: how long operators and backward nodes take, how often they run and what memory they allocate."""

from pullback.autograd.profiler.event import FunctionEvent, FunctionEventAvg
from pullback.autograd.profiler.events import EventAverages, EventList
from pullback.autograd.profiler.recording import profile, record_function

__all__ = ["EventAverages", "EventList", "FunctionEvent", "FunctionEventAvg", "profile", "record_function"]
