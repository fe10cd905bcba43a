#!/bin/sh
# git-context: tells the model where the repository stands, so that it need not ask.
#
# Events    SessionStart (branch, changes, last commits) and BeforeAgent (branch, changes, last commit).
# Settings  GIT_CONTEXT_COMMITS  commits to list at session start (default 5)
#           GIT_CONTEXT_CHANGES  changed files to list (default 20)
# Answers   additionalContext; nothing at all outside a repository, without git, or if git fails.
# Needs     sh and git. Takes no locks, starts no pager, changes nothing.

set -u
export GIT_OPTIONAL_LOCKS=0 LC_ALL=C

# The only field this hook reads. A quote inside a JSON string is written \", so this can't be found inside a prompt.
event=$(sed -n 's/.*"hook_event_name"[[:space:]]*:[[:space:]]*"\([A-Za-z]*\)".*/\1/p' | head -n 1)
command -v git >/dev/null 2>&1 || exit 0

repo() { git -c color.ui=false -c core.fsmonitor=false "$@" 2>/dev/null; }
# A number from the settings, or the default where there is none.
number() { case $1 in '' | *[!0-9]*) echo "$2" ;; *) echo "$1" ;; esac; }

[ "$(repo rev-parse --is-inside-work-tree)" = true ] || exit 0
limit=$(number "${GIT_CONTEXT_CHANGES:-}" 20)
case $event in
    SessionStart) commits=$(number "${GIT_CONTEXT_COMMITS:-}" 5) ;;
    *) commits=1 ;;
esac

describe() {
    branch=$(repo symbolic-ref --short -q HEAD) || branch="detached at $(repo rev-parse --short HEAD)"
    echo "Branch: $branch"
    changes=$(repo status --porcelain --ignore-submodules=dirty) || return 1
    if [ -z "$changes" ]; then
        echo "Working tree: clean"
    else
        count=$(printf '%s\n' "$changes" | wc -l | tr -d ' ')
        echo "Working tree: $count changed"
        printf '%s\n' "$changes" | head -n "$limit"
        if [ "$count" -gt "$limit" ]; then
            echo "… and $((count - limit)) more"
        fi
    fi
    log=$(repo log -n "$commits" --no-show-signature --date=short --format='%h %ad %s')
    if [ -n "$log" ]; then
        echo "Last commits:"
        printf '%s\n' "$log"
    else
        echo "Last commits: none yet"
    fi
}

# Text on stdin → the inside of a JSON string.
json_text() {
    tab=$(printf '\t')
    tr -d '\000-\010\013-\037' | sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e "s/$tab/\\\\t/g" |
        awk 'NR > 1 { printf "\\n" } { printf "%s", $0 }'
}

text=$(describe) || exit 0
printf '{"hookSpecificOutput":{"hookEventName":"%s","additionalContext":"%s"}}\n' \
    "$event" "$(printf 'Git state, collected by a hook:\n%s\n' "$text" | json_text)"
