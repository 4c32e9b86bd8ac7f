"""What is said of a word, and which part of it is worth a write when it changes.

Every write on a pod wakes whoever watches pods, so a text is not written anew for the name of
another holder, and less often for other numbers than for another next step.
"""

import msgspec

from gpu_triage.core.wording import LIMIT, cut

HELD, RESERVED = "Held", "Reserved"
ITSELF = "it waits for itself"
"""Said where the pod's own workload holds what it waits for."""


class Message(msgspec.Struct, frozen=True):
    """A text, and what in it is what."""

    text: str
    """At most 512 characters."""
    taken: str = ""
    """The part of the text that says who has the GPUs."""
    step: str = ""
    """The next step without its numbers and nodes: equal for two texts that advise the same."""

    def differs_in_holders_alone(self, other: str) -> bool:
        """Whether a text says the same but for who has the GPUs."""
        if not self.taken or self.taken not in self.text:
            return False
        head, _, tail = self.text.partition(self.taken)
        if not (other.startswith(head) and other.endswith(tail)):
            return False
        between = other[len(head) : len(other) - len(tail)]
        return all(_is_of_holders(each) for each in between.strip().split(". "))


def _is_of_holders(sentence: str) -> bool:
    return sentence.startswith((HELD, RESERVED)) or sentence.rstrip(".").endswith(ITSELF)


def compose(sentence: str, taken: str = "", advice: str = "", step: str = "") -> Message:
    """A message from its parts.

    Args:
        sentence: what is the case.
        taken: the part of the sentence that says who has the GPUs.
        advice: what to do next, in words; may be empty.
        step: the same, for comparing.
    """
    text = f"{sentence} {advice}" if advice else sentence
    if len(text) > LIMIT and taken in (whole := cut(text)):
        return Message(whole, taken, step)
    if len(text) > LIMIT:
        # What is cut ends in the names: all from where they begin counts as such.
        whole, begins = cut(text), sentence.find(taken) if taken else -1
        return Message(whole, whole[begins:] if 0 <= begins < len(whole) else "", step)
    return Message(text, taken, step)
