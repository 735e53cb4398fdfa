"""Publishes the audit events of its input, one a line, as CloudEvents. Usage: publish_cloudevents.py URL KEY"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from urllib.request import Request, urlopen

from cloudevents.conversion import to_binary, to_structured
from cloudevents.http import CloudEvent


def publish(numbered):
    number, event = numbered
    attributes = {"type": "com.example.audit", "source": "/python", "id": str(number), "datacontenttype": "application/json"}
    headers, body = (to_structured, to_binary)[number % 2](CloudEvent(attributes, event))
    request = Request(sys.argv[1], data=body, headers={**headers, "Authorization": f"Bearer {sys.argv[2]}"}, method="POST")
    with urlopen(request) as response:
        return json.load(response)


with ThreadPoolExecutor(8) as pool:
    results = list(pool.map(publish, enumerate(map(json.loads, sys.stdin))))
print(json.dumps({name: sum(one[name] for one in results) for name in ("lines", "recorded", "repeated", "unmapped")}))
