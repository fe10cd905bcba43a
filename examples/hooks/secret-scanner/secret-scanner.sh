#!/bin/sh
# secret-scanner: refuses to write keys and tokens into files.
#
# Event     BeforeTool, matcher "write_file|replace". Add run_shell_command to the matcher to look at commands too.
# Looks at  every text argument of the call except old_string, so taking a secret out of a file stays possible.
# Settings  SECRET_SCANNER_EXTRA  one more extended regular expression that counts as a secret
#           SECRET_SCANNER_ALLOW  extended regular expression for harmless finds (default: EXAMPLE)
# Answers   exit 2 with the kind of secret, never the secret itself; exit 1 if the input can't be read, which
#           "guard": true in the settings turns into a refusal.
# Needs     sh and grep; reads JSON with jq or python3, and with awk where neither is there.

set -uf
export LC_ALL=C

# One rule per line: what it is, "=", an extended regular expression.
rules='GitHub token=(^|[^A-Za-z0-9_])(gh[opsur]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{22})
GitLab token=(^|[^A-Za-z0-9_])gl(pat|dt|rt|cbt)-[A-Za-z0-9_-]{20}
AWS access key=(^|[^A-Za-z0-9])(AKIA|ASIA)[A-Z0-9]{16}($|[^A-Za-z0-9])
Google API key=(^|[^A-Za-z0-9_-])AIza[A-Za-z0-9_-]{35}
Slack token=(^|[^A-Za-z0-9])xox[abeoprs]-[A-Za-z0-9-]{10}
Stripe key=(^|[^A-Za-z0-9])[rs]k_live_[A-Za-z0-9]{16}
model provider key=(^|[^A-Za-z0-9])sk-[A-Za-z0-9_-]{20}
npm token=(^|[^A-Za-z0-9])npm_[A-Za-z0-9]{36}
PyPI token=(^|[^A-Za-z0-9])pypi-[A-Za-z0-9_-]{32}
JSON web token=(^|[^A-Za-z0-9])eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10}
private key=-----BEGIN ([A-Z0-9]+ )*PRIVATE KEY( BLOCK)?-----
password in a URL=[a-z][a-z0-9+.-]*://[^][[:space:]:/@"'\''<>${}]+:[^][[:space:]/@"'\''<>${}]{6,}@'
newline='
'
if [ -n "${SECRET_SCANNER_EXTRA:-}" ]; then
    rules="$rules${newline}match of SECRET_SCANNER_EXTRA=$SECRET_SCANNER_EXTRA"
fi

# Every string under tool_input but old_string, decoded, one after another.
arguments() {
    if command -v jq >/dev/null 2>&1; then
        jq -nr 'input.tool_input | if type == "object" then del(.old_string) else . end | .. | strings'
    elif command -v python3 >/dev/null 2>&1; then
        python3 -c '
import json, sys
def walk(value):
    if isinstance(value, str):
        sys.stdout.buffer.write(value.encode("utf-8", "replace") + b"\n")
    elif isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            walk(inner)
arguments = json.loads(sys.stdin.buffer.read().decode("utf-8", "replace"))["tool_input"]
arguments.pop("old_string", None)
walk(arguments)'
    else
        awk '
function emit(text) { printf "%s", text }
function hex(digits,  at, value) {
    for (at = 1; at <= length(digits); at++)
        value = value * 16 + index("0123456789abcdef", tolower(substr(digits, at, 1))) - 1
    return value
}
# Prints a piece of a JSON string without its escapes. Characters beyond ASCII come unescaped; those that do not
# are of no interest here.
function decode(raw,  part, count, at, char) {
    count = split(raw, part, /\\/)
    emit(part[1])
    for (at = 2; at <= count; at++) {
        char = substr(part[at], 1, 1)
        if (char == "") { emit("\\"); emit(part[++at]); continue }
        if (char == "u") {
            emit(hex(substr(part[at], 2, 4)) < 128 ? sprintf("%c", hex(substr(part[at], 2, 4))) : "?")
            emit(substr(part[at], 6))
            continue
        }
        if (char == "n") emit("\n")
        else if (char == "t") emit("\t")
        else if (char == "r") emit("\r")
        else if (char ~ /[bf]/) emit(" ")
        else emit(char)
        emit(substr(part[at], 2))
    }
}
# Whether a piece ends inside an escape: then the quote after it belongs to the string.
function escaped(piece,  back) {
    back = 0
    while (back < length(piece) && substr(piece, length(piece) - back, 1) == "\\") back++
    return back % 2
}
function structure(text,  at, char) {
    for (at = 1; at <= length(text); at++) {
        char = substr(text, at, 1)
        if (char == "{" || char == "[") { kind[++depth] = char; name[depth] = ""; key = char == "{" }
        else if (char == "}" || char == "]") { depth--; key = 0 }
        else if (char == ",") key = kind[depth] == "{"
        else if (char == ":") key = 0
    }
}
{ text = text $0 "\n" }
END {
    count = split(text, piece, "\"")
    for (at = 1; at <= count; at++) {
        structure(piece[at])
        if (++at > count) break
        wanted = !key && name[1] == "tool_input" && depth > 1 && !(depth == 2 && name[2] == "old_string")
        word = ""
        while (at < count && escaped(piece[at])) {
            if (wanted) { decode(substr(piece[at], 1, length(piece[at]) - 1)); emit("\"") }
            if (key) word = word piece[at]
            at++
        }
        if (at >= count) exit 1
        if (wanted) { decode(piece[at]); emit("\n") }
        if (key) name[depth] = word piece[at]
    }
    if (depth != 0 || count < 2) exit 1
}'
    fi
}

text=$(arguments) || {
    echo "secret-scanner: the input is not the JSON of a tool call" >&2
    exit 1
}

all=
IFS=$newline
for rule in $rules; do
    all="$all${all:+$newline}${rule#*=}"
done

# Almost every call ends here: one grep over everything.
printf '%s\n' "$text" | grep -E -q -e "$all"
case $? in
    0) ;;
    1) exit 0 ;;
    *) echo "secret-scanner: SECRET_SCANNER_EXTRA is no extended regular expression" >&2; exit 1 ;;
esac

kinds=
for rule in $rules; do
    finds=$(printf '%s\n' "$text" | grep -E -o -e "${rule#*=}" | grep -E -v -e "${SECRET_SCANNER_ALLOW:-EXAMPLE}")
    if [ -n "$finds" ]; then
        kinds="$kinds${kinds:+, }${rule%%=*}"
    fi
done
if [ -z "$kinds" ]; then
    exit 0
fi
{
    echo "secret-scanner: this would write a secret to disk ($kinds)."
    echo "Read it from the environment or a secret store instead, or use an obvious placeholder."
} >&2
exit 2
