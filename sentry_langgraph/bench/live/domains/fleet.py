"""A pool of company vehicles: drivers, vehicles, depots, trips."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.tools import ToolException

from sentry_langgraph.bench.live.world import Call, Database, Domain, Row, Tables, Task, code

_DRIVERS = {
    "Hamid Rashidi": ("C1", "Harbour"),
    "Ines Pardo": ("B", "Harbour"),
    "Jonas Brandt": ("DE", "Airfield"),
    "Kaja Novak": ("B", "Airfield"),
    "Luis Ferrer": ("C1", "Old Mill"),
    "Mina Sato": ("B", "Old Mill"),
}
_VEHICLES = {
    "blue van": ("Harbour", 3, 81200, "ready"),
    "grey pickup": ("Harbour", 5, 40150, "workshop"),
    "minibus": ("Airfield", 16, 122900, "ready"),
    "red estate": ("Airfield", 4, 15730, "ready"),
    "box truck": ("Old Mill", 2, 203400, "ready"),
}
_TRIPS = (
    ("Hamid Rashidi", "Calder", "blue van", "Monday", "planned"),
    ("Ines Pardo", "Ostrava", None, "Tuesday", "planned"),
    ("Ines Pardo", "Brook End", "blue van", "Friday", "completed"),
    ("Jonas Brandt", "Lakeside", "minibus", "Wednesday", "planned"),
    ("Jonas Brandt", "Calder", None, "Thursday", "planned"),
    ("Luis Ferrer", "Quarry", "box truck", "Monday", "planned"),
    ("Mina Sato", "Lakeside", "red estate", "Tuesday", "completed"),
)


def _driver(name: str) -> str:
    return code("dk", name)


def _vehicle(model: str) -> str:
    return code("vk", model)


def _trip(name: str, destination: str) -> str:
    return code("tk", name, destination)


_TABLES: Tables = {
    "drivers": {
        _driver(name): {"full_name": name, "licence": licence, "depot": depot}
        for name, (licence, depot) in _DRIVERS.items()
    },
    "vehicles": {
        _vehicle(model): {
            "depot": depot,
            "model": model,
            "seats": seats,
            "kilometres": kilometres,
            "state": state,
        }
        for model, (depot, seats, kilometres, state) in _VEHICLES.items()
    },
    "trips": {
        _trip(name, destination): {
            "driver_key": _driver(name),
            "destination": destination,
            "vehicle_key": _vehicle(model) if model else None,
            "day": day,
            "progress": progress,
        }
        for name, destination, model, day, progress in _TRIPS
    },
}


def _functions(db: Database) -> Sequence[Callable[..., Any]]:
    def planned(trip_key: str) -> Row:
        trip = db.row("trips", trip_key, "trip")
        if trip["progress"] != "planned":
            raise ToolException(f"the trip is {trip['progress']} and can't be changed any more")
        return trip

    def driver_by_name(full_name: str) -> Row:
        """Driver's record for a full name."""
        for key in db.where("drivers", full_name=full_name):
            return {"driver_key": key, **db.tables["drivers"][key]}
        raise ToolException(f"nobody named {full_name!r} drives for us")

    def trips_of_driver(driver_key: str) -> Row:
        """All trips of a driver."""
        db.row("drivers", driver_key, "driver")
        return {"trip_keys": db.where("trips", driver_key=driver_key)}

    def trip_details(trip_key: str) -> Row:
        """Destination, day, vehicle and progress of a trip."""
        trip = db.row("trips", trip_key, "trip")
        shown = ("destination", "day", "vehicle_key", "progress")
        return {"trip_key": trip_key, **{name: trip[name] for name in shown}}

    def vehicles_at_depot(depot: str) -> Row:
        """The vehicles that belong to a depot."""
        found = db.where("vehicles", depot=depot)
        if not found:
            raise ToolException(f"no depot is called {depot!r}")
        return {"vehicle_keys": found}

    def vehicle_details(vehicle_key: str) -> Row:
        """Model, seats, kilometres and state of a vehicle."""
        vehicle = db.row("vehicles", vehicle_key, "vehicle")
        return {"vehicle_key": vehicle_key, **vehicle}

    def assign_vehicle(trip_key: str, vehicle_key: str) -> Row:
        """Give a planned trip a vehicle that is ready."""
        trip, vehicle = planned(trip_key), db.row("vehicles", vehicle_key, "vehicle")
        if vehicle["state"] != "ready":
            raise ToolException(f"the vehicle is in the {vehicle['state']}")
        trip["vehicle_key"] = vehicle_key
        return {"trip_key": trip_key, "vehicle_key": vehicle_key}

    def postpone_trip(trip_key: str, day: str) -> Row:
        """Move a planned trip to another day of the week."""
        planned(trip_key)["day"] = day
        return {"trip_key": trip_key, "day": day}

    def send_to_workshop(vehicle_key: str) -> Row:
        """Take a vehicle out of service."""
        db.row("vehicles", vehicle_key, "vehicle")["state"] = "workshop"
        return {"vehicle_key": vehicle_key, "state": "workshop"}

    return (
        driver_by_name,
        trips_of_driver,
        trip_details,
        vehicles_at_depot,
        vehicle_details,
        assign_vehicle,
        postpone_trip,
        send_to_workshop,
    )


def _record(name: str) -> Call:
    return "driver_by_name", {"full_name": name}


def _to_trips(name: str, *destinations: str) -> tuple[Call, ...]:
    return (
        _record(name),
        ("trips_of_driver", {"driver_key": _driver(name)}),
        *(("trip_details", {"trip_key": _trip(name, one)}) for one in destinations),
    )


def _to_vehicles(depot: str, *models: str) -> tuple[Call, ...]:
    return (
        ("vehicles_at_depot", {"depot": depot}),
        *(("vehicle_details", {"vehicle_key": _vehicle(model)}) for model in models),
    )


def _assign(name: str, destination: str, model: str) -> Call:
    keys = {"trip_key": _trip(name, destination), "vehicle_key": _vehicle(model)}
    return "assign_vehicle", keys


def _postpone(name: str, destination: str, day: str) -> Call:
    return "postpone_trip", {"trip_key": _trip(name, destination), "day": day}


_NOBODY = ("nobody", "not found", "no driver", "not exist", "doesn't exist", "no record", "no one")
_WORKSHOP = ("workshop", "in repair", "out of service")

_TASKS = (
    Task(
        "licence",
        "lookup",
        "Which licence class does Jonas Brandt hold?",
        (_record("Jonas Brandt"),),
        (("de",),),
    ),
    Task(
        "home",
        "lookup",
        "At which depot is Kaja Novak based?",
        (_record("Kaja Novak"),),
        (("airfield",),),
    ),
    Task(
        "vehicle count",
        "lookup",
        "How many vehicles stand at the Harbour depot?",
        _to_vehicles("Harbour"),
        (("2", "two"),),
    ),
    Task(
        "trip count",
        "lookup",
        "How many trips are there for Jonas Brandt?",
        _to_trips("Jonas Brandt"),
        (("2", "two"),),
    ),
    Task(
        "seats",
        "lookup",
        "The Old Mill depot has one vehicle. How many seats has it got?",
        _to_vehicles("Old Mill", "box truck"),
        (("2", "two"),),
    ),
    Task(
        "kilometres",
        "lookup",
        "What is the mileage of the vehicle at Old Mill?",
        _to_vehicles("Old Mill", "box truck"),
        (("203400", "203,400", "203.400", "203 400"),),
    ),
    Task(
        "destination",
        "lookup",
        "Where is Hamid Rashidi going?",
        _to_trips("Hamid Rashidi", "Calder"),
        (("calder",),),
    ),
    Task(
        "day",
        "lookup",
        "On what day does Luis Ferrer drive?",
        _to_trips("Luis Ferrer", "Quarry"),
        (("monday",),),
    ),
    Task(
        "model",
        "lookup",
        "Name the model of the vehicle that Hamid Rashidi's trip uses.",
        (
            *_to_trips("Hamid Rashidi", "Calder"),
            ("vehicle_details", {"vehicle_key": _vehicle("blue van")}),
        ),
        (("blue van",),),
    ),
    Task(
        "roomiest",
        "lookup",
        "Of the vehicles at the Airfield depot, which model has the most seats?",
        _to_vehicles("Airfield", "minibus", "red estate"),
        (("minibus",),),
    ),
    Task(
        "postpone",
        "change",
        "Hamid Rashidi's trip has to take place on Saturday. Postpone it.",
        (*_to_trips("Hamid Rashidi", "Calder"), _postpone("Hamid Rashidi", "Calder", "Saturday")),
    ),
    Task(
        "postpone one",
        "change",
        "Jonas Brandt can't go to Lakeside on Wednesday; put that trip on Sunday.",
        (*_to_trips("Jonas Brandt", "Lakeside"), _postpone("Jonas Brandt", "Lakeside", "Sunday")),
    ),
    Task(
        "postpone other",
        "change",
        "Move the Calder trip of Jonas Brandt to Saturday.",
        (
            *_to_trips("Jonas Brandt", "Lakeside", "Calder"),
            _postpone("Jonas Brandt", "Calder", "Saturday"),
        ),
    ),
    Task(
        "postpone and tell",
        "change",
        "Luis Ferrer will drive on Thursday. Change his trip and say where it goes.",
        (*_to_trips("Luis Ferrer", "Quarry"), _postpone("Luis Ferrer", "Quarry", "Thursday")),
        (("quarry",),),
    ),
    Task(
        "workshop",
        "change",
        "The vehicle at the Old Mill depot has a broken axle. Take it to the workshop.",
        (
            *_to_vehicles("Old Mill", "box truck"),
            ("send_to_workshop", {"vehicle_key": _vehicle("box truck")}),
        ),
    ),
    Task(
        "workshop one",
        "change",
        "The minibus at Airfield needs new brakes: out of service with it, please.",
        (
            *_to_vehicles("Airfield", "minibus", "red estate"),
            ("send_to_workshop", {"vehicle_key": _vehicle("minibus")}),
        ),
    ),
    Task(
        "assign",
        "change",
        "Ines Pardo's trip to Ostrava needs the blue van from Harbour. Assign it.",
        (
            *_to_trips("Ines Pardo", "Ostrava"),
            *_to_vehicles("Harbour", "blue van"),
            _assign("Ines Pardo", "Ostrava", "blue van"),
        ),
    ),
    Task(
        "assign other",
        "change",
        "Give Jonas Brandt the red estate of the Airfield depot for his Calder trip.",
        (
            *_to_trips("Jonas Brandt", "Lakeside", "Calder"),
            *_to_vehicles("Airfield", "minibus", "red estate"),
            _assign("Jonas Brandt", "Calder", "red estate"),
        ),
    ),
    Task(
        "already over",
        "impossible",
        "Postpone the trip of Mina Sato to Friday.",
        _to_trips("Mina Sato", "Lakeside"),
        (("completed", "finished", "already taken place", "already took place"),),
    ),
    Task(
        "not ready",
        "impossible",
        "Assign the grey pickup at Harbour to the Calder trip of Hamid Rashidi.",
        (
            *_to_trips("Hamid Rashidi", "Calder"),
            *_to_vehicles("Harbour", "blue van", "grey pickup"),
        ),
        (_WORKSHOP,),
    ),
    Task("no driver", "impossible", "Put the trip of Otto Lind on Monday.", (), (_NOBODY,)),
    Task(
        "no trip",
        "impossible",
        "Delay the trip of Kaja Novak until Sunday.",
        _to_trips("Kaja Novak"),
        (
            (
                "no trips",
                "no trip",
                "not have any trips",
                "doesn't have any trips",
                "not have a trip",
                "doesn't have a trip",
                "no planned trips",
                "no planned trip",
                "no scheduled trips",
                "no upcoming trips",
            ),
        ),
    ),
)

FLEET = Domain(
    "fleet",
    "You run the dispatch of a company's vehicles.",
    _TABLES,
    _functions,
    _TASKS,
)
"""The vehicle pool."""
