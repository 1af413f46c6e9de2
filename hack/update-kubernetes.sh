#!/usr/bin/env bash
# Sets the Kubernetes version of both modules: k8s.io/kubernetes and the replaces for its staging modules, which its go.mod
# requires at v0.0.0 and which a consumer therefore has to name one by one.
#
#   hack/update-kubernetes.sh 1.37.2           write
#   hack/update-kubernetes.sh --check          fail if the two modules disagree, or if a staging module has no replace
set -euo pipefail
cd "$(dirname "$0")/.."

modules=(. hack/playground)

# staging lists the modules that k8s.io/kubernetes of the given version requires at v0.0.0.
staging() {
  local mod
  mod=$(go mod download -json "k8s.io/kubernetes@v$1" | sed -n 's/^\t"GoMod": "\(.*\)",$/\1/p')
  sed -n 's/^[[:space:]]*\(require \)\?\(k8s\.io\/[a-z-]*\) v0\.0\.0\( .*\)\?$/\2/p' "$mod" | sort -u
}

# version prints the version of a module as the go.mod in a folder requires it.
version() { (cd "$1" && go list -m -f '{{.Version}}' "$2"); }

check() {
  local kubernetes minor want bad=0 dir name
  kubernetes=$(version . k8s.io/kubernetes)
  want="v0.${kubernetes#v1.}"
  minor=${kubernetes#v}
  for dir in "${modules[@]}"; do
    if [ "$(version "$dir" k8s.io/kubernetes)" != "$kubernetes" ]; then
      echo "$dir/go.mod: k8s.io/kubernetes is $(version "$dir" k8s.io/kubernetes), want $kubernetes" >&2
      bad=1
    fi
    for name in $(staging "$minor"); do
      if ! grep -q "^[[:space:]]*\(replace \)\?$name => $name $want\$" "$dir/go.mod"; then
        echo "$dir/go.mod: want the line 'replace $name => $name $want'" >&2
        bad=1
      fi
    done
  done
  # Modules that both use must have one version, or each would be compiled twice.
  bad_versions=$(join \
    <(go list -m -f '{{if not .Main}}{{.Path}} {{.Version}}{{end}}' all | sort) \
    <(cd hack/playground && go list -m -f '{{if not .Main}}{{.Path}} {{.Version}}{{end}}' all | sort) |
    awk 'NR==FNR {used[$1]=1; next} $2 != $3 && $1 in used' <(sed -n 's/^[[:space:]]*\([^ ]*\) v[^ ]*\( \/\/ indirect\)\?$/\1/p' go.mod) -)
  if [ -n "$bad_versions" ]; then
    echo "these modules have other versions in hack/playground (module, here, there):" >&2
    echo "$bad_versions" >&2
    bad=1
  fi
  [ "$bad" = 0 ] || { echo "run: hack/update-kubernetes.sh $minor" >&2; return 1; }
}

update() {
  local kubernetes=$1 dir name edits
  local staged="v0.${kubernetes#1.}"
  for dir in "${modules[@]}"; do
    edits=()
    for name in $(staging "$kubernetes"); do
      edits+=(-replace "$name=$name@$staged")
    done
    (cd "$dir" && go mod edit "${edits[@]}" && go get "k8s.io/kubernetes@v$kubernetes" && go mod tidy)
  done
  # The playground needs more modules and hence, sometimes, newer ones; this module follows, so that both share what is compiled.
  mapfile -t newer < <(join \
    <(go list -m -f '{{if not .Main}}{{.Path}} {{.Version}}{{end}}' all | sort) \
    <(cd hack/playground && go list -m -f '{{if not .Main}}{{.Path}} {{.Version}}{{end}}' all | sort) |
    awk '$2 != $3 {print $1 "@" $3}')
  [ "${#newer[@]}" = 0 ] || go get "${newer[@]}"
  go mod tidy
  (cd hack/playground && go mod tidy)
}

case "${1-}" in
  --check) check ;;
  1.*.*) update "$1" ;;
  *)
    echo "usage: hack/update-kubernetes.sh 1.MINOR.PATCH | --check" >&2
    exit 2
    ;;
esac
