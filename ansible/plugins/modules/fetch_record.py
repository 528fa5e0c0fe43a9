#!/usr/bin/python
# Licensed under MIT or Apache-2.0, at your option.

DOCUMENTATION = r"""
module: fetch_record
short_description: Brings the newest record of drivebench from a host into a store of the control machine
description:
  - Nothing in the store is overwritten. A record whose name is taken gets a digit more.
  - Which host it is of is written to I(store)/fleet/I(label)/HOST.json.
  - The work is done by an action plugin of the same name.
author:
  - The drivebench authors
options:
  src:
    description: The store on the host.
    type: path
    required: true
  store:
    description: The store on the control machine.
    type: path
    required: true
  label:
    description: The name of the measurement.
    type: str
    required: true
  limit:
    description: The largest record that is fetched, in bytes.
    type: int
    required: true
  optional:
    description: Whether the host may have no record, because all of its drives were skipped.
    type: bool
    default: false
  about:
    description: What else is written to the file of the host.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Fetch the record
  drivebench.drivebench.fetch_record:
    src: ~/.drivebench-ansible/runs/november
    store: /home/me/.local/share/drivebench
    label: november
    limit: 67108864
"""

RETURN = r"""
run:
  description: The name of the run in the store of the control machine.
  type: str
  returned: success
"""
