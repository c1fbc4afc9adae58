"""A small shop in SQLite, and the tools that work on it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from langchain_core.tools import BaseTool, ToolException, tool

_SCHEMA = """
CREATE TABLE customers (customer_id TEXT PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL);
CREATE TABLE orders (
    order_id TEXT PRIMARY KEY,
    customer_id TEXT NOT NULL REFERENCES customers,
    item TEXT NOT NULL,
    quantity INTEGER NOT NULL,
    status TEXT NOT NULL,
    note TEXT NOT NULL DEFAULT ''
);
"""
_CUSTOMERS = (
    ("C-1", "Ana Ruiz", "ana@shop.example"),
    ("C-2", "Ben Okoro", "ben@shop.example"),
    ("C-3", "Chloe Park", "chloe@shop.example"),
)
_ORDERS = (
    ("O-1001", "C-1", "desk lamp", 1, "open"),
    ("O-1002", "C-2", "office chair", 1, "open"),
    ("O-1003", "C-3", "standing desk", 1, "open"),
    ("O-1004", "C-1", "notebook", 3, "shipped"),
)


class Shop:
    """A shop of its own in one database file.

    Args:
        path: The file, which must not exist yet.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._open() as db:
            db.executescript(_SCHEMA)
            db.executemany("INSERT INTO customers VALUES (?, ?, ?)", _CUSTOMERS)
            db.executemany(
                "INSERT INTO orders (order_id, customer_id, item, quantity, status) "
                "VALUES (?, ?, ?, ?, ?)",
                _ORDERS,
            )

    def value(self, query: str) -> Any:
        """The first field of the first row of a query of the demo's own."""
        with self._open() as db:
            row = db.execute(query).fetchone()
        return row[0] if row else None

    def tools(self) -> list[BaseTool]:
        """The tools of an agent that works in this shop."""

        @tool
        def search_orders(text: str) -> str:
            """Search orders by their item."""
            return self._rows("SELECT order_id, item FROM orders WHERE item LIKE ?", f"%{text}%")

        @tool
        def get_order(order_id: str) -> str:
            """Get one order by its id."""
            rows = self._rows("SELECT * FROM orders WHERE order_id = ?", order_id)
            if rows == "[]":
                raise ToolException(f"There is no order {order_id!r}.")
            return rows

        @tool
        def find_customer(name: str) -> str:
            """Find a customer by name."""
            return self._rows("SELECT customer_id, name FROM customers WHERE name = ?", name)

        @tool
        def list_orders(customer_id: str) -> str:
            """List the orders of a customer."""
            return self._rows(
                "SELECT order_id, item, status FROM orders WHERE customer_id = ?", customer_id
            )

        @tool
        def cancel_order(order_id: str) -> str:
            """Cancel an open order."""
            return self._change(
                "UPDATE orders SET status = 'cancelled' WHERE order_id = ? AND status = 'open'",
                order_id,
            )

        @tool
        def set_quantity(order_id: str, quantity: int) -> str:
            """Change how many pieces an open order has."""
            return self._change(
                "UPDATE orders SET quantity = ? WHERE order_id = ? AND status = 'open'",
                quantity,
                order_id,
            )

        @tool
        def add_note(order_id: str, text: str) -> str:
            """Write a note on an order."""
            return self._change("UPDATE orders SET note = ? WHERE order_id = ?", text, order_id)

        @tool
        def update_email(customer_id: str, email: str) -> str:
            """Change the e-mail address of a customer."""
            return self._change(
                "UPDATE customers SET email = ? WHERE customer_id = ?", email, customer_id
            )

        made: list[BaseTool] = [
            search_orders,
            get_order,
            find_customer,
            list_orders,
            cancel_order,
            set_quantity,
            add_note,
            update_email,
        ]
        for one in made:
            one.handle_tool_error = True
        return made

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """A connection for one operation: tools run in threads."""
        with closing(sqlite3.connect(self.path)) as db, db:
            db.row_factory = sqlite3.Row
            yield db

    def _rows(self, query: str, *values: Any) -> str:
        with self._open() as db:
            return json.dumps([dict(row) for row in db.execute(query, values)])

    def _change(self, query: str, *values: Any) -> str:
        with self._open() as db:
            changed = db.execute(query, values).rowcount
        if not changed:
            raise ToolException("Nothing was changed: there is no such open order or customer.")
        return "Done."
