"""What was chosen where a case leaves a choice open; docs/design/cases.md says why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

CHOICES: Mapping[tuple[str, str], Any] = {
    ("RW-006", "raw_newline_tab/unparsed"): (
        "reject:malformed_args plus one repair whose text mentions unescaped control characters; "
        "never {}"
    ),
    ("RW-008", "empty/unparsed"): "reject:malformed_args plus exactly one repair",
    ("RW-064", "mode_off"): "off",
    ("RW-064", "tool_no"): "the string 'no'",
    ("RW-064", "colon_time"): "error naming key repair.max_seconds",
    ("RW-064", "octal"): "error naming key monitor.horizon",
    ("RW-064", "exp"): "1000.0",
    ("RW-064", "str_int"): "error naming key monitor.horizon",
    ("RW-064", "null_val"): "error naming key monitor.horizon",
    ("RW-067", "alias_shared"): "error: unknown key 'other_agent'",
}
"""The form that is asserted, by case and run."""
