"""Whatever a damaged file leads to becomes one error, with the fault and the way out apart."""

from __future__ import annotations

import errno
import zipfile
import zlib

import pytest

from afcm.storage.errors import DamagedError, FormatError, translate_errors


class Told(Exception):
    """Carries the error that was explained."""


def translated(error):
    with pytest.raises(Told) as caught, translate_errors(Told):
        raise error
    return caught.value.args[0], caught.value.__cause__


def test_a_fault_and_its_advice_are_apart_and_together():
    error = FormatError("holds a pear", "give an apple")
    assert (error.fault, error.advice, str(error)) == ("holds a pear", "give an apple", "holds a pear; give an apple")
    assert (str(FormatError("is empty")), FormatError("is empty").advice) == ("is empty", "")
    assert translated(error)[0] is error


@pytest.mark.parametrize(
    "error",
    [
        zipfile.BadZipFile("Bad\nCRC"),
        zlib.error("Bad\nCRC"),
        TypeError("Bad\nCRC"),
        RecursionError("Bad\nCRC"),
        OSError("Bad\nCRC"),
    ],
)
def test_what_libraries_say_of_damage_is_told_in_one_line(error):
    found, cause = translated(error)
    assert isinstance(found, DamagedError)
    assert found.fault == "is damaged or cut short (Bad CRC)"
    assert cause is error


def test_seeking_before_the_beginning_is_damage_and_too_little_memory_is_told():
    assert isinstance(translated(OSError(errno.EINVAL, "Invalid argument"))[0], DamagedError)
    found = translated(MemoryError())[0]
    assert (found.fault, found.advice) == ("holds more than there is memory for", "use a larger machine")


@pytest.mark.parametrize("error", [OSError(errno.EIO, "Input/output error"), KeyboardInterrupt()])
def test_faults_of_the_machine_stay_what_they_are(error):
    with pytest.raises(type(error)) as caught, translate_errors(Told):
        raise error
    assert caught.value is error
