"""pytest runs the study: claims become items, verdicts become outcomes, a run leaves a folder.

    options        the command line
    study_run      what every process of a run knows, and how workers get it
    collection     claim × subject items, missing evidence ahead of them
    claim_item     what is known of such an item
    shard_item     a missing shard as an item
    claim_fixture  `claim` and the views
    outcomes       the exceptions by which a verdict ends a test
    verdicts       outcome, letter and word on pytest's reports
    controller     verdicts.jsonl, the gate, the summary
    availability, completeness, crashes, progress   what the controller uses
    plan_only      `--resolvent-plan`

Loaded by the root conftest.py. Without an argument that covers claims/ it does nothing. Begin with `study_run`.
"""

from __future__ import annotations

import pytest

from resolvent.encodings import show_what_it_can
from resolvent.pytest_plugin.options import pytest_addoption
from resolvent.pytest_plugin.plan_only import pytest_cmdline_main

__all__ = ["pytest_addhooks", "pytest_addoption", "pytest_cmdline_main", "pytest_sessionstart"]


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    from resolvent.pytest_plugin import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Opens the study, and registers what a run of it needs: in the controller before any worker starts."""
    from resolvent.pytest_plugin.collection import Collection
    from resolvent.pytest_plugin.controller import Controller
    from resolvent.pytest_plugin.crashes import Crashes
    from resolvent.pytest_plugin.kernels import compile_kernels
    from resolvent.pytest_plugin.plan_only import PlanOnly
    from resolvent.pytest_plugin.scheduling import Scheduling
    from resolvent.pytest_plugin.study_run import WORKER_KEY, join_run, start_run
    from resolvent.pytest_plugin.verdicts import Verdicts

    config = session.config
    worker_input = getattr(config, "workerinput", None)
    if worker_input is None:
        run = start_run(config)
    else:
        run = join_run(config, worker_input[WORKER_KEY]) if WORKER_KEY in worker_input else None
    if run is None:
        return
    plugins = config.pluginmanager
    show_what_it_can(getattr(getattr(plugins.get_plugin("terminalreporter"), "_tw", None), "_file", None))
    collection = Collection(run)
    plugins.register(collection, "resolvent-collection")
    plugins.register(Verdicts(run), "resolvent-verdicts")
    if run.options.plan_only:
        plugins.register(PlanOnly(run, collection), "resolvent-plan")
    elif worker_input is None:
        plugins.register(Controller(run, config), "resolvent-controller")
        plugins.register(Crashes(), "resolvent-crashes")
        plugins.register(Scheduling(), "resolvent-scheduling")
        compile_kernels(config, run.claims_folder)
