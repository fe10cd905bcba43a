# The daily commands; `just` lists them. What CI runs is in .ci/run.

_list:
    @just --list --unsorted

# the program, as people get it
build:
    cargo build --release -p hookwright

# run the program from its source
run *args:
    cargo run -q -p hookwright -- {{args}}

# all tests, or those whose names contain a word
test *words:
    cargo test --workspace {{words}}

# formatting and lints, as CI wants them
check:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets --all-features -- -D warnings

# everything that CI runs
ci:
    .ci/run

# the journal page in chromium, then the README's picture of it (needs chromium, node and npm)
page cache=(env("XDG_CACHE_HOME", env("HOME") / ".cache") / "hookwright-ci"):
    cargo build -p hookwright --example journal_page
    .ci/install {{cache}}
    HOOKWRIGHT_JOURNAL_PAGE=target/debug/examples/journal_page HOOKWRIGHT_PAGE_MODULES={{cache}}/page/node_modules node crates/cli/tests/page/all.mjs
    HOOKWRIGHT_JOURNAL_PAGE=target/debug/examples/journal_page HOOKWRIGHT_PAGE_MODULES={{cache}}/page/node_modules node crates/cli/tests/page/screenshot.mjs docs/screenshots/journal.png

# look through changed snapshots (needs cargo-insta)
review:
    cargo insta test --workspace --review

# write schemas/ and the types of the SDKs anew
generate:
    cargo run -q -p xtask -- generate

# look for what breaks a property, one target or all, for some seconds each (needs cargo-fuzz)
fuzz target seconds="60":
    fuzz/run {{target}} {{seconds}}

# the engine beside its floors
bench *part:
    cargo bench -p hookwright-hooks --bench engine -- {{part}}

# every benchmark once, to see that none is broken
bench-short:
    cargo test -p hookwright-hooks --bench engine
    cargo test -p hookwright-journal --bench journal
    cargo build -p hookwright
    benches/short

# write the list of functions that lie together in a release anew (needs valgrind and node)
order:
    python3 release/order.py

# licences, bans, doubles, sources and known holes of dependencies (needs cargo-deny and the network)
deny:
    cargo deny check

# licences, bans, doubles and sources for this platform
dependencies:
    cargo run -q -p xtask -- dependencies

# what the release binary is made of, by crate (needs cargo-bloat)
weight:
    cargo bloat --release -p hookwright --crates -n 40
