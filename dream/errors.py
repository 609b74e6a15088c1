"""Every error that dream raises on purpose, and the exit code that it ends a command with.

DreamError
├── InputError (2)      SpecInvalid  BarsInvalid  SchemaUnknown
├── LeakError (3)       something could see the future; never caught
├── JournalError (4)    JournalBusy  JournalCorrupt  JournalUnwritable  Diverged
├── ModelError (5)      ModelUnavailable  BudgetSpent
└── RunInvalid (6)      RecallUnused  FailOn

A message says what, where, what was expected, what was found, and the next step.
"""

from __future__ import annotations

from typing import ClassVar


class DreamError(Exception):
    """The root: shown to the user without a traceback."""

    exit_code: ClassVar[int] = 1


class InputError(DreamError):
    """Something the user gave is wrong and the user can mend it."""

    exit_code: ClassVar[int] = 2


class SpecInvalid(InputError):  # noqa: N818 - the field says "invalid", not "error"
    """A setting does not exist, has the wrong type or is out of range."""


class BarsInvalid(InputError):  # noqa: N818
    """A bar series is missing, unreadable or impossible; the message names the row."""


class SchemaUnknown(InputError):  # noqa: N818
    """A file was written by a version of dream that this one does not know."""


class LeakError(DreamError):
    """A strategy or a recall function saw what it could not have known. Never caught."""

    exit_code: ClassVar[int] = 3


class JournalError(DreamError):
    """The journal cannot be used as it is."""

    exit_code: ClassVar[int] = 4


class JournalBusy(JournalError):  # noqa: N818
    """Another process is writing this run."""


class JournalCorrupt(JournalError):  # noqa: N818
    """A line before the last one is damaged or was edited; the message has its byte offset."""


class JournalUnwritable(JournalError):  # noqa: N818
    """The disk is full or not writable; the run can be resumed."""


class Diverged(JournalError):  # noqa: N818
    """A derived line differs from the recorded one.

    Attributes:
        seq: number of the question where the first difference is.
        field: name of the first differing field.
    """

    def __init__(self, seq: int, field: str, message: str) -> None:
        super().__init__(message)
        self.seq = seq
        self.field = field


class ModelError(DreamError):
    """A model could not be asked."""

    exit_code: ClassVar[int] = 5


class ModelUnavailable(ModelError):  # noqa: N818
    """The endpoint does not answer, refuses the key or does not know the model."""


class BudgetSpent(ModelError):  # noqa: N818
    """The next call could pass the money limit of the run."""


class RunInvalid(DreamError):  # noqa: N818
    """The run ended but must not be used as a result."""

    exit_code: ClassVar[int] = 6


class RecallUnused(RunInvalid):
    """A recall function was configured and never called."""


class FailOn(RunInvalid):
    """A limit that the user set (such as the share of errors) was passed."""
