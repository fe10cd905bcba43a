#!/bin/sh
# format-after-edit: runs the formatter of the language over a file that the agent has just written.
#
# Event     AfterTool, matcher "write_file|replace"; reads file_path.
# Runs      rustfmt, prettier (the project's own first), black, gofmt: whichever the file's ending calls for and is
#           installed. Only the one file is changed, and only if the formatter succeeds.
# Settings  FORMAT_AFTER_EDIT_SKIP  endings to leave alone, separated by spaces ("md json")
# Answers   context for the model if the text changed, so that its next edit finds what it expects; a formatter's
#           complaint becomes context too. Never fails: no formatter, no file, no problem.
# Needs     sh; reads JSON with jq or python3, and with awk where neither is there.

set -uf

# tool_input.file_path, decoded.
file_path() {
    if command -v jq >/dev/null 2>&1; then
        jq -nj 'input.tool_input.file_path | strings'
    elif command -v python3 >/dev/null 2>&1; then
        python3 -c '
import json, sys
path = json.loads(sys.stdin.buffer.read().decode("utf-8", "replace"))["tool_input"]["file_path"]
sys.stdout.buffer.write(path.encode("utf-8", "surrogateescape"))'
    else
        LC_ALL=C awk '
function hex(digits,  at, value) {
    for (at = 1; at <= length(digits); at++)
        value = value * 16 + index("0123456789abcdef", tolower(substr(digits, at, 1))) - 1
    return value
}
function utf8(code) {
    if (code < 128) return sprintf("%c", code)
    if (code < 2048) return sprintf("%c%c", 192 + int(code / 64), 128 + code % 64)
    if (code < 65536) return sprintf("%c%c%c", 224 + int(code / 4096), 128 + int(code / 64) % 64, 128 + code % 64)
    return sprintf("%c%c%c%c", 240 + int(code / 262144), 128 + int(code / 4096) % 64, 128 + int(code / 64) % 64, 128 + code % 64)
}
# A JSON string without its escapes.
function decode(raw,  part, count, at, char, out, code) {
    count = split(raw, part, /\\/)
    out = part[1]
    for (at = 2; at <= count; at++) {
        char = substr(part[at], 1, 1)
        if (char == "") { out = out "\\" part[++at]; continue }
        if (char == "u") {
            code = hex(substr(part[at], 2, 4))
            if (code >= 55296 && code < 56320 && length(part[at]) == 5 && substr(part[at + 1], 1, 1) == "u")
                code = 65536 + (code - 55296) * 1024 + hex(substr(part[++at], 2, 4)) - 56320
            out = out utf8(code) substr(part[at], 6)
            continue
        }
        out = out (char == "n" ? "\n" : char == "t" ? "\t" : char == "r" ? "\r" : char == "b" ? "\b" : char == "f" ? "\f" : char)
        out = out substr(part[at], 2)
    }
    return out
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
    for (at = 1; at < count; at++) {
        structure(piece[at++])
        wanted = !key && depth == 2 && name[1] == "tool_input" && name[2] == "file_path"
        word = ""
        while (at < count && escaped(piece[at])) {
            if (key || wanted) word = word piece[at] "\""
            at++
        }
        if (key) name[depth] = word piece[at]
        if (wanted) { printf "%s", decode(word piece[at]); exit }
    }
}'
    fi
}

# The edition of the crate that the current folder belongs to.
rust_edition() {
    folder=$PWD
    while [ -n "$folder" ]; do
        if [ -f "$folder/Cargo.toml" ]; then
            edition=$(sed -n 's/^ *edition *= *"\([0-9]*\)".*/\1/p' "$folder/Cargo.toml" | head -n 1)
            [ -n "$edition" ] && break
        fi
        folder=${folder%/*}
    done
    echo "${edition:-2021}"
}

# The nearest prettier: the project's own, else the one on the search path.
prettier_program() {
    folder=$PWD
    while [ -n "$folder" ]; do
        if [ -x "$folder/node_modules/.bin/prettier" ]; then
            echo "$folder/node_modules/.bin/prettier"
            return
        fi
        folder=${folder%/*}
    done
    command -v prettier
}

# The file's text on stdin, formatted text on stdout. 3 means: nothing installed for it.
format() {
    case $ending in
        rs)
            command -v rustfmt >/dev/null 2>&1 || return 3
            rustfmt --quiet --edition "$(rust_edition)" --emit stdout
            ;;
        go)
            command -v gofmt >/dev/null 2>&1 || return 3
            gofmt
            ;;
        py | pyi)
            command -v black >/dev/null 2>&1 || return 3
            black --quiet --stdin-filename "$file" -
            ;;
        *)
            prettier=$(prettier_program) || return 3
            "$prettier" --stdin-filepath "$file"
            ;;
    esac
}

# Text on stdin → the inside of a JSON string.
json_text() {
    tab=$(printf '\t')
    tr -d '\000-\010\013-\037' | LC_ALL=C sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e "s/$tab/\\\\t/g" |
        LC_ALL=C awk 'NR > 1 { printf "\\n" } { printf "%s", $0 }'
}

tell() {
    printf '{"hookSpecificOutput":{"hookEventName":"AfterTool","additionalContext":"%s"}}\n' "$(printf '%s\n' "$1" | json_text)"
}

# The x keeps newlines that end a name.
file=$(file_path 2>/dev/null; printf x)
file=${file%x}
case $file in
    '') exit 0 ;;
    /*) ;;
    *) file=$PWD/$file ;;
esac
ending=${file##*/}
case $ending in
    ?*.*) ending=${ending##*.} ;;
    *) exit 0 ;;
esac
case $ending in
    rs | go | py | pyi) ;;
    js | jsx | mjs | cjs | ts | tsx | mts | cts | css | scss | less | html | vue | json | yaml | yml | md) ;;
    *) exit 0 ;;
esac
case " ${FORMAT_AFTER_EDIT_SKIP:-} " in
    *" $ending "*) exit 0 ;;
esac
if [ ! -f "$file" ] || [ ! -w "$file" ]; then
    exit 0
fi
# Formatters look for their settings from the file's folder upwards.
cd "${file%/*}/" 2>/dev/null || exit 0

work=$(mktemp -d 2>/dev/null) || exit 0
trap 'rm -rf "$work"' EXIT
trap 'exit 0' HUP INT TERM
format <"$file" >"$work/formatted" 2>"$work/complaint"
status=$?
if [ "$status" -eq 3 ]; then
    exit 0
fi
shown=${file#"${GEMINI_PROJECT_DIR:-$PWD}/"}
if [ "$status" -ne 0 ]; then
    tell "The formatter could not read $shown:
$(head -n 5 "$work/complaint")"
    exit 0
fi
if cmp -s "$file" "$work/formatted"; then
    exit 0
fi
# An empty answer to a file with text is a formatter's mistake, not a format.
if [ ! -s "$work/formatted" ] && [ -s "$file" ]; then
    exit 0
fi
# Written in place, so that mode, owner and links stay; nobody may stop that halfway.
trap '' HUP INT TERM
cat "$work/formatted" >"$file" || exit 0
tell "$shown was reformatted after this edit; read it again before you edit it further."
