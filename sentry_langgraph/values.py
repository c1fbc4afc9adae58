"""Whether a text holds a value, however it is written there.

The same order number stands as `#W9502126`, `W9502126` or `9502126`, the same day as
`2024-05-20` or `May 20`, the same sum as `1234.5` or `$1,234.50`. Those are the same value; a
number that only begins like it, or stands inside a longer word, is another one.

The exact form is tried first, which settles nearly every look at the speed of a substring
search. Other forms are tried only where their rarest part stands in the text.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache

TEXT_READ = 200_000
"""Characters of one text that are looked at."""

_VALUE_READ = 200
_PIECES = re.compile(r"[^\W\d_]+|\d+")
_NOISE = re.compile(r"[\W_]+")
_CODE = re.compile(r"[\W_]*[^\W\d_]{0,3}[\W_]?(\d{4,})[\W_]*")
_PHONE = re.compile(r"\+?[\d\s().-]{7,24}")
_AMOUNT = re.compile(r"[-+]?[$€£]?\s?(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)")
_ISO = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?![\d])")
_WORDED = re.compile(
    r"(?:(?P<m1>[a-z]{3,9})\.?\s+(?P<d1>\d{1,2})|(?P<d2>\d{1,2})(?:st|nd|rd|th)?\s+(?:of\s+)?"
    r"(?P<m2>[a-z]{3,9})\.?)(?:st|nd|rd|th)?(?:,?\s+(?P<y>\d{4}))?"
)
_MONTHS = (
    "january february march april may june july august september october november december"
).split()
_ESCAPES = "ntrbf"
_HITS = 64
_SHORTEST_PHONE = 7
_LONGEST_AMOUNT = 7
"""Digits of the longest number that is looked for in the forms of an amount."""


@dataclass(frozen=True, slots=True)
class Sought:
    """A value in the forms in which it may stand. Build it with `sought`.

    Attributes:
        plain: How it is compared: lower case, letters and digits, single spaces.
        exact: The forms that are searched for as they are.
        pieces: Its runs of letters and of digits, lower case.
        core: The longest of them: where it is missing, no loose form can stand.
        anchor: Digits without which no form can stand: spares most texts any further look.
        digits: The digits that name it, for a number with at most a short prefix.
        phone: Its digits, where it reads as a telephone number.
        date: Year (0 where none), month and day, where it is one.
        amounts: Further ways to write the number.
    """

    plain: str
    exact: tuple[str, ...]
    pieces: tuple[str, ...] = ()
    core: str = ""
    anchor: str = ""
    digits: str = ""
    phone: str = ""
    date: tuple[int, int, int] | None = None
    amounts: tuple[str, ...] = ()

    def stands_in(self, text: str) -> bool:
        """Whether `text` holds the value as a whole token, in any of its forms."""
        for form in self.exact:
            if _whole(form, text):
                return True
        if not self.core or self.anchor not in text:
            return False
        if len(text) > TEXT_READ:
            text = text[:TEXT_READ]
        lowered = text.lower()
        if self.core in lowered and self._loosely(lowered):
            return True
        return bool(self.phone or self.date or self.amounts) and self._rewritten(lowered)

    def _loosely(self, lowered: str) -> bool:
        if self.digits and _digit_run(self.digits, lowered):
            return True
        if len(self.pieces) == 1:
            return _whole(self.core, lowered)
        return _found(_loose_pattern(self.pieces), lowered)

    def _rewritten(self, lowered: str) -> bool:
        if self.phone and self.phone[-2:] in lowered and _phone(self.phone, lowered):
            return True
        if self.date and str(self.date[2]) in lowered and _found(_date_pattern(self.date), lowered):
            return True
        return any(_number(form, lowered) for form in self.amounts)

    def is_value(self, value: object) -> bool:
        """Whether a single `value`, such as a field of a result, is this one and nothing more."""
        if isinstance(value, bool) or value is None:
            return False
        other = plain(value)
        return other == self.plain or (
            bool(self.pieces) and tuple(_PIECES.findall(other)) == self.pieces
        )


def plain(value: object) -> str:
    """A value or text as it is compared: lower case, letters and digits only, single spaces."""
    return _NOISE.sub(" ", as_text(value).lower()).strip()


def as_text(value: object) -> str:
    """A value as it would be written into a text."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value, default=str, ensure_ascii=False)


def sought(value: object) -> Sought:
    """The forms of `value`: a text, a number, or anything that can be written as JSON."""
    return _sought(as_text(value).strip())


@lru_cache(maxsize=512)
def _sought(text: str) -> Sought:
    forms = [text] if text else []
    written = json.dumps(text)[1:-1]
    forms += [form for form in (written, text.replace("/", "\\/")) if text and form != text]
    exact = tuple(dict.fromkeys(forms))
    if len(text) > _VALUE_READ:
        return Sought(plain(text), exact)
    lowered = text.lower()
    pieces = tuple(_PIECES.findall(lowered))
    if not pieces:
        return Sought("", exact)
    code = _CODE.fullmatch(text)
    phone = re.sub(r"\D", "", text) if _PHONE.fullmatch(text) else ""
    date, amounts = date_of(lowered), _amount_forms(text)
    if len(phone) < _SHORTEST_PHONE:
        phone = ""
    fixed = not (phone or date or amounts)
    return Sought(
        plain=plain(text),
        exact=exact,
        pieces=pieces,
        core=max(pieces, key=len),
        anchor=max((p for p in pieces if p.isdigit()), key=len, default="") if fixed else "",
        digits=code[1] if code else "",
        phone=phone,
        date=date,
        amounts=amounts,
    )


def date_of(lowered: str) -> tuple[int, int, int] | None:
    """The day that a text in lower case names and nothing more: year (0 if none), month, day."""
    if iso := _ISO.match(lowered):
        year, month, day = (int(part) for part in iso.groups())
        return (year, month, day) if 1 <= month <= 12 and 1 <= day <= 31 else None
    worded = _WORDED.fullmatch(lowered)
    if worded is None:
        return None
    name = worded["m1"] or worded["m2"]
    months = [place for place, full in enumerate(_MONTHS, 1) if full.startswith(name[:3])]
    day = int(worded["d1"] or worded["d2"])
    if not months or not _MONTHS[months[0] - 1].startswith(name) or not 1 <= day <= 31:
        return None
    return int(worded["y"] or 0), months[0], day


def _amount_forms(text: str) -> tuple[str, ...]:
    amount = _AMOUNT.fullmatch(text)
    if amount is None or (text.isdigit() and len(text) > _LONGEST_AMOUNT) or len(text) > 24:
        return ()
    number = float(amount[1].replace(",", ""))
    forms = [f"{number:.2f}", f"{number:,.2f}", f"{number:.12g}"]
    if number.is_integer():
        forms += [f"{int(number):,}", str(int(number))]
    return tuple(dict.fromkeys(form for form in forms if form != text))


@lru_cache(maxsize=256)
def _loose_pattern(pieces: tuple[str, ...]) -> re.Pattern[str]:
    # a code keeps its letters and digits apart or together; words need something between them
    mixed = any(piece.isdigit() for piece in pieces) and not all(p.isdigit() for p in pieces)
    between = r"[\W_]{0,2}" if mixed else r"[\W_]{1,3}"
    return re.compile(between.join(map(re.escape, pieces)))


def _phone(digits: str, text: str) -> bool:
    """Whether a telephone number stands in a text, however its digits are set apart."""
    local = digits[-10:]
    together = "".join(text.split())
    for mark in "().-":
        together = together.replace(mark, "")
    # a pattern is dear to build, and few texts have the digits at all
    return local in together and _found(_phone_pattern(local), text)


@lru_cache(maxsize=64)
def _phone_pattern(digits: str) -> re.Pattern[str]:
    return re.compile(r"[\s().-]{0,3}".join(digits))


@lru_cache(maxsize=64)
def _date_pattern(date: tuple[int, int, int]) -> re.Pattern[str]:
    year, month, day = date
    name = _MONTHS[month - 1]
    word = rf"(?:{name}|{name[:3]}\.?)"
    nth = rf"0?{day}(?:st|nd|rd|th)?"
    forms = [rf"{word}\s+{nth}", rf"{nth}\s+(?:of\s+)?{word}"]
    if year:
        numbers = rf"(?:0?{month}[/.-]0?{day}|0?{day}[/.-]0?{month})"
        forms += [
            rf"{year}[/.-]0?{month}[/.-]0?{day}",
            rf"(?<!\d[/.-]){numbers}(?:[/.-](?:{year}|{year % 100:02}))?(?![/.-]\d)",
        ]
    else:
        forms.append(rf"\d{{4}}-0?{month}-0?{day}")
    return re.compile("|".join(forms))


def _whole(form: str, text: str) -> bool:
    """Whether `form` stands in `text` and is no part of a longer run of letters and digits."""
    at = text.find(form)
    for _ in range(_HITS):
        if at < 0:
            return False
        if _free(text, at, at + len(form)):
            return True
        at = text.find(form, at + 1)
    return False


def _found(pattern: re.Pattern[str], text: str) -> bool:
    for place, hit in enumerate(pattern.finditer(text)):
        if _free(text, hit.start(), hit.end()):
            return True
        if place >= _HITS:
            break
    return False


def _free(text: str, start: int, end: int) -> bool:
    """Whether nothing runs on at either end; the `n` of an escaped line break does not count."""
    if end < len(text) and text[end].isalnum() and text[end - 1].isalnum():
        return False
    if not start or not text[start].isalnum() or not text[start - 1].isalnum():
        return True
    return start > 1 and text[start - 2] == "\\" and text[start - 1] in _ESCAPES


def _digit_run(digits: str, text: str) -> bool:
    """Whether `digits` stand as a complete run of digits; letters may stand beside them."""
    at = text.find(digits)
    for _ in range(_HITS):
        if at < 0:
            return False
        end = at + len(digits)
        if not text[end : end + 1].isdigit() and not (at and text[at - 1].isdigit()):
            return True
        at = text.find(digits, at + 1)
    return False


def _number(form: str, text: str) -> bool:
    """Whether a number stands as a whole one: not a part of `1,234` or of `1.50`."""
    at = text.find(form)
    for _ in range(_HITS):
        if at < 0:
            return False
        end = at + len(form)
        before, after = text[max(at - 2, 0) : at], text[end : end + 2]
        goes_on = after[:1].isalnum() or (after[:1] in ".," and after[1:].isdigit())
        came_from = before[-1:].isalnum() or (before[-1:] in (".", ",") and before[:1].isdigit())
        if not goes_on and not came_from:
            return True
        at = text.find(form, at + 1)
    return False
