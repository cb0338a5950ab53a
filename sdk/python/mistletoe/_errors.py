"""What a package fails with."""


class Error(Exception):
    """A refusal in words for the user. It is shown without the name of its class, with the errors that it was raised `from`."""


class HostError(Error):
    """The host refused a request, in its own words."""


def reason(error):
    """The message of an error and of its causes: "can't make the Service: no port"."""
    words = []
    while error is not None and len(words) < 20:
        own = str(error)
        name = type(error).__qualname__
        words.append(own or name if isinstance(error, Error) else f"{name}: {own}" if own else name)
        error = error.__cause__
    return ": ".join(words)
