"""Measure a call in a process of its own: seconds, peak memory over what was there before, and its value."""

from __future__ import annotations

import multiprocessing
import resource
import threading
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple


class Measured(NamedTuple):
    seconds: float
    megabytes: float  # resident memory at its peak, over that before the call
    value: Any


def resident_memory() -> float:
    """Resident memory of this process in MB."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


class PeakMemory:
    """Samples resident memory from a thread while a block runs."""

    def __enter__(self) -> PeakMemory:
        self.before = self.peak = resident_memory()
        self.done = threading.Event()
        self.thread = threading.Thread(target=self._watch)
        self.thread.start()
        return self

    def _watch(self) -> None:
        while not self.done.wait(0.005):
            self.peak = max(self.peak, resident_memory())

    def __exit__(self, *error: object) -> None:
        self.done.set()
        self.thread.join()


def warm_up() -> None:
    """Fit something small with every library, so that loading it and starting its threads is not measured."""
    from sklearn.cluster import SpectralClustering
    from sklearn.datasets import make_blobs

    from afcm import AFCM

    X, _ = make_blobs(600, 16, centers=3, random_state=0)
    if find_spec("numba") is not None:
        AFCM(3, neighbor_search="approximate", random_state=0).fit(X)
    AFCM(3, random_state=0).fit(X)  # afterwards: loops that are used where Numba is loaded already
    SpectralClustering(3, affinity="nearest_neighbors", random_state=0).fit(X)


def _child(function: Callable[..., Any], arguments: tuple[Any, ...], pipe: Any) -> None:
    warnings.simplefilter("ignore")
    warm_up()
    with PeakMemory() as memory:
        began = time.perf_counter()
        value = function(*arguments)
        seconds = time.perf_counter() - began
    pipe.send(Measured(seconds, memory.peak - memory.before, value))


def measure(function: Callable[..., Any], *arguments: Any) -> Measured:
    """Call ``function`` in a fresh process, so that neither memory nor caches of one method help another."""
    context = multiprocessing.get_context("spawn")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(function, arguments, send))
    process.start()
    send.close()
    try:
        return receive.recv()
    except EOFError:
        raise RuntimeError(f"{function.__name__} died with exit code {process.exitcode}") from None
    finally:
        process.join()


def best_of(repeats: int, function: Callable[..., Any], *arguments: Any) -> Measured:
    """Measure a few times and take the fastest."""
    return min((measure(function, *arguments) for _ in range(repeats)), key=lambda result: result.seconds)
