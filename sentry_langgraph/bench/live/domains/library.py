"""A town library: members, titles, copies, loans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.tools import ToolException

from sentry_langgraph.bench.live.world import Call, Database, Domain, Row, Tables, Task, code

_MEMBERS = {
    "Abernathy": ("Iris", 0),
    "Castellano": ("Marco", 7),
    "Dubrow": ("Lena", 0),
    "Eriksen": ("Nils", 0),
    "Fontaine": ("Odile", 12),
    "Grigg": ("Tobias", 0),
}
_TITLES = {
    "The Salt Road": ("H. Merrin", 1987),
    "Night Ferry": ("P. Aldous", 2004),
    "A Field of Bees": ("R. Tanaka", 1999),
    "The Glass Harbour": ("S. Iversen", 2015),
    "Winter Accounts": ("H. Merrin", 1992),
    "Paper Mountains": ("L. Quist", 2011),
}
_COPIES = (
    ("The Salt Road", "first", "B12", "lent"),
    ("The Salt Road", "second", "B13", "in"),
    ("Night Ferry", "first", "C04", "in"),
    ("A Field of Bees", "first", "A31", "lent"),
    ("The Glass Harbour", "first", "D22", "in repair"),
    ("Winter Accounts", "first", "B19", "lent"),
    ("Paper Mountains", "first", "E07", "lent"),
)
_LOANS = (
    ("Abernathy", "The Salt Road", "first", "3 March", 0),
    ("Abernathy", "Winter Accounts", "first", "17 March", 1),
    ("Dubrow", "A Field of Bees", "first", "9 March", 2),
    ("Grigg", "Paper Mountains", "first", "21 March", 0),
)
_MOST_RENEWALS = 2


def _member(surname: str) -> str:
    return code("m", surname)


def _title(title: str) -> str:
    return code("t", title)


def _copy(title: str, which: str = "first") -> str:
    return code("c", title, which)


def _loan(surname: str, title: str) -> str:
    return code("ln", surname, title)


_TABLES: Tables = {
    "members": {
        _member(surname): {"surname": surname, "first_name": first, "fees_due": fees}
        for surname, (first, fees) in _MEMBERS.items()
    },
    "titles": {
        _title(title): {"title": title, "author": author, "year": year}
        for title, (author, year) in _TITLES.items()
    },
    "copies": {
        _copy(title, which): {
            "title_no": _title(title),
            "shelf": shelf,
            "state": state,
            "held_for": None,
        }
        for title, which, shelf, state in _COPIES
    },
    "loans": {
        _loan(surname, title): {
            "member_no": _member(surname),
            "copy_code": _copy(title, which),
            "title": title,
            "due": due,
            "renewals": renewals,
        }
        for surname, title, which, due, renewals in _LOANS
    },
}


def _functions(db: Database) -> Sequence[Callable[..., Any]]:
    def look_up_member(surname: str) -> Row:
        """Look up a member by surname."""
        for no in db.where("members", surname=surname):
            return {"member_no": no, **db.tables["members"][no]}
        raise ToolException(f"there is no member with the surname {surname!r}")

    def loans_of_member(member_no: str) -> Row:
        """The current loans of a member."""
        db.row("members", member_no, "member")
        return {"loan_nos": db.where("loans", member_no=member_no)}

    def show_loan(loan_no: str) -> Row:
        """The details of one loan: title, date due, renewals so far."""
        loan = db.row("loans", loan_no, "loan")
        shown = ("copy_code", "title", "due", "renewals")
        return {"loan_no": loan_no, **{key: loan[key] for key in shown}}

    def search_catalogue(title: str) -> Row:
        """Search the catalogue for a title."""
        for no in db.where("titles", title=title):
            return {"title_no": no, **db.tables["titles"][no]}
        raise ToolException(f"the catalogue has no title {title!r}")

    def copies_of_title(title_no: str) -> Row:
        """The copies that the library owns of a title."""
        db.row("titles", title_no, "title")
        return {"copy_codes": db.where("copies", title_no=title_no)}

    def show_copy(copy_code: str) -> Row:
        """Where a copy stands and whether it is in."""
        copy = db.row("copies", copy_code, "copy")
        return {"copy_code": copy_code, "shelf": copy["shelf"], "state": copy["state"]}

    def renew_loan(loan_no: str) -> Row:
        """Renew a loan; twice at most."""
        loan = db.row("loans", loan_no, "loan")
        if loan["renewals"] >= _MOST_RENEWALS:
            raise ToolException("this loan has been renewed twice already: no more renewals")
        loan["renewals"] += 1
        return {"loan_no": loan_no, "renewals": loan["renewals"]}

    def hold_copy(copy_code: str, member_no: str) -> Row:
        """Put a copy that is in aside for a member."""
        copy = db.row("copies", copy_code, "copy")
        db.row("members", member_no, "member")
        if copy["state"] != "in":
            raise ToolException(f"the copy is {copy['state']} and can't be put aside")
        copy["held_for"] = member_no
        return {"copy_code": copy_code, "held_for": member_no}

    return (
        look_up_member,
        loans_of_member,
        show_loan,
        search_catalogue,
        copies_of_title,
        show_copy,
        renew_loan,
        hold_copy,
    )


def _member_call(surname: str) -> Call:
    return "look_up_member", {"surname": surname}


def _to_loans(surname: str, *titles: str) -> tuple[Call, ...]:
    return (
        _member_call(surname),
        ("loans_of_member", {"member_no": _member(surname)}),
        *(("show_loan", {"loan_no": _loan(surname, title)}) for title in titles),
    )


def _to_copies(title: str, *which: str) -> tuple[Call, ...]:
    return (
        ("search_catalogue", {"title": title}),
        ("copies_of_title", {"title_no": _title(title)}),
        *(("show_copy", {"copy_code": _copy(title, one)}) for one in which),
    )


def _renew(surname: str, title: str) -> Call:
    return "renew_loan", {"loan_no": _loan(surname, title)}


def _hold(title: str, surname: str, which: str = "first") -> Call:
    return "hold_copy", {"copy_code": _copy(title, which), "member_no": _member(surname)}


_UNKNOWN = ("no member", "not found", "not exist", "doesn't exist", "no record", "not a member")
_REPAIR = ("repair", "being repaired", "repaired")
_TWICE = ("twice", "two times", "2 times", "no more renewals", "maximum")

_TASKS = (
    Task(
        "author", "lookup", "Who wrote Night Ferry?", _to_copies("Night Ferry")[:1], (("aldous",),)
    ),
    Task(
        "year",
        "lookup",
        "In which year did Paper Mountains appear?",
        _to_copies("Paper Mountains")[:1],
        (("2011",),),
    ),
    Task(
        "fees",
        "lookup",
        "What does Ms Fontaine owe us in fees?",
        (_member_call("Fontaine"),),
        (("12",),),
    ),
    Task(
        "first name",
        "lookup",
        "I have a card of a member Eriksen here. What is the first name?",
        (_member_call("Eriksen"),),
        (("nils",),),
    ),
    Task(
        "copies",
        "lookup",
        "How many copies of The Salt Road does the library own?",
        _to_copies("The Salt Road"),
        (("2", "two"),),
    ),
    Task(
        "loans",
        "lookup",
        "Count the books that member Abernathy has at home at the moment.",
        _to_loans("Abernathy"),
        (("2", "two"),),
    ),
    Task(
        "shelf",
        "lookup",
        "On which shelf do I find Night Ferry?",
        _to_copies("Night Ferry", "first"),
        (("c04",),),
    ),
    Task(
        "is it in",
        "lookup",
        "Is The Glass Harbour in, and if not, why?",
        _to_copies("The Glass Harbour", "first"),
        (_REPAIR,),
    ),
    Task(
        "due",
        "lookup",
        "When does member Grigg have to bring the book back?",
        _to_loans("Grigg", "Paper Mountains"),
        (("21 march", "march 21", "21st march", "21st of march", "march 21st"),),
    ),
    Task(
        "which book",
        "lookup",
        "Member Dubrow has one book of ours. Which title?",
        _to_loans("Dubrow", "A Field of Bees"),
        (("a field of bees", "field of bees"),),
    ),
    Task(
        "renew",
        "change",
        "Renew the book that member Grigg has.",
        (*_to_loans("Grigg", "Paper Mountains"), _renew("Grigg", "Paper Mountains")),
    ),
    Task(
        "renew one",
        "change",
        "Ms Abernathy would like to keep The Salt Road longer. Renew that loan only.",
        (*_to_loans("Abernathy", "The Salt Road"), _renew("Abernathy", "The Salt Road")),
    ),
    Task(
        "renew other",
        "change",
        "Extend Winter Accounts for member Abernathy by one renewal.",
        (
            *_to_loans("Abernathy", "The Salt Road", "Winter Accounts"),
            _renew("Abernathy", "Winter Accounts"),
        ),
    ),
    Task(
        "renew all",
        "change",
        "Renew every loan of member Abernathy.",
        (
            *_to_loans("Abernathy", "The Salt Road", "Winter Accounts"),
            _renew("Abernathy", "The Salt Road"),
            _renew("Abernathy", "Winter Accounts"),
        ),
    ),
    Task(
        "hold",
        "change",
        "Put Night Ferry aside for member Eriksen.",
        (
            *_to_copies("Night Ferry", "first"),
            _member_call("Eriksen"),
            _hold("Night Ferry", "Eriksen"),
        ),
    ),
    Task(
        "hold second",
        "change",
        "Member Castellano will collect The Salt Road today. Set a copy aside that is in.",
        (
            *_to_copies("The Salt Road", "first", "second"),
            _member_call("Castellano"),
            _hold("The Salt Road", "Castellano", "second"),
        ),
    ),
    Task(
        "hold and tell",
        "change",
        "Keep Night Ferry for Lena Dubrow, and name the shelf it stands on.",
        (
            *_to_copies("Night Ferry", "first"),
            _member_call("Dubrow"),
            _hold("Night Ferry", "Dubrow"),
        ),
        (("c04",),),
    ),
    Task(
        "renew and tell",
        "change",
        "Renew Paper Mountains for member Grigg and tell me who wrote it.",
        (
            *_to_loans("Grigg", "Paper Mountains"),
            _renew("Grigg", "Paper Mountains"),
            *_to_copies("Paper Mountains")[:1],
        ),
        (("quist",),),
    ),
    Task(
        "renewed twice",
        "impossible",
        "Renew the loan of member Dubrow.",
        _to_loans("Dubrow", "A Field of Bees"),
        (_TWICE,),
    ),
    Task(
        "in repair",
        "impossible",
        "Reserve The Glass Harbour for Odile Fontaine.",
        (*_to_copies("The Glass Harbour", "first"), _member_call("Fontaine")),
        (_REPAIR,),
    ),
    Task("no member", "impossible", "Extend what member Yarrow has borrowed.", (), (_UNKNOWN,)),
    Task(
        "no loan",
        "impossible",
        "Renew the book of Nils Eriksen.",
        _to_loans("Eriksen"),
        (
            (
                "no loans",
                "no loan",
                "no books",
                "no book",
                "no current loans",
                "not have any",
                "doesn't have any",
                "nothing borrowed",
                "not borrowed",
                "no active loans",
            ),
        ),
    ),
)

LIBRARY = Domain(
    "library",
    "You work at the desk of a town library.",
    _TABLES,
    _functions,
    _TASKS,
)
"""The library."""
