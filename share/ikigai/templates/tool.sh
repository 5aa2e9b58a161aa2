#!/bin/sh
# A tool for ikigai: JSON in on stdin, JSON out on stdout.
# Check it with: ikigai tool check @FILE@

# 1. The description of the tool. Print it quickly, without network, credentials or settings.
#    The kernel holds the tool to its effects; write is "none", "project" or "anywhere".
#    "host": ["ask", "complete"] would let it ask the user and the model while it runs:
#    ikigai help tool-protocol
if [ "$1" = --schema ]; then
    cat <<'END'
{
  "name": "@NAME@",
  "description": "Count the words of a text",
  "parameters": {
    "type": "object",
    "properties": {
      "text": {"type": "string", "description": "The text"},
      "unit": {"type": "string", "description": "words (default) or lines"}
    },
    "required": ["text"]
  },
  "returns": {
    "type": "object",
    "properties": {"count": {"type": "integer", "description": "How many"}}
  },
  "effects": {"write": "none", "network": false}
}
END
    exit 0
fi

# 2. If the operation fails, answer with error and error_code, and exit with status 0.
fail() {
    printf '{"error": "%s", "error_code": "%s"}' "$1" "$2"
    exit 0
}

# 3. Read the parameters. sed is enough for one-line values; for others use jq: jq -r .text
input=$(cat | tr '\n' ' ')
value() {
    printf '%s' "$input" |
        sed -n 's/.*"'"$1"'"[[:space:]]*:[[:space:]]*"\(\([^"\\]\|\\.\)*\)".*/\1/p'
}
case $input in
*'"text"'*) text=$(value text) ;;
*) fail 'Parameter text is missing' INVALID_ARG ;;
esac

# 4. Answer with one JSON value.
case $(value unit) in
'' | words) count=$(printf '%s' "$text" | sed 's/\\[ntr]/ /g' | wc -w) ;;
lines) count=$(printf '%s' "$text" | sed 's/\\n/\n/g' | grep -c '') ;;
*) fail 'unit is words or lines' INVALID_ARG ;;
esac
printf '{"count": %d}' "$count"
