#!/usr/bin/env bash
# Makes generated files anew. The list of EC2 instance types is made from a table that is not part of this repository: name it in
# EC2_INSTANCE_TYPES_TSV, or the list stays as it is.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -n "${EC2_INSTANCE_TYPES_TSV:-}" ]; then
  go generate ./...
else
  echo "EC2_INSTANCE_TYPES_TSV is not set: the list of EC2 instance types stays as it is"
  go generate -skip ec2instancetypes ./...
fi
