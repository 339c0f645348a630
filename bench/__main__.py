"""`python -m bench [NAME …]`: the named benches, or all of them; each file `bench_NAME.py` beside this one is one.

A bench prints what it measures beside its targets and exits with 1 where it misses one. Each runs in a process of its
own: what one has imported, and how many threads it has set, is nothing to the next.
"""

import subprocess
import sys
from pathlib import Path

BENCHES = sorted(file.stem.removeprefix("bench_") for file in Path(__file__).parent.glob("bench_*.py"))


def main(names: list[str]) -> int:
    """Exit status: 0 where every bench met its targets, 1 where one did not, 2 for a name that is none."""
    if unknown := [name for name in names if name not in BENCHES]:
        print(f"no bench {', '.join(unknown)}; there are {', '.join(BENCHES)}", file=sys.stderr)
        return 2
    missed = []
    for name in names or BENCHES:
        print(f"== {name}", flush=True)
        if subprocess.run([sys.executable, "-m", f"bench.bench_{name}"], check=False).returncode:
            missed.append(name)
    if missed:
        print(f"failed, or missed a target: {', '.join(missed)}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
