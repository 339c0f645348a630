from __future__ import annotations

import subprocess
import sys

from resolvent import statistics


def test_importing_the_face_is_cheap():
    """Every worker that judges imports it; scipy, statsmodels and jaxtyping would cost each of them seconds."""
    heavy = "{'scipy', 'statsmodels', 'pandas', 'jaxtyping', 'numba', 'torch'}"
    code = f"import sys, resolvent.statistics; print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_face_names_functions_not_the_modules_they_live_in():
    """A module and its function share a name; the face must hand out the function, whichever was imported first."""
    import resolvent.statistics.bootstrap
    import resolvent.statistics.clopper_pearson
    import resolvent.statistics.within_text_rank  # noqa: F401

    for name in ("bootstrap", "clopper_pearson", "within_text_rank"):
        assert callable(getattr(statistics, name))
    assert all(hasattr(statistics, name) for name in statistics.__all__)
