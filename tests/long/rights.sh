#!/bin/sh
# In a guest, which is thrown away: rights, lockdown and what else forbids tracing. Prints `test NAME ... ok` or what was wrong.
RIGHTS_SETTINGS=1 exec /usr/bin/python3 "$(dirname "$0")/rights" "${PROBESCOPE_UNDER_TEST:?}" /run/results/rights.md
