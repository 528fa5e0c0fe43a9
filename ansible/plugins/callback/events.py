# Licensed under MIT or Apache-2.0, at your option.
"""Writes how far each host is, one JSON object a line, for `drivebench fleet`."""

DOCUMENTATION = r"""
name: events
type: stdout
short_description: Writes how far each host of a measurement is, as JSON lines
description:
  - Each has the C(host) and its C(state). A failure has the C(reason), and whether the host was C(unreachable).
author:
  - The drivebench authors
"""

import json
import sys

from ansible.plugins.callback import CallbackBase

# The states after tasks that end well, by their actions.
DONE = {"ansible.builtin.copy": "program copied", "drivebench.drivebench.fetch_record": "record fetched"}
# The longest reason, in characters.
LONGEST = 500


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "drivebench.drivebench.events"

    def __init__(self):
        super().__init__()
        self.measuring = set()

    def tell(self, state, host, **more):
        sys.stdout.write(json.dumps(dict(more, state=state, host=host.get_name())) + "\n")
        sys.stdout.flush()

    # Tasks that are skipped start, too, but only a run is asked whether it has ended.
    def v2_runner_on_async_poll(self, result):
        if result._host.get_name() not in self.measuring:
            self.measuring.add(result._host.get_name())
            self.tell("measuring", result._host)

    def v2_runner_on_ok(self, result):
        state = DONE.get(result._task.action)
        if state:
            self.tell(state, result._host)

    def v2_runner_on_failed(self, result, ignore_errors=False):
        if not ignore_errors:
            self.failed(result, False)

    def v2_runner_on_unreachable(self, result):
        self.failed(result, True)

    def failed(self, result, unreachable):
        reason = " ".join(str(result._result.get("msg", "")).split())[:LONGEST].rstrip(".")
        self.tell("failed", result._host, unreachable=unreachable, reason=reason)
