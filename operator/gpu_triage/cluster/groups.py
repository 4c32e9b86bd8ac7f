"""Pods whose messages are to be worked out: in the order in which they came, with all alike."""

from collections.abc import Hashable


class Groups:
    """Pods by uid, those that are to be told the same together."""

    def __init__(self) -> None:
        """Nobody waits yet."""
        self._like: dict[str, Hashable] = {}
        self._alike: dict[Hashable, dict[str, None]] = {}

    def __bool__(self) -> bool:
        """Whether any pod waits."""
        return bool(self._like)

    def put(self, uid: str, like: Hashable) -> None:
        """Lets a pod wait behind the others.

        Args:
            uid: the pod's.
            like: equal for pods that are to be told the same.
        """
        self.drop(uid)
        self._like[uid] = like
        self._alike.setdefault(like, {})[uid] = None

    def drop(self, uid: str) -> None:
        """Forgets a pod; one that does not wait is no error."""
        if uid in self._like:
            like = self._like.pop(uid)
            del self._alike[like][uid]
            if not self._alike[like]:
                del self._alike[like]

    def take(self) -> tuple[Hashable, list[str]]:
        """What the pod that waits longest is like, and all that are; they wait no more."""
        like = next(iter(self._like.values()))
        together = list(self._alike.pop(like))
        for uid in together:
            del self._like[uid]
        return like, together
