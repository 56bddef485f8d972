"""`make demo`, as a new user runs it."""

from __future__ import annotations

import struct

import pytest

from afcm import demo

pytest.importorskip("jinja2")


def test_the_demo_prints_its_table_draws_its_picture_and_writes_its_page(tmp_path, capsys):
    assert demo.main(["--out", str(tmp_path / "new" / "folder")]) == 0
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    for toy in ("spirals", "rings"):
        assert any(line.split()[:3] == [toy, "AFCM", "100.00"] for line in lines)
    assert sum(line.startswith(("spirals", "rings", "iris")) for line in lines) == 9
    assert "[9/9]" in captured.err
    header = (tmp_path / "new" / "folder" / "demo.png").read_bytes()[:24]
    width, height = struct.unpack(">II", header[16:24])
    assert header[:8] == b"\x89PNG\r\n\x1a\n"
    assert width > 1000 < height + 400
    page = (tmp_path / "new" / "folder" / "report.html").read_text(encoding="utf-8")
    assert "Iris: three species of flowers" in page
    assert "versicolor" in page
