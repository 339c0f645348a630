"""The ledger's public face: reading (`Ledger`), and the four things that are done with it."""

from resolvent.registry.chain import NOTHING, Entry, Ledger, LedgerError, ledger_file
from resolvent.registry.recording import Recorded, RecordError, record
from resolvent.registry.registering import Amendment, amend, amendments, register
from resolvent.registry.verification import Verification, verify

__all__ = [
    "NOTHING",
    "Amendment",
    "Entry",
    "Ledger",
    "LedgerError",
    "RecordError",
    "Recorded",
    "Verification",
    "amend",
    "amendments",
    "ledger_file",
    "record",
    "register",
    "verify",
]
