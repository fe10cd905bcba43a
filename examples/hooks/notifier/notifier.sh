#!/bin/sh
# notifier: rings when the agent waits for the user's permission.
#
# Event     Notification, matcher "ToolPermission"; reads message.
# Does      a desktop notification where notify-send or osascript can show one, and in the terminal a bell and the
#           escape sequence OSC 9, which many terminals turn into a notification of their own.
# Settings  NOTIFIER_METHOD  auto (default), desktop, terminal
#           NOTIFIER_TITLE   default: Hookwright
#           NOTIFIER_TTY     where the terminal's signals go (default /dev/tty)
# Answers   nothing; it never fails, for a bell that breaks must not break the work.
# Needs     sh; reads JSON with jq or python3, and with awk where neither is there.

set -uf

# The top-level field message, decoded.
message() {
    if command -v jq >/dev/null 2>&1; then
        jq -nj 'input.message | strings'
    elif command -v python3 >/dev/null 2>&1; then
        python3 -c '
import json, sys
message = json.loads(sys.stdin.buffer.read().decode("utf-8", "replace"))["message"]
sys.stdout.buffer.write(message.encode("utf-8", "replace"))'
    else
        # Good enough for words on a screen: finds the field at its depth, keeps \" and \\, turns other escapes to spaces.
        LC_ALL=C awk '
function escaped(piece,  back) {
    back = 0
    while (back < length(piece) && substr(piece, length(piece) - back, 1) == "\\") back++
    return back % 2
}
function decode(raw,  part, count, at, char, out) {
    count = split(raw, part, /\\/)
    out = part[1]
    for (at = 2; at <= count; at++) {
        char = substr(part[at], 1, 1)
        if (char == "") out = out "\\" part[++at]
        else if (char == "u") out = out " " substr(part[at], 6)
        else if (char == "\"" || char == "/") out = out part[at]
        else out = out " " substr(part[at], 2)
    }
    return out
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
        wanted = !key && depth == 1 && name[1] == "message"
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

# One line without control characters (a message must not steer the terminal), cut after 200 bytes between characters.
tidy() {
    c1=$(printf '\302[\200-\237]')
    tail=$(printf '[\300-\377][\200-\277]*$')
    tr '\000-\037\177' ' ' | LC_ALL=C sed -e "s/$c1/ /g" |
        LC_ALL=C awk '{ print (length($0) > 200 ? substr($0, 1, 200) " cut" : $0) }' |
        LC_ALL=C sed -e '/ cut$/!b' -e 's/ cut$//' -e "s/$tail//" -e 's/$/.../'
}

desktop() {
    if command -v osascript >/dev/null 2>&1; then
        # Title and text are arguments, not part of the program: nothing in them is ever run. Nor are they options.
        osascript -e 'on run argv' -e 'display notification (item 1 of argv) with title (item 2 of argv)' -e 'end run' \
            " $text" " $title" >/dev/null 2>&1
    elif command -v notify-send >/dev/null 2>&1 && [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then
        # The body of a notification may be read as markup.
        body=$(printf '%s' "$text" | sed -e 's/&/\&amp;/g' -e 's/</\&lt;/g' -e 's/>/\&gt;/g')
        notify-send --app-name="$title" -- "$title" "$body" >/dev/null 2>&1
    else
        return 1
    fi
}

terminal() {
    # A hook is no foreground process; without this, some terminals' settings would stop it for writing.
    trap '' TTOU
    (printf '\033]9;%s: %s\007\007' "$title" "$text" >>"${NOTIFIER_TTY:-/dev/tty}") 2>/dev/null
}

text=$(message 2>/dev/null | tidy)
text=${text:-The agent is waiting for you}
title=$(printf '%s' "${NOTIFIER_TITLE:-Hookwright}" | tidy)
case ${NOTIFIER_METHOD:-auto} in
    desktop) desktop ;;
    terminal) terminal ;;
    *) desktop; terminal ;;
esac
exit 0
