"""A Messages API on loopback that goes wrong by plan, for rehearsals and for tests.

`FakeServer` serves, `Plan` says which decision meets which fault, `outcomes` says how each will
end, and the ledger says what was asked and what it would have cost. docs/fake.md explains them.
"""

from __future__ import annotations

from dream.llm.fake.files import load_answers, load_plan
from dream.llm.fake.outcomes import Outcome, Patient, outcomes
from dream.llm.fake.plan import At, Cache, How, Plan, Prices
from dream.llm.fake.server import FakeServer

__all__ = [
    "At",
    "Cache",
    "FakeServer",
    "How",
    "Outcome",
    "Patient",
    "Plan",
    "Prices",
    "load_answers",
    "load_plan",
    "outcomes",
]
