# Licensed under MIT or Apache-2.0, at your option.
"""Brings the newest record of a host into a store. All that the host says is checked, because a host may lie."""

import base64
import json
import os
import re
import tempfile
import zlib

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

# The names that drivebench gives to records.
NAME = re.compile(r"(?!last\.)([A-Za-z0-9]{1,31})(\.jsonl(?:\.gz)?)")
# The longest first line of a record, which holds the inventory, in bytes.
LONGEST_START = 16 << 20


def is_record(data):
    """Whether the first line is the start of a run. No more than that line is unpacked."""
    try:
        if data.startswith(b"\x1f\x8b"):
            data = zlib.decompressobj(wbits=31).decompress(data, LONGEST_START)
        return json.loads(data[:LONGEST_START].split(b"\n", 1)[0])["event"] == "start"
    except (zlib.error, ValueError, KeyError, TypeError, RecursionError):
        return False


def holds(path, data):
    with open(path, "rb") as file:
        return file.read(len(data) + 1) == data


def write_new(directory, data, place):
    """Writes a private file that appears whole: `place` gives it its name in the directory."""
    os.makedirs(directory, mode=0o700, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=directory, delete=False) as file:
        try:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            return place(file.name)
        finally:
            if os.path.exists(file.name):
                os.unlink(file.name)


def keep(store, run, suffix, data):
    """Adds a record to the store. Returns its name there, and whether it is new."""

    def place(temporary):
        for number in range(1, 1000):
            name = run if number == 1 else (run[:28] + str(number))
            path = os.path.join(store, name + suffix)
            if os.path.exists(path) and holds(path, data):
                return name, False
            if any(os.path.exists(os.path.join(store, name + end)) for end in (".jsonl", ".jsonl.gz")):
                continue
            try:
                os.link(temporary, path)
                return name, True
            except FileExistsError:
                continue
        raise AnsibleActionFail("the store has no free name for " + run)

    return write_new(store, data, place)


class ActionModule(ActionBase):
    def run(self, tmp=None, task_vars=None):
        super().run(tmp, task_vars)
        args = self.validate_argument_spec(
            argument_spec={
                "src": {"type": "str", "required": True},
                "store": {"type": "path", "required": True},
                "label": {"type": "str", "required": True},
                "limit": {"type": "int", "required": True},
                "about": {"type": "dict", "default": {}},
                "optional": {"type": "bool", "default": False},
            }
        )[1]
        src, store, limit = args["src"], args["store"], args["limit"]

        def on_host(module, **module_args):
            result = self._execute_module(module_name=module, module_args=module_args, task_vars=task_vars)
            if result.get("failed"):
                raise AnsibleActionFail(json.dumps(str(result.get("msg"))[:500]))
            return result

        found = on_host("ansible.builtin.find", paths=[src], patterns=["*.jsonl", "*.jsonl.gz"])
        files = [
            (float(file["mtime"]), int(file["size"]), NAME.fullmatch(os.path.basename(str(file["path"]))))
            for file in found["files"]
        ]
        files = [file for file in files if file[2]]
        if not files and args["optional"]:
            return {"changed": False}
        if not files:
            raise AnsibleActionFail("the host has no record of this run")
        _time, size, name = max(files, key=lambda file: file[0])
        if size > limit:
            raise AnsibleActionFail(f"{name[0]} has {size} bytes, more than {limit}")
        data = base64.b64decode(on_host("ansible.builtin.slurp", src=f"{src}/{name[0]}")["content"])
        if len(data) > limit or not is_record(data):
            raise AnsibleActionFail(f"{name[0]} is not a record of drivebench")

        run, changed = keep(store, name[1], name[2], data)
        host = task_vars["inventory_hostname"]
        about = dict(args["about"], host=host, label=args["label"], run=run)
        directory = os.path.join(store, "fleet", args["label"])
        path = os.path.join(directory, re.sub(r"[^A-Za-z0-9._:-]", "_", host) + ".json")
        text = (json.dumps(about, indent=2, sort_keys=True) + "\n").encode()
        write_new(directory, text, lambda temporary: os.replace(temporary, path))
        return {"changed": changed, "run": run}
