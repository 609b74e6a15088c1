"""What can go wrong with one request, and what a patient client makes of it."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

Fault: TypeAlias = Literal[
    "400", "401", "403", "404", "408", "413", "429", "500", "503", "529",
    "silence", "trickle", "reset", "cut", "bad_json", "bad_utf8", "html", "huge",
    "no_stop", "wrong_model", "refusal", "max_tokens", "context_exceeded", "no_answer", "prose",
]  # fmt: skip
"""Statuses by their number; the others as docs/fake.md explains them."""

Effect: TypeAlias = Literal[
    "again", "again_once", "for_good", "model_refusal", "truncated", "unreadable", "ok"
]
"""What a client does: ask again, ask again once and stop at the second such fault of a question,
stop the run, or take the answer for what it is."""

ERROR_TYPES: Final[dict[str, str]] = {
    "400": "invalid_request_error",
    "401": "authentication_error",
    "403": "permission_error",
    "404": "not_found_error",
    "408": "timeout_error",
    "413": "request_too_large",
    "429": "rate_limit_error",
    "500": "api_error",
    "503": "api_error",
    "529": "overloaded_error",
}
"""Faults that are an error status, with the type that the body names."""

SLOW: Final = ("silence", "trickle")
"""Faults that take time and end with a whole answer, if the client still waits for it."""
UNREADABLE: Final = ("no_answer", "prose")
"""Whole answers after which a client may ask once more, in another prompt."""
UNSEEN: Final = ("cut", "bad_json", "bad_utf8", "huge")
"""Answers that were made and billed, and do not reach the client as such."""
NEVER_MADE: Final = (*ERROR_TYPES, "reset", "html")
"""No answer was made: nothing is billed."""

_EFFECTS: Final[dict[str, Effect]] = {
    **dict.fromkeys(("408", "429", "500", "503", "529"), "again"),
    **dict.fromkeys(("reset", "cut", "bad_json", "bad_utf8", "html", "no_stop"), "again"),
    **dict.fromkeys(("400", "401", "403", "404", "413", "huge"), "for_good"),
    "wrong_model": "again_once",
    "refusal": "model_refusal",
    "max_tokens": "truncated",
    "context_exceeded": "truncated",
    "no_answer": "unreadable",
}


def effect(fault: Fault, *, seconds: float, limit_s: float, answer: str) -> Effect:
    """What `dream run` makes of one request that meets a fault.

    Args:
        fault: the fault.
        seconds: how long a slow one takes.
        limit_s: how long the client waits for one answer.
        answer: how the answer is forced (`schema`, `tool`, `text`): prose around JSON is read in
            words, is not even looked at beside a tool, and breaks the promise of a schema.
    """
    if fault in SLOW:
        return "again" if seconds >= limit_s else "ok"
    if fault == "prose":
        return "unreadable" if answer == "schema" else "ok"
    return _EFFECTS[fault]
