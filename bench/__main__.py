"""`python -m bench`: the battery against its baselines, then capture and ablation against plain passes."""

from bench import bench_battery, bench_interventions

bench_battery.main()
bench_interventions.main()
