#!/usr/bin/env bash
# Shows that scripts/check_layers.sh catches each kind of violation, and nothing else, on small trees made here.
set -euo pipefail

check=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/scripts/check_layers.sh
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failures=0

fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

# plant FILE INCLUDE: a tree with that one include in that one file.
plant() {
  rm -rf "${tree:?}"/*
  mkdir -p "$tree/include/core/kindlb/core" "$tree/src" "$(dirname "$tree/$1")"
  printf '#pragma once\n' >"$tree/include/core/kindlb/core/ip.hpp"
  printf '// first line\n#include %s\n' "$2" >"$tree/$1"
}

accepts() { # accepts FILE INCLUDE
  plant "$@"
  local output
  output=$("$check" "$tree") || fail "refused $2 in $1: $output"
}

refuses() { # refuses FILE INCLUDE WORDS-OF-THE-MESSAGE
  plant "$1" "$2"
  local output
  if output=$("$check" "$tree"); then fail "accepted $2 in $1"; fi
  [[ $output == "$1:2: "*"$3"* ]] || fail "wrong message for $2 in $1: $output"
}

accepts src/core/a.cpp '<string>'
accepts src/core/a.cpp '"kindlb/core/ip.hpp"'
accepts src/core/ip.cpp '<arpa/inet.h>'
refuses src/core/a.cpp '<arpa/inet.h>' 'core is pure'
refuses src/core/a.cpp '<nlohmann/json.hpp>' 'core is pure'
refuses include/core/kindlb/core/a.hpp '<fmt/format.h>' 'core is pure'

accepts src/docker/a.cpp '"codec.hpp"'
accepts include/docker/kindlb/docker/a.hpp '"kindlb/http/client.hpp"'
refuses include/docker/kindlb/docker/a.hpp '"codec.hpp"' 'may not include the private'
refuses src/proxy/a.cpp '"../docker/codec.hpp"' 'leaves its include root'

accepts src/kube/a.cpp '<nlohmann/json.hpp>'
accepts src/kube/a.hpp '<nlohmann/json.hpp>'
accepts include/kube/kindlb/kube/a.hpp '<nlohmann/json_fwd.hpp>'
refuses include/kube/kindlb/kube/a.hpp '<nlohmann/json.hpp>' 'slow to compile'
refuses src/http_server/a.hpp '<boost/beast/http/parser.hpp>' 'slow to compile'
refuses src/apiserver/a.cpp '<boost/beast/http/parser.hpp>' 'slow to compile'
accepts src/http_server/a.cpp '<boost/beast/http/parser.hpp>'
refuses src/kube/a.cpp '  <spdlog/spdlog.h>' 'log through'
accepts src/log/log.cpp '<spdlog/spdlog.h>'

rm -rf "${tree:?}"/*
mkdir -p "$tree/include" "$tree/src"
if output=$("$check" "$tree"); then fail "accepted an empty tree"; fi

((failures == 0))
