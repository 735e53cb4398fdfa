"""Publishes the audit events of its input, one a line, as the bodies of OpenTelemetry log records. Usage: publish_otlp.py URL KEY"""

import json
import logging
import sys

from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.resources import Resource

# The exporter says on this channel what it could not send.
logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
exporter = OTLPLogExporter(
    endpoint=sys.argv[1], headers={"Authorization": f"Bearer {sys.argv[2]}"}, compression=Compression.Gzip
)
provider = LoggerProvider(resource=Resource.create({"service.name": "python"}))
provider.add_log_record_processor(BatchLogRecordProcessor(exporter, max_export_batch_size=50))
logger = provider.get_logger("demo")
for number, event in enumerate(map(json.loads, sys.stdin)):
    logger.emit(
        LogRecord(
            timestamp=1_760_000_000_000_000_000 + number,
            severity_number=SeverityNumber.INFO,
            event_name=event["action"]["type"],
            body=event,
            attributes={"demo.number": number},
        )
    )
print(json.dumps({"flushed": provider.force_flush()}))
provider.shutdown()
