#!/bin/sh
# Reads the call as JSON on stdin. Exit 2 denies it, and stderr says why; exit 0 has no objection.
if grep -q 'PRIVATE KEY-----'; then
  echo 'this edit holds a private key' >&2
  exit 2
fi
