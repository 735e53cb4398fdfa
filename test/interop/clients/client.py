"""Publishes an event with the client that openapi-generator made, and reads it back."""
import json
import sys

import openapi_client as api

endpoint, org, key = sys.argv[1:]
with api.ApiClient(api.Configuration(host=endpoint, access_token=key)) as client:
    event = api.AuditEventDto(resource=api.AuditResourceDto(id="of-a-client", data={"total": 12}))
    published = api.AuditPublishApi(client).publish_event(org, "orders", event)
    read = api.AuditReadApi(client)
    one = read.get_event(org, str(published.id)).item
    listed = read.list_events(org, context_name="orders", page_size=10).items
    print(json.dumps({"id": str(published.id), "read": one.resource.id, "listed": [str(each.id) for each in listed]}))
