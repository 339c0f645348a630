"""What starting the study imports: each of 128 workers pays for it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

HEAVY = {
    "accelerate",
    "gguf",
    "jaxtyping",
    "jinja2",
    "matplotlib",
    "numba",
    "pandas",
    "pyarrow",
    "rich",
    "scipy",
    "sklearn",
    "statsmodels",
    "tokenizers",
    "torch",
    "transformers",
}

COLLECT = """
import sys
import pytest
started = set(sys.modules)
import {modules}
print(sorted({{name.partition(".")[0] for name in sys.modules}} & set({heavy!r})))
"""


def in_fresh_process(modules, *flags):
    """Standard output (the heavy packages) and error of importing modules beside pytest."""
    code = COLLECT.format(modules=", ".join(modules), heavy=sorted(HEAVY))
    path = f"{ROOT}:{ROOT / 'claims'}:{ROOT / 'lib'}"
    done = subprocess.run(
        [sys.executable, *flags, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={"PYTHONPATH": path, "PATH": "/usr/bin:/bin"},
    )
    return done.stdout.strip(), done.stderr


def study_modules():
    """conftest, the plugin with all that a worker loads before it judges, and every claim module."""
    plugin = sorted(
        file.stem for file in (ROOT / "lib/resolvent/pytest_plugin").glob("*.py") if file.stem != "__init__"
    )
    return [
        "conftest",
        *(f"resolvent.pytest_plugin.{name}" for name in plugin),
        *sorted(file.stem for file in (ROOT / "claims").glob("test_*.py")),
    ]


def test_conftest_plugin_and_claims_import_nothing_heavy():
    """The names say what went wrong; the time below only that something did."""
    assert in_fresh_process(study_modules())[0] == "[]"


def test_conftest_plugin_and_claims_import_in_half_a_second():
    """-X importtime counts what these modules add to pytest itself; the best of three, since the machine is shared."""

    def seconds():
        _, log = in_fresh_process(study_modules(), "-X", "importtime")
        lines = re.findall(r"import time:\s+(\d+) \|\s+(\d+) \|( *)(\S+)", log)
        top = {name: int(total) for _, total, indent, name in lines if len(indent) == 1}
        return (
            sum(
                total
                for name, total in top.items()
                if name.split(".")[0] in {"conftest", "resolvent"} or name.startswith("test_")
            )
            / 1e6
        )

    assert min(seconds() for _ in range(3)) < 0.5


@pytest.mark.parametrize(
    "package",
    [
        "resolvent",
        *(
            f"resolvent.{name}"
            for name in ("evidence", "registry", "representations", "models", "texts", "report", "cli")
        ),
    ],
)
def test_faces_are_light(package):
    """Naming a floor must not load what only its functions need."""
    assert in_fresh_process([package])[0] == "[]"


def test_collection_plans_without_anything_heavy():
    """Planning runs in every worker: views and stages are imported, their numerics are not."""
    code = f"""
import sys
import pytest

class Loaded:
    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session):
        heavy = sorted({{name.partition(".")[0] for name in sys.modules}} & set({sorted(HEAVY)!r}))
        print("heavy:", heavy, "items:", len(session.items) > 0)

pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider"], plugins=[Loaded()])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert "heavy: [] items: True" in done.stdout, done.stdout[-2000:]
