"""A language model that is asked where rules are not sure.

`prompt` and `answer` are pure: what the model is shown, and what its answer is worth. `asking`
speaks to the model and survives what providers do. `diagnose`, `verdict` and `wording` put them
together; each is a generator that `calls` drives, sync or async.
"""

from sentry_langgraph.judge.asking import Asker, Usage
from sentry_langgraph.judge.calls import Call, Flow, adrive, drive
from sentry_langgraph.judge.diagnose import Diagnosis, diagnose
from sentry_langgraph.judge.judges import Judges, open_judges
from sentry_langgraph.judge.verdict import confirm_recovery
from sentry_langgraph.judge.wording import worded

__all__ = [
    "Asker",
    "Call",
    "Diagnosis",
    "Flow",
    "Judges",
    "Usage",
    "adrive",
    "confirm_recovery",
    "diagnose",
    "drive",
    "open_judges",
    "worded",
]
