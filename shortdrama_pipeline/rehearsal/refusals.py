"""The answers by which this provider says no: a code with one HTTP status each.

A refused request is booked as not accepted and costs nothing; this is the promise the adapter's
contract rests on.
"""

STATUS_BY_CODE = {
    "invalid_params": 400,
    "bad_key": 401,
    "insufficient_balance": 402,
    "content_refused": 422,
    "rate_limited": 429,
}


class Refused(Exception):
    """One request is not accepted. `retry_after_s` is sent with rate_limited."""

    def __init__(self, code: str, message: str, *, retry_after_s: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.retry_after_s = retry_after_s

    @property
    def status(self) -> int:
        return STATUS_BY_CODE[self.code]
