"""The errors that are a user's to mend: caught at the front doors and shown as one message, without a traceback."""


class ResolventError(Exception):
    """A mistake in an input, a file or the environment.

    The message names the file, key, model, layer, head or row, what was found and what is allowed.
    """
