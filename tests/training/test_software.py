"""Provenance."""

from pixelbrax.training import provenance


def test_provenance_tells_the_flags_of_the_compiler(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", " --xla_a=1  --xla_b=2 ")
    assert provenance()["xla_flags"] == "--xla_a=1 --xla_b=2"
    monkeypatch.delenv("XLA_FLAGS")
    assert "xla_flags" not in provenance()
