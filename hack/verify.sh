#!/usr/bin/env bash
# Fails if anything that is made by a tool is not what the tool makes now: formatting, generated files, go.mod and go.sum.
set -euo pipefail
cd "$(dirname "$0")/.."

before=$(git status --porcelain)
unformatted=$(gofmt -l $(git ls-files '*.go'))
if [ -n "$unformatted" ]; then
  echo "not formatted (run make fmt):" >&2
  echo "$unformatted" >&2
  exit 1
fi
hack/generate.sh
for module in . hack/playground hack/protogen; do
  (cd "$module" && go mod tidy -diff) || { echo "$module/go.mod is not tidy (run go mod tidy there)" >&2; exit 1; }
done
hack/update-kubernetes.sh --check
after=$(git status --porcelain)
if [ "$before" != "$after" ]; then
  echo "generated files are not current (run make generate):" >&2
  diff <(echo "$before") <(echo "$after") >&2 || true
  exit 1
fi
echo "formatting, generated files and modules are current"
