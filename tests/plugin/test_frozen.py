"""A study that differs from its LEDGER is refused before anything is collected."""

import pytest


@pytest.mark.parametrize("arguments", [("claims",), ("-n", "2")])
def test_an_edited_claim_is_refused(study, arguments):
    """A threshold moved after registration must never yield a verdict; exit 4, before workers start."""
    study.claim("good", value=0.9)
    study.register()
    text = (study.root / "prereg/good.yaml").read_text()
    study.write("prereg/good.yaml", text.replace("at_least: 0.5", "at_least: 0.4"))
    run = study.run(*arguments)
    assert run.code == 4
    assert "prereg/good.yaml: differs from what was registered" in run.output
    assert "created:" not in run.output
    assert "Traceback" not in run.output
    assert not (study.root / "runs").exists()
