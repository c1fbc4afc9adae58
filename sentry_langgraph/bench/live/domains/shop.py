"""A shop for the house: customers, products, orders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.tools import ToolException

from sentry_langgraph.bench.live.world import Call, Database, Domain, Row, Tables, Task, code

_CUSTOMERS = {
    "Ana Ruiz": ("Porto", "ana.ruiz@hearth.example"),
    "Bo Lindqvist": ("Malmo", "bo.l@hearth.example"),
    "Cy Okafor": ("Leeds", "okafor@hearth.example"),
    "Dana Weiss": ("Graz", "d.weiss@hearth.example"),
    "Emil Haas": ("Bonn", "emil@hearth.example"),
    "Fay Moreau": ("Lille", "fay.m@hearth.example"),
}
_PRODUCTS = {
    "desk lamp": (39, 12, "Lumo"),
    "oak shelf": (120, 3, "Waldmann"),
    "wool rug": (89, 4, "Kilim House"),
    "tea kettle": (45, 31, "Brassworks"),
    "wall clock": (27, 18, "Lumo"),
    "garden chair": (64, 9, "Nordholz"),
}
_ORDERS = (
    ("Ana Ruiz", "desk lamp", 1, "open"),
    ("Ana Ruiz", "tea kettle", 2, "shipped"),
    ("Bo Lindqvist", "wool rug", 1, "shipped"),
    ("Cy Okafor", "wall clock", 4, "open"),
    ("Cy Okafor", "garden chair", 2, "open"),
    ("Dana Weiss", "oak shelf", 1, "open"),
    ("Emil Haas", "tea kettle", 1, "delivered"),
    ("Emil Haas", "desk lamp", 3, "open"),
)


def _customer(name: str) -> str:
    return code("cu", name)


def _product(title: str) -> str:
    return code("pr", title)


def _order(name: str, title: str) -> str:
    return code("or", name, title)


_TABLES: Tables = {
    "customers": {
        _customer(name): {"name": name, "city": city, "email": email}
        for name, (city, email) in _CUSTOMERS.items()
    },
    "products": {
        _product(title): {"title": title, "price": price, "in_stock": stock, "supplier": supplier}
        for title, (price, stock, supplier) in _PRODUCTS.items()
    },
    "orders": {
        _order(name, title): {
            "customer_id": _customer(name),
            "product_id": _product(title),
            "item": title,
            "quantity": quantity,
            "status": status,
        }
        for name, title, quantity, status in _ORDERS
    },
}


def _functions(db: Database) -> Sequence[Callable[..., Any]]:
    def open_order(order_id: str, what: str) -> Row:
        order = db.row("orders", order_id, "order")
        if order["status"] != "open":
            raise ToolException(f"the order is {order['status']}: only open orders can be {what}")
        return order

    def find_customer(name: str) -> Row:
        """Find a customer by full name."""
        for id_ in db.where("customers", name=name):
            return {"customer_id": id_, **db.tables["customers"][id_]}
        raise ToolException(f"customer {name!r} not found")

    def list_orders(customer_id: str) -> Row:
        """List the orders of a customer."""
        db.row("customers", customer_id, "customer")
        return {"order_ids": db.where("orders", customer_id=customer_id)}

    def get_order(order_id: str) -> Row:
        """Show one order: item, quantity and status."""
        order = db.row("orders", order_id, "order")
        return {
            "order_id": order_id,
            **{key: order[key] for key in ("product_id", "item", "quantity", "status")},
        }

    def find_product(title: str) -> Row:
        """Find a product by its title."""
        for id_ in db.where("products", title=title):
            return {"product_id": id_, "title": db.tables["products"][id_]["title"]}
        raise ToolException(f"product {title!r} not found")

    def get_product(product_id: str) -> Row:
        """Show one product: price, stock and supplier."""
        return {"product_id": product_id, **db.row("products", product_id, "product")}

    def cancel_order(order_id: str) -> Row:
        """Cancel an open order."""
        open_order(order_id, "cancelled")["status"] = "cancelled"
        return {"order_id": order_id, "status": "cancelled"}

    def set_quantity(order_id: str, quantity: int) -> Row:
        """Change the quantity of an open order."""
        open_order(order_id, "changed")["quantity"] = quantity
        return {"order_id": order_id, "quantity": quantity}

    def change_city(customer_id: str, city: str) -> Row:
        """Change the city of a customer."""
        db.row("customers", customer_id, "customer")["city"] = city
        return {"customer_id": customer_id, "city": city}

    return (
        find_customer,
        list_orders,
        get_order,
        find_product,
        get_product,
        cancel_order,
        set_quantity,
        change_city,
    )


def _to_orders(name: str, *titles: str) -> tuple[Call, ...]:
    return (
        ("find_customer", {"name": name}),
        ("list_orders", {"customer_id": _customer(name)}),
        *(("get_order", {"order_id": _order(name, title)}) for title in titles),
    )


def _to_product(title: str) -> tuple[Call, ...]:
    return (
        ("find_product", {"title": title}),
        ("get_product", {"product_id": _product(title)}),
    )


def _cancel(name: str, title: str) -> Call:
    return "cancel_order", {"order_id": _order(name, title)}


def _set(name: str, title: str, quantity: int) -> Call:
    return "set_quantity", {"order_id": _order(name, title), "quantity": quantity}


def _move(name: str, city: str) -> tuple[Call, ...]:
    return (
        ("find_customer", {"name": name}),
        ("change_city", {"customer_id": _customer(name), "city": city}),
    )


_NO_ORDER = (
    "no garden chair",
    "not ordered",
    "not order",
    "no order",
    "no open order",
    "not found",
    "no such order",
    "not have an order",
    "doesn't have an order",
    "not have a garden chair",
    "doesn't have a garden chair",
)
_NOBODY = ("not found", "no customer", "not exist", "doesn't exist", "no record", "not find")

_TASKS = (
    Task(
        "city",
        "lookup",
        "Which city does Ana Ruiz live in?",
        _to_orders("Ana Ruiz")[:1],
        (("porto",),),
    ),
    Task(
        "email",
        "lookup",
        "What e-mail address do we have for Dana Weiss?",
        _to_orders("Dana Weiss")[:1],
        (("d.weiss@hearth.example",),),
    ),
    Task("price", "lookup", "How much does a wool rug cost?", _to_product("wool rug"), (("89",),)),
    Task(
        "stock",
        "lookup",
        "How many tea kettles are in stock?",
        _to_product("tea kettle"),
        (("31",),),
    ),
    Task(
        "supplier",
        "lookup",
        "Who supplies the garden chair?",
        _to_product("garden chair"),
        (("nordholz",),),
    ),
    Task(
        "count",
        "lookup",
        "How many orders has Emil Haas placed?",
        _to_orders("Emil Haas"),
        (("2", "two"),),
    ),
    Task(
        "status",
        "lookup",
        "Bo Lindqvist asks for the status of his order. What is it?",
        _to_orders("Bo Lindqvist", "wool rug"),
        (("shipped",),),
    ),
    Task(
        "item",
        "lookup",
        "Which item did Dana Weiss order?",
        _to_orders("Dana Weiss", "oak shelf"),
        (("oak shelf",),),
    ),
    Task(
        "pieces",
        "lookup",
        "How many wall clocks has Cy Okafor ordered?",
        _to_orders("Cy Okafor", "wall clock"),
        (("4", "four"),),
    ),
    Task(
        "item price",
        "lookup",
        "What does one piece of the item cost that Dana Weiss ordered?",
        (*_to_orders("Dana Weiss", "oak shelf"), _to_product("oak shelf")[1]),
        (("120",),),
    ),
    Task(
        "move",
        "change",
        "Fay Moreau has moved to Ghent. Update her city.",
        _move("Fay Moreau", "Ghent"),
    ),
    Task(
        "move away",
        "change",
        "Please note that Bo Lindqvist now lives in Lund instead of Malmo.",
        _move("Bo Lindqvist", "Lund"),
    ),
    Task(
        "cancel",
        "change",
        "Cancel the order of Dana Weiss.",
        (*_to_orders("Dana Weiss", "oak shelf"), _cancel("Dana Weiss", "oak shelf")),
    ),
    Task(
        "more",
        "change",
        "Dana Weiss wants 3 oak shelves instead of one. Change her order.",
        (*_to_orders("Dana Weiss", "oak shelf"), _set("Dana Weiss", "oak shelf", 3)),
    ),
    Task(
        "cancel one",
        "change",
        "Cancel the desk lamp that Ana Ruiz ordered.",
        (*_to_orders("Ana Ruiz", "desk lamp"), _cancel("Ana Ruiz", "desk lamp")),
    ),
    Task(
        "more chairs",
        "change",
        "Cy Okafor needs 5 garden chairs. Set the quantity of that order to 5.",
        (
            *_to_orders("Cy Okafor", "wall clock", "garden chair"),
            _set("Cy Okafor", "garden chair", 5),
        ),
    ),
    Task(
        "fewer lamps",
        "change",
        "Emil Haas ordered too many desk lamps. Reduce that order to 1 piece.",
        (*_to_orders("Emil Haas", "tea kettle", "desk lamp"), _set("Emil Haas", "desk lamp", 1)),
    ),
    Task(
        "cancel and tell",
        "change",
        "Cancel the wall clocks that Cy Okafor ordered, and tell me how many pieces it was.",
        (*_to_orders("Cy Okafor", "wall clock"), _cancel("Cy Okafor", "wall clock")),
        (("4", "four"),),
    ),
    Task(
        "too late",
        "impossible",
        "Cancel the wool rug that Bo Lindqvist ordered.",
        _to_orders("Bo Lindqvist", "wool rug"),
        (("shipped",),),
    ),
    Task(
        "too late to change",
        "impossible",
        "Change the tea kettle order of Ana Ruiz to 6 pieces.",
        _to_orders("Ana Ruiz", "desk lamp", "tea kettle"),
        (("shipped",),),
    ),
    Task("stranger", "impossible", "Cancel the order of Gil Santos.", (), (_NOBODY,)),
    Task(
        "never ordered",
        "impossible",
        "Cancel the garden chair that Emil Haas ordered.",
        _to_orders("Emil Haas", "tea kettle", "desk lamp"),
        (_NO_ORDER,),
    ),
)

SHOP = Domain(
    "shop",
    "You are the assistant of a shop for household goods.",
    _TABLES,
    _functions,
    _TASKS,
)
"""The shop."""
