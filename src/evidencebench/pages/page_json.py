"""JSON as the pages are given it, in an HTML page or over HTTP."""

import json

import msgspec


def encoded(record: object) -> bytes:
    r"""Return a record as JSON that may stand in an HTML page: it holds no ``<``, ``>`` or ``&``.

    Examples
    --------
    >>> encoded(["</script>"])
    b'["\\u003c/script\\u003e"]'
    """
    try:
        text = msgspec.json.encode(record)
    except UnicodeEncodeError:  # a file's name may hold bytes that are no text; the page shows them as U+FFFD
        text = json.dumps(msgspec.to_builtins(record)).encode()
    return text.replace(b"<", b"\\u003c").replace(b">", b"\\u003e").replace(b"&", b"\\u0026")
