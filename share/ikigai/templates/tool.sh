#!/bin/sh
# A tool for ikigai: JSON in on stdin, JSON out on stdout.
# Check it with: ikigai tool check @FILE@

# 1. It describes itself: quickly, and without needing anything from its surroundings.
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
  }
}
END
    exit 0
fi

# 2. A failed operation is an answer with error and error_code, and exit status 0.
fail() {
    printf '{"error": "%s", "error_code": "%s"}' "$1" "$2"
    exit 0
}

# 3. It reads its parameters. sed is enough for one-line values; where more is needed, jq -r
#    .text is the better tool.
input=$(cat | tr '\n' ' ')
value() {
    printf '%s' "$input" |
        sed -n 's/.*"'"$1"'"[[:space:]]*:[[:space:]]*"\(\([^"\\]\|\\.\)*\)".*/\1/p'
}
case $input in
*'"text"'*) text=$(value text) ;;
*) fail 'Parameter text is missing' INVALID_ARG ;;
esac

# 4. It answers with one JSON value.
case $(value unit) in
'' | words) count=$(printf '%s' "$text" | sed 's/\\[ntr]/ /g' | wc -w) ;;
lines) count=$(printf '%s' "$text" | sed 's/\\n/\n/g' | grep -c '') ;;
*) fail 'unit is words or lines' INVALID_ARG ;;
esac
printf '{"count": %d}' "$count"
