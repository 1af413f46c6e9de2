#!/usr/bin/env bash
# Builds the binaries of single clouds and tries each: it knows its own cloud and no other, needs no --cloud-provider, and prints its help. Prints their
# sizes.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=${BIN:-bin}
mkdir -p "$bin"
fail() { echo "$1" >&2; exit 1; }
for cloud in aws digitalocean externalgrpc; do
  program=$bin/cluster-autoscaler-$cloud
  CGO_ENABLED=0 go build -tags "grpcnotrace $cloud" -ldflags '-s -w' -o "$program" ./cmd/cluster-autoscaler
  "$program" --help | grep -q -- --cloud-provider || fail "$program --help doesn't list --cloud-provider"
  said=$("$program" --cloud-provider=nimbus 2>&1) && fail "$program takes a cloud that there is not"
  [ "$said" = "--cloud-provider=\"nimbus\": want one of: $cloud" ] || fail "$program says of an unknown cloud: $said"
  # The election is the first thing after the choice of the cloud, so a kubeconfig that is not there is what it complains about.
  said=$("$program" --kubeconfig=/nonexistent --address=127.0.0.1:0 2>&1) && fail "$program starts without a cluster"
  case $said in *--cloud-provider*) fail "$program wants to be told its only cloud: $said" ;; esac
  printf '%-14s %4d MB\n' "$cloud" $(($(stat -c %s "$program") / 1000000))
done
