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
  mkdir -p "$tree/include/kindlb/core" "$tree/src" "$(dirname "$tree/$1")"
  printf '#pragma once\n' >"$tree/include/kindlb/core/ip.hpp"
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
refuses src/core/a.cpp '<fmt/format.h>' 'core is pure'
refuses src/core/a.cpp '"kindlb/http/client.hpp"' 'core may not include'
refuses include/kindlb/core/a.hpp '"kindlb/kube/api.hpp"' 'core may not include'
refuses src/http/a.cpp '"kindlb/docker/engine.hpp"' 'http may not include'
accepts src/docker/a.cpp '"kindlb/http/client.hpp"'
refuses src/docker/a.cpp '"kindlb/kube/api.hpp"' 'docker may not include'
refuses src/kube/a.cpp '"kindlb/docker/engine.hpp"' 'kube may not include'
refuses src/envoy/a.cpp '"kindlb/http/client.hpp"' 'envoy may not include'
accepts src/proxy/a.cpp '"kindlb/http/client.hpp"'
refuses src/proxy/a.cpp '"kindlb/http/curl_client.hpp"' 'proxy may not include'
refuses src/proxy/a.cpp '"kindlb/controller/queue.hpp"' 'proxy may not include'
accepts src/agent/a.cpp '"kindlb/proxy/protocol.hpp"'
refuses src/agent/a.cpp '"kindlb/proxy/pool.hpp"' 'agent may not include'
refuses src/agent/a.cpp '"kindlb/docker/engine.hpp"' 'agent may not include'
accepts src/controller/a.cpp '"kindlb/proxy/pool.hpp"'
refuses src/controller/a.cpp '"kindlb/app/options.hpp"' 'controller may not include'
accepts src/app/a.cpp '"kindlb/controller/queue.hpp"'

accepts src/docker/a.cpp '"docker/codec.hpp"'
refuses src/proxy/a.cpp '"docker/codec.hpp"' 'private to another module'
refuses include/kindlb/docker/a.hpp '"docker/codec.hpp"' 'may not include the private'

accepts src/kube/a.cpp '<nlohmann/json.hpp>'
accepts src/kube/a.hpp '<nlohmann/json.hpp>'
accepts include/kindlb/kube/a.hpp '<nlohmann/json_fwd.hpp>'
refuses include/kindlb/kube/a.hpp '<nlohmann/json.hpp>' 'slow to compile'
refuses include/kindlb/kube/a.hpp '<spdlog/spdlog.h>' 'slow to compile'
refuses src/kube/a.hpp '  <spdlog/spdlog.h>' 'slow to compile'
accepts src/kube/a.cpp '<spdlog/spdlog.h>'

plant src/gossip/a.cpp '<string>'
if output=$("$check" "$tree"); then fail "accepted an unknown module"; fi
[[ $output == *"'gossip' has no rule"* ]] || fail "wrong message for an unknown module: $output"

rm -rf "${tree:?}"/*
mkdir -p "$tree/include/kindlb" "$tree/src"
if output=$("$check" "$tree"); then fail "accepted an empty tree"; fi

((failures == 0))
