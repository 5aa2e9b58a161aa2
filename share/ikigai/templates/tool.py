#!/usr/bin/env python3
"""A tool for ikigai: JSON in on stdin, JSON out on stdout.
Check it with: ikigai tool check @FILE@
"""
import json
import sys

# 1. The description of the tool. Print it quickly, without network, credentials or settings.
#    The kernel holds the tool to its effects; write is "none", "project" or "anywhere".
#    "host": ["ask", "complete"] would let it ask the user and the model while it runs:
#    ikigai help tool-protocol
SCHEMA = {
    "name": "@NAME@",
    "description": "Count the words of a text",
    "parameters": {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "The text"},
            "unit": {"type": "string", "description": "words (default) or lines"},
        },
        "required": ["text"],
    },
    "returns": {
        "type": "object",
        "properties": {"count": {"type": "integer", "description": "How many"}},
    },
    "effects": {"write": "none", "network": False},
}


# 2. If the operation fails, answer with error and error_code, and exit with status 0.
def fail(error, code="INVALID_ARG"):
    return {"error": error, "error_code": code}


def run(params):
    text = params.get("text")
    unit = params.get("unit") or "words"
    if not isinstance(text, str):
        return fail("Parameter text is missing or not a string")
    if unit == "words":
        return {"count": len(text.split())}
    if unit == "lines":
        return {"count": len(text.splitlines())}
    return fail("unit is words or lines")


def main():
    if sys.argv[1:] == ["--schema"]:
        print(json.dumps(SCHEMA))
        return
    # 3. Read the parameters, which may be invalid.
    try:
        params = json.load(sys.stdin)
    except ValueError:
        params = None
    # 4. Answer with one JSON value.
    if isinstance(params, dict):
        print(json.dumps(run(params)))
    else:
        print(json.dumps(fail("One JSON object is expected on standard input")))


main()
