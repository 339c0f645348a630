"""Loads the plugin that turns claims into tests and verdicts into outcomes."""

pytest_plugins = ["resolvent.pytest_plugin"]
