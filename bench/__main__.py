"""`python -m bench`: the battery against its baselines."""

from bench.bench_battery import main

main()
