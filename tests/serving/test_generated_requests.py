"""Requests that schemathesis makes from the OpenAPI description have answers that fit the description."""

from __future__ import annotations

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance]


EXAMPLES = 300
"""Requests for each route that fit the description, and as many that do not."""


@pytest.mark.slow
def test_thousands_of_generated_requests_have_described_answers(client):
    schema = schemathesis.openapi.from_asgi("/v1/openapi.json", client.app, headers={"Host": "localhost"})
    checked = set()
    for found in schema.get_all_operations():
        operation = found.ok()
        modes = list(GenerationMode) if operation.method.upper() == "POST" else [GenerationMode.POSITIVE]
        for mode in modes:

            @given(case=operation.as_strategy(generation_mode=mode))
            @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
            def check(case):
                case.call_and_validate(headers={"Host": "localhost"}, checks=CHECKS)

            check()
        checked.add(operation.path)
    assert {"/v1/translate", "/v1/align", "/v1/score", "/v1/explain", "/v1/models", "/readyz"} <= checked
