"""How a command says that it cannot be carried out."""


class Refused(Exception):  # noqa: N818 - a sentence for the operator, not an error of ours
    """The command cannot be carried out now; the message says why."""
