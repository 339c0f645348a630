"""Workers: equal verdicts, dead ones replaced, nothing complete computed twice."""

import os
import signal
from collections import Counter

import pytest


def claims(study):
    study.claim("good", value=0.9, texts=4)
    study.claim("bad", value=0.1, texts=3)
    study.claim("poor", count=0)
    study.register()


def test_any_number_of_workers_gives_the_same_file(study):
    """A verdict that depended on the number of processes would be no measurement."""
    claims(study)
    alone = study.run("claims")
    together = study.run("-n", "2", "--evidence-dir=other")
    assert (alone.code, together.code) == (1, 1), together.output
    assert together.verdict_text == alone.verdict_text != ""  # `latest` moved on: both were read before
    assert Counter(study.computed()).most_common(1)[0][1] == 2  # once in each store
    assert len(together.provenance["evidence"]["computed"]) == 16


def test_killed_workers_are_replaced(study):
    """kill -9 loses the shard in flight, and nothing else; the verdicts are those of an undisturbed run."""
    claims(study)
    undisturbed = study.run("claims", "--evidence-dir=undisturbed").verdict_text
    (study.root / "computed.log").unlink()
    for shard in ("base-ada-1", "double-bell-2"):
        study.order(shard, "die-once")
    run = study.run("-n", "2")
    assert run.output.count("replacing crashed worker") == 2, run.output
    assert run.verdict_text == undisturbed
    assert run.code == 1  # `bad` is refuted and not recorded
    assert "crashed while running" not in run.output.partition("short test summary")[2]
    assert Counter(study.computed()).most_common(1)[0][1] == 1
    assert run.provenance["incomplete"] == []


def test_a_shard_that_kills_every_worker_fails_and_the_rest_goes_on(study):
    """Putting it back for ever would never end."""
    study.claim("good", texts=1)
    study.register()
    study.order("double-ada-0", "kill")
    run = study.run("-n", "2")
    assert run.code == 1
    assert run.words == {"good[bell]": "SUPPORTED"}
    assert "crashed while running" in run.output


def test_a_killed_run_leaves_its_verdicts_and_the_next_goes_on(study):
    """The prefix of verdicts.jsonl is readable, complete shards are kept."""
    claims(study)
    study.order("double-bell-3", "slow", "60")
    process = study.start("-n", "2")
    study.wait_for("begin", "double[bell/3]")
    study.wait_for("end", "double[ada/3]")
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    before = Counter(study.computed())
    study.countermand("double-bell-3", "slow")
    run = study.run("claims")
    assert run.code == 1
    assert len(run.verdicts) == 6
    after = Counter(study.computed())
    assert after.most_common(1)[0][1] == 1
    assert set(before) < set(after)


def test_a_failing_shard_fails_its_claims_and_lf_goes_on(study):
    """One traceback where it failed; its claims name it; --lf repeats shard and claims only."""
    study.claim("good", texts=1)
    study.claim("other", texts=1, file="test_other.py")
    study.register()
    study.order("double-ada-0", "fail")
    run = study.run("-n", "2")
    assert run.code == 1
    assert "the fake stage was told to fail" in run.output
    assert set(run.words) == {"good[bell]", "other[bell]"}
    assert study.computed("begin").count("double[ada/0]") == 1
    study.countermand("double-ada-0", "fail")
    again = study.run("--lf")
    assert again.code == 0, again.output
    assert "3 passed" in again.output
    assert set(again.words) == {"good[ada]", "other[ada]"}
    assert again.provenance["partial"]
    assert study.run("--lf").code == 0  # nothing is left of the failure


KILL_AFTER_REPORTING = """
import os
import signal

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item):
    order = item.config.rootpath / "orders" / "after"
    if "test_good[ada]" in item.nodeid and order.exists():
        order.unlink()
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_worker_killed_after_reporting_gives_one_verdict(study):
    """Its item runs again; equal verdicts count once, different ones are an error."""
    study.claim("good", texts=1)
    changing = "import os; claim.judge(size=0.9 + len(os.listdir('orders')), heads=1)"
    study.claim("moody", texts=1, body=changing)
    study.write("claims/conftest.py", KILL_AFTER_REPORTING)
    study.write("orders/after", "")
    study.register()
    run = study.run("-n", "2", "-k", "good")
    assert "replacing crashed worker" in run.output
    assert run.code == 0, run.output
    assert run.words == {"good[ada]": "SUPPORTED", "good[bell]": "SUPPORTED"}
    study.write("orders/after", "")
    study.write("claims/conftest.py", KILL_AFTER_REPORTING.replace("test_good", "test_moody"))
    run = study.run("-n", "2", "-k", "moody and ada")
    assert run.code == 1
    assert "moody on ada was judged twice, with different results: supported, then supported with other" in run.output


DYING_AT = {
    "start": """
def pytest_xdist_newgateway(gateway):
    if dies(gateway):
        kill(gateway)
""",
    "bootstrap": """
from execnet import gateway_bootstrap

bootstrap = gateway_bootstrap.bootstrap


def broken(io, spec):
    if dies(None):
        io.popen.kill()
    return bootstrap(io, spec)


gateway_bootstrap.bootstrap = broken
""",
    "sending": """
def pytest_configure_node(node):
    send = node.send_runtest_some

    def dying(indices):
        if dies(node):
            kill(node.gateway)
            raise OSError("cannot send (already closed?)")
        send(indices)

    node.send_runtest_some = dying
""",
}


@pytest.mark.parametrize("moment", sorted(DYING_AT))
def test_a_worker_may_die_at_any_moment(study, moment):
    """The first one while it starts, or while the controller writes to it: the run goes on as if it had not been."""
    claims(study)
    undisturbed = study.run("claims", "--evidence-dir=undisturbed").verdict_text
    dying = """
deaths = []


def dies(of):
    deaths.append(of)
    return len(deaths) == 1


def kill(gateway):
    gateway._io.popen.kill()
    gateway._io.popen.wait()

"""
    conftest = study.root / "conftest.py"
    before = conftest.read_text(encoding="utf-8") if conftest.exists() else ""
    study.write("conftest.py", before + dying + DYING_AT[moment])
    run = study.run("-n", "2")
    assert run.code == 1, run.output  # `bad` is refuted and not recorded
    assert "INTERNALERROR" not in run.output
    assert run.verdict_text == undisturbed
    assert run.provenance["incomplete"] == []


def test_workers_that_never_start_end_the_run(study):
    """Starting them for ever would never end, nor say why."""
    study.claim("good", texts=1)
    study.register()
    conftest = study.root / "conftest.py"
    before = conftest.read_text(encoding="utf-8") if conftest.exists() else ""
    always = (
        DYING_AT["start"].replace("if dies(gateway)", "if True").replace("kill(gateway)", "gateway._io.popen.kill()")
    )
    study.write("conftest.py", before + always)
    run = study.run("-n", "2")
    assert run.code == 3
    assert "EOFError" in run.output or "OSError" in run.output


@pytest.mark.parametrize("workers", [2, 3, 4, 8])
@pytest.mark.parametrize("texts", [1, 2, 3])
def test_few_shards_and_many_workers(study, workers, texts):
    """A worker without a shard is not sent home while there are claims."""
    study.claim("good", texts=texts)
    study.claim("bad", value=0.1, texts=texts)
    study.register()
    run = study.run("--subject=ada", "-n", str(workers))
    assert run.code == 1, run.output
    assert run.words == {"good[ada]": "SUPPORTED", "bad[ada]": "REFUTED"}


STARTS = """
import os


def pytest_runtest_logstart(nodeid):
    if "PYTEST_XDIST_WORKER" not in os.environ:
        with open("starts.log", "a") as log:
            log.write(nodeid + "\\n")
"""


@pytest.mark.parametrize("slow", ["ada", "bell"])
def test_no_claim_is_begun_before_its_shards(study, slow):
    """Two workers would compute the same shards in the same order, each waiting for what the other is at."""
    study.claim("good", texts=12)
    study.claim("bad", value=0.1, texts=12)
    study.register()
    for text in range(12):
        study.order(f"double-{slow}-{text}", "slow", "0.1")
    conftest = study.root / "conftest.py"
    before = conftest.read_text(encoding="utf-8") if conftest.exists() else ""
    study.write("conftest.py", before + STARTS)
    run = study.run("-n", "2")
    assert len(run.words) == 4, run.output
    starts = (study.root / "starts.log").read_text(encoding="utf-8").splitlines()
    shards = [at for at, name in enumerate(starts) if name.startswith("evidence::")]
    claims = [at for at, name in enumerate(starts) if not name.startswith("evidence::")]
    assert (len(shards), len(claims)) == (48, 4)
    # A worker is always given the next item too, so that one shard may be waiting behind one that runs.
    assert sum(at > min(claims) for at in shards) <= 1
