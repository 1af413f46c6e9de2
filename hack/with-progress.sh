#!/usr/bin/env bash
# Runs a command and says every ten seconds how long it has been running, so that a long build does not look like a hang.
set -u
start=$SECONDS
"$@" &
command=$!
(
  while sleep 10; do
    echo "  ... still running after $((SECONDS - start)) s"
  done
) &
ticker=$!
trap 'kill "$command" "$ticker" 2>/dev/null' INT TERM
wait "$command"
status=$?
kill "$ticker" 2>/dev/null
wait "$ticker" 2>/dev/null
exit "$status"
