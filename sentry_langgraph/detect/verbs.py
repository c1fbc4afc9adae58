"""Kinds of change by their verbs: what a tool's name means, and how people say it.

Words are stems in English; a name whose verb is not here belongs to no kind, and the rules that
ask about kinds say nothing of it.
"""

from __future__ import annotations

import re
from functools import lru_cache

from sentry_langgraph.slots import words_of

_KINDS = {
    "cancel": "cancel|abort|call off|calling off|undo|drop|get rid|no longer (?:need|want)|"
    "don.t (?:need|want)|terminat|end (?:my|the)|stop|void|withdraw|refund",
    "change": "chang|modif|updat|edit|adjust|correct|set |setting|switch|mov|reschedul|replac|"
    "fix|alter|amend|revis|upgrad|downgrad|renam|rename|swap|instead|different|new |mark|put|"
    "patch|convert|use my|rather|toggle|transfer|add|remov|increas|decreas|reduc|make it|"
    "complet|finish|start|done",
    "create": "creat|add|mak|new |open|regist|book|reserv|schedul|order|buy|purchas|insert|"
    "writ|post|log |set up|setting up|start|generat|fil|need a|want a|get me|plan|draft|note|"
    "remember|save|stor|record|put|includ|submit|track|remind",
    "delete": "delet|remov|clear|eras|drop|purge|get rid|clean|empty|wip|trash|uninstall|cancel|"
    "without",
    "return": "return|send.{0,12}back|sending.{0,12}back|give.{0,12}back|refund|money back",
    "refund": "refund|money back|send.{0,12}back|sending.{0,12}back|reimburs|compensat|return|"
    "credit|charg|paid|cancel",
    "exchange": "exchang|swap|replac|chang|switch|trade|different|instead",
    "send": "send|sent|email|e-mail|mail|messag|notif|tell|text|forward|shar|inform|repl|"
    "writ|contact|alert|invit|compensat|certificat|link|announc|remind|let .{0,20}know|post",
    "pay": "pay|bill|buy|purchas|checkout|check out|settl|charg|invoice|transfer|deposit|owe|due",
    "book": "book|reserv|schedul|order|buy|purchas|ticket|flight|trip|travel|appointment|"
    "need a|want a|get me|arrang|plan|rent|hold|borrow|check out",
    "enable": "enabl|activ|turn.{0,12}on|switch.{0,12}on|allow|roam|unlock|start|work|use",
    "disable": "disabl|deactiv|turn.{0,12}off|switch.{0,12}off|stop|block|lock|off",
    "suspend": "suspend|paus|hold|freez|block|stop|lost|stolen",
    "resume": "resum|restart|unsuspend|reactiv|restor|unblock|activ|back on|unpaus|no service|"
    "reinstat|continu",
    "approve": "approv|accept|confirm|agree|authori|grant|allow|sign off",
    "reject": "reject|declin|refus|deny|denied|disapprov",
    "close": "clos|resolv|finish|complet|done|end ",
    "renew": "renew|extend|prolong|longer|keep",
    "assign": "assign|giv|reassign|allocat|put .{0,30} on|to ",
    "merge": "merg|combin|join|land",
    "deploy": "deploy|releas|ship|roll ?out|publish|launch|go live|push",
    "restart": "restart|reboot|reset|bounce|cycle|kick",
}
_VERBS = {
    "cancel": "cancel abort void terminate revoke withdraw",
    "change": "change modify update adjust move rename reschedule amend upgrade switch convert "
    "replace",
    "create": "create add insert make register open new",
    "delete": "delete remove erase purge clear drop uninstall unlink trash",
    "return": "return",
    "refund": "refund reimburse compensate",
    "exchange": "exchange swap trade",
    "send": "send email notify message forward share invite reply announce",
    "pay": "pay charge bill checkout purchase buy",
    "book": "book reserve order schedule borrow rent checkout",
    "enable": "enable activate unlock",
    "disable": "disable deactivate lock",
    "suspend": "suspend pause freeze block",
    "resume": "resume unsuspend reactivate unblock restore",
    "approve": "approve accept grant authorize confirm",
    "reject": "reject decline deny refuse",
    "close": "close resolve",
    "renew": "renew extend",
    "assign": "assign",
    "merge": "merge",
    "deploy": "deploy publish release",
    "restart": "restart reboot reset",
}
_KIND_OF: dict[str, tuple[str, ...]] = {}
for _kind, _listed in _VERBS.items():
    for _verb in _listed.split():
        _KIND_OF[_verb] = (*_KIND_OF.get(_verb, ()), _kind)


@lru_cache(maxsize=1_024)
def kinds_of(tool: str) -> tuple[str, ...]:
    """The kinds of change that a tool's name means, by its first verb; none where none is known."""
    return next((_KIND_OF[word] for word in words_of(tool) if word in _KIND_OF), ())


@lru_cache(maxsize=64)
def said_as(kind: str) -> re.Pattern[str]:
    """How people say that they want a kind of change, in lower case."""
    return re.compile(rf"\b(?:{_KINDS[kind]})")
