"""Sentences and rules, and the functions that assert them."""

from __future__ import annotations

import re
from collections.abc import Callable

from cases.scene import Scene

Check = Callable[[Scene], None]
"""Asserts a sentence about everything that a case has shown."""

RuleCheck = Callable[[Scene, re.Match[str]], None]
"""Asserts a sentence of a known form; the match holds its particulars."""

_SENTENCES: dict[tuple[str, str], Check] = {}
_RULES: list[tuple[str, re.Pattern[str], RuleCheck]] = []


def must(*sentences: str) -> Callable[[Check], Check]:
    """Register what asserts these sentences of `must`."""
    return _registered("must", sentences)


def must_not(*sentences: str) -> Callable[[Check], Check]:
    """Register what asserts that these sentences of `must_not` are not so."""
    return _registered("must_not", sentences)


def rule(side: str, form: str) -> Callable[[RuleCheck], RuleCheck]:
    """Register what asserts the sentences of a form, on one side."""

    def register(check: RuleCheck) -> RuleCheck:
        _RULES.append((side, re.compile(form, re.IGNORECASE), check))
        return check

    return register


def _registered(side: str, sentences: tuple[str, ...]) -> Callable[[Check], Check]:
    def register(check: Check) -> Check:
        for sentence in sentences:
            assert (side, sentence) not in _SENTENCES, sentence
            _SENTENCES[side, sentence] = check
        return check

    return register


def checker(side: str, sentence: str) -> Check | None:
    """What asserts a sentence, or None where nothing reads it."""
    exact = _SENTENCES.get((side, sentence))
    if exact is not None:
        return exact
    for of, form, check in _RULES:
        found = form.fullmatch(sentence.strip())
        if of == side and found is not None:
            return lambda scene, check=check, found=found: check(scene, found)  # type: ignore[misc]
    return None


def known() -> tuple[tuple[str, str], ...]:
    """Every sentence that is registered by its text, with its side."""
    return tuple(_SENTENCES)
