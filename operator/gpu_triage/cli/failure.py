"""Why the CLI ends without an answer: an exit code and what to say."""

NOT_THERE = 1
USAGE = 2
UNREADABLE = 3


class AnswerError(Exception):
    """The answer cannot be given. Its text says what, where and what to do, for a person."""

    def __init__(self, message: str, code: int = UNREADABLE) -> None:
        super().__init__(message)
        self.code = code
