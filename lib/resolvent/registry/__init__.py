"""The registry: what was promised before looking, and what becomes of it.

    schema, predicates, typed   one frozen claim a YAML file, loaded into typed structs
    canonical                   what of a file is frozen, and its hash
    chain                       prereg/LEDGER: its lines, how they are chained, what differs from them
    registering, recording, verification   the commands on it (all four of them in `ledger`)
    judge                       metrics -> verdict
    outcomes, published         our recorded verdicts (these gate); what the papers reported (decides nothing)

May be imported by report, pytest_plugin, cli and the claims. Imports nothing heavy.
Begin reading in `schema`, then `judge`.
"""

from resolvent.registry.chain import Entry, Ledger, LedgerError
from resolvent.registry.judge import (
    CriterionResult,
    Judgement,
    MetricError,
    RequirementResult,
    inestimable,
    judge,
)
from resolvent.registry.outcomes import Outcome, recorded
from resolvent.registry.predicates import Condition, Predicate, PredicateError
from resolvent.registry.published import PublishedValue, published
from resolvent.registry.recording import Recorded, RecordError, record
from resolvent.registry.registering import Amendment, amend, amendments, register
from resolvent.registry.schema import (
    Claim,
    Criterion,
    IntervalRule,
    Requirement,
    Source,
    check_protocol,
    load_claim,
    load_claims,
)
from resolvent.registry.typed import SchemaError
from resolvent.registry.verification import Verification, verify

__all__ = [
    "Amendment",
    "Claim",
    "Condition",
    "Criterion",
    "CriterionResult",
    "Entry",
    "IntervalRule",
    "Judgement",
    "Ledger",
    "LedgerError",
    "MetricError",
    "Outcome",
    "Predicate",
    "PredicateError",
    "PublishedValue",
    "RecordError",
    "Recorded",
    "Requirement",
    "RequirementResult",
    "SchemaError",
    "Source",
    "Verification",
    "amend",
    "amendments",
    "check_protocol",
    "inestimable",
    "judge",
    "load_claim",
    "load_claims",
    "published",
    "record",
    "recorded",
    "register",
    "verify",
]
