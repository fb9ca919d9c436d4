"""One line about a request that cannot be read."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from nmt.config.hints import did_you_mean

_WORDS = {
    "missing": "is missing",
    "extra_forbidden": "there is no such field",
    "string_type": "expected text",
    "list_type": "expected a list",
    "dict_type": "expected an object",
    "model_type": "expected an object",
    "model_attributes_type": "expected an object",
    "int_type": "expected a whole number",
    "int_parsing": "expected a whole number",
    "bool_type": "expected true or false",
    "too_short": "expected a list that is not empty",
}
"""Messages for errors of pydantic, by type. Other errors keep the message of pydantic."""

_LONGEST = 100
"""Characters of the name of a field that are repeated: a name may come from the request."""


def problem_of(errors: Sequence[Mapping[str, Any]], body: bool = True, fields: Collection[str] = ()) -> str:
    """One line about the first field that cannot be read.

    A field that may be a text or a list has an error for each of them. The errors of a list's items count before the
    error that it is no text.

    Args:
        errors: errors of pydantic, each with a type, a place and a message.
        body: whether places begin with a part for the body of the request.
        fields: names of the fields of the body, for a hint.
    """
    first = errors[0]
    if first["type"] == "json_invalid":
        return f"the body is not JSON: {first['ctx']['error']} at character {first['loc'][1] + 1}"
    places = [_place(error["loc"][body:], error["type"] == "extra_forbidden") for error in errors]
    field = places[0]
    deepest = max((place for place in places if place[: len(field)] == field), key=len)
    meant = [error for error, place in zip(errors, places, strict=True) if place == deepest]
    of_value = [error for error in meant if error["type"] == "value_error"]  # the kind is right, so no other is meant
    said = [_words(error) for error in of_value or meant]
    name = ".".join(map(str, deepest))[:_LONGEST] or "the body"
    hint = did_you_mean(name, fields) if len(deepest) == 1 and meant[0]["type"] == "extra_forbidden" else ""
    return f"{name}: {' or '.join(dict.fromkeys(said))}{hint}".replace(" or expected ", " or ")


def _place(parts: Sequence[Any], unknown: bool) -> tuple[Any, ...]:
    """Fields and numbers of items, without the names that pydantic gives to the kinds of a value.

    Args:
        parts: a place of pydantic.
        unknown: whether the last part is a field that does not exist, which may have any name.
    """
    known = parts[:-1] if unknown else parts
    kept = [part for part in known if isinstance(part, int) or (part.isidentifier() and part not in ("str", "list"))]
    return (*kept, *parts[len(known) :])


def _words(error: Mapping[str, Any]) -> str:
    if error["type"] == "greater_than_equal":
        return f"expected {error['ctx']['ge']} or more"
    if error["type"] == "too_short" and isinstance(error["input"], str):
        return "expected text that is not empty"
    known = _WORDS.get(error["type"])
    return known or error["msg"].removeprefix("Value error, ").replace("Input should be", "expected", 1)
