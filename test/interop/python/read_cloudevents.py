"""Reads CloudEvents, one a line, and prints what the SDK made of each. Usage: read_cloudevents.py"""

import json
import sys

from cloudevents.conversion import from_json
from cloudevents.http import CloudEvent

for line in sys.stdin:
    event = from_json(CloudEvent, line)
    print(json.dumps({**event.get_attributes(), "data": event.get_data()}))
