"""Errors as each vendor shapes them: the body of a status, the event inside a stream."""
from fake_llm.answer import Failure

# kind: what it means, then per vendor (status, type or status name, code), then the message.
KINDS = {
    "bad_request": {
        "openai": (400, "invalid_request_error", None),
        "anthropic": (400, "invalid_request_error", None),
        "google": (400, "INVALID_ARGUMENT", None),
        "message": "The request is not valid."},
    "auth": {
        "openai": (401, "invalid_request_error", "invalid_api_key"),
        "anthropic": (401, "authentication_error", None),
        "google": (400, "INVALID_ARGUMENT", "API_KEY_INVALID"),
        "message": "The API key is not valid."},
    "billing": {
        "openai": (402, "invalid_request_error", "credit_balance_exhausted"),
        "anthropic": (402, "billing_error", None),
        "google": (403, "PERMISSION_DENIED", "BILLING_DISABLED"),
        "message": "Your account has no credit."},
    "permission": {
        "openai": (403, "invalid_request_error", "unsupported_country_region_territory"),
        "anthropic": (403, "permission_error", None),
        "google": (403, "PERMISSION_DENIED", None),
        "message": "You may not use this model."},
    "not_found": {
        "openai": (404, "invalid_request_error", "model_not_found"),
        "anthropic": (404, "not_found_error", None),
        "google": (404, "NOT_FOUND", None),
        "message": "The model does not exist."},
    "conflict": {
        "openai": (409, "invalid_request_error", "conflict"),
        "anthropic": (409, "conflict_error", None),
        "google": (409, "ABORTED", None),
        "message": "Another request is under way."},
    "too_large": {
        "openai": (413, "invalid_request_error", None),
        "anthropic": (413, "request_too_large", None),
        "google": (413, "INVALID_ARGUMENT", None),
        "message": "The request is too large."},
    "context": {
        "openai": (400, "invalid_request_error", "context_length_exceeded"),
        "anthropic": (400, "invalid_request_error", None),
        "google": (400, "INVALID_ARGUMENT", None),
        "message": {
            "openai": "Your input exceeds the context window of this model.",
            "anthropic": "prompt is too long: 1000001 tokens > 1000000 maximum",
            "google": "The input token count (1048577) exceeds the maximum number of tokens "
                      "allowed (1048576)."}},
    # What the model thought earlier cannot be read any more; the memory forgets it, too.
    "reasoning": {
        "openai": (400, "invalid_request_error", "invalid_encrypted_content"),
        "anthropic": (400, "invalid_request_error", None),
        "google": (400, "INVALID_ARGUMENT", None),
        "message": {
            "openai": "The encrypted content could not be verified.",
            "anthropic": "Invalid `signature` in `thinking` block",
            "google": "Corrupted thought signature."}},
    "rate_limit": {
        "openai": (429, "requests", "rate_limit_exceeded"),
        "anthropic": (429, "rate_limit_error", None),
        "google": (429, "RESOURCE_EXHAUSTED", None),
        "message": "Rate limit reached."},
    "quota": {
        "openai": (429, "insufficient_quota", "insufficient_quota"),
        "anthropic": (429, "rate_limit_error", "enforced_spend_limit_reached"),
        "google": (429, "RESOURCE_EXHAUSTED", "GenerateRequestsPerDayPerProjectPerModel"),
        "message": "You exceeded your current quota."},
    "server": {
        "openai": (500, "server_error", "server_error"),
        "anthropic": (500, "api_error", None),
        "google": (500, "INTERNAL", None),
        "message": "The server had an error."},
    "overloaded": {
        "openai": (503, "server_error", "server_is_overloaded"),
        "anthropic": (529, "overloaded_error", None),
        "google": (503, "UNAVAILABLE", None),
        "message": "Overloaded"},
    "timeout": {
        "openai": (504, "server_error", "timeout"),
        "anthropic": (504, "timeout_error", None),
        "google": (504, "DEADLINE_EXCEEDED", None),
        "message": "It took too long."},
}

VENDORS = {"chat": "openai", "responses": "openai", "anthropic": "anthropic", "gemini": "google"}
GOOGLE_DETAILS = "type.googleapis.com/google.rpc."


def _facts(failure, vendor):
    """(status, type, code, message) of a failure at this vendor."""
    if failure.kind not in KINDS:
        raise ValueError(f"no such kind of failure: {failure.kind}")
    kind = KINDS[failure.kind]
    status, name, code = kind[vendor]
    message = failure.message
    if message is None:
        message = kind["message"]
        message = message if isinstance(message, str) else message[vendor]
    return failure.status or status, name, failure.code or code, message


def status_of(failure, format):
    return _facts(failure, VENDORS[format])[0]


def body_of(failure, format, dialect="openai", request_id="req_fake"):
    """The JSON body of an HTTP error."""
    vendor = VENDORS[format]
    status, name, code, message = _facts(failure, vendor)
    if vendor == "anthropic":
        error = {"type": name, "message": message}
        if code:
            error["details"] = {"error_code": code}
        return {"type": "error", "error": error, "request_id": request_id}
    if vendor == "google":
        return {"error": _google(status, name, code, message, failure.headers)}
    if dialect == "mistral" and format == "chat":
        return {"object": "error", "message": message, "type": name, "param": failure.param,
                "code": code}
    return {"error": {"message": message, "type": name, "param": failure.param, "code": code}}


def _google(status, name, code, message, headers):
    details = []
    if code and code.startswith("GenerateRequests"):
        details.append({"@type": GOOGLE_DETAILS + "QuotaFailure", "violations": [
            {"quotaId": code, "quotaMetric": "generate_content_requests"}]})
    elif code:
        details.append({"@type": GOOGLE_DETAILS + "ErrorInfo", "reason": code,
                        "domain": "googleapis.com"})
    if "retry-after" in headers:
        details.append({"@type": GOOGLE_DETAILS + "RetryInfo",
                        "retryDelay": f"{headers['retry-after']}s"})
    return {"code": status, "message": message, "status": name,
            **({"details": details} if details else {})}


def tool_names(format, body):
    """The names of the tools of a request, in order."""
    tools = body.get("tools") or []
    if format == "gemini":
        return [f["name"] for tool in tools for f in tool.get("functionDeclarations", ())]
    return [tool.get("function", tool)["name"] for tool in tools]


def tool_refusal(format, index, name):
    """How each service says that it does not take the definition of that tool."""
    if format == "anthropic":
        return Failure("bad_request", f"tools.{index}.custom.input_schema: JSON schema is invalid. "
                       "It must match JSON Schema draft 2020-12.")
    if format == "gemini":
        return Failure("bad_request", "* GenerateContentRequest.tools[0].function_declarations"
                       f"[{index}].parameters.properties[list].items: missing field.\n")
    where = "function.parameters" if format == "chat" else "parameters"
    return Failure("bad_request", f"Invalid schema for function '{name}': In context=('properties', "
                   "'list'), array schema missing items.", code="invalid_function_parameters",
                   param=f"tools[{index}].{where}")


def refusal_of(problems, status=400):
    """The failure that answers a request the validators complain about."""
    where = problems[0].partition(":")[0]
    return Failure("bad_request", "; ".join(problems), status,
                   param=where if " " not in where else None)
