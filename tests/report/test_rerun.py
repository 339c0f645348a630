"""The command that runs one verdict again."""

from resolvent.report.rerun import claim_tests, rerun_command


def test_the_command_names_one_test_and_one_subject(tmp_path):
    """-k would select every claim whose name begins alike."""
    (tmp_path / "claims" / "family").mkdir(parents=True)
    (tmp_path / "claims" / "family" / "test_depth.py").write_text(
        "def test_depth(claim):\n    pass\n\n\ndef test_depth_deeper(claim):\n    pass\n"
    )
    tests = claim_tests(tmp_path / "claims")
    assert rerun_command(tests, "depth", "ada") == (
        'pytest "claims/family/test_depth.py::test_depth[ada]" --subject=ada'
    )
    assert set(tests) == {"depth", "depth_deeper"}


def test_a_claim_without_a_test_still_gets_a_command(tmp_path):
    """It may lie in a draft."""
    assert rerun_command({}, "depth", "ada") == "pytest -k depth --subject=ada"
