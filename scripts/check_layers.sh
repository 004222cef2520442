#!/usr/bin/env bash
# check_layers.sh [ROOT]: who may include whom. The linker cannot hold these rules: every header is on one include path.
# Prints one line per violation and exits 1 if there is any; silent when the tree keeps the rules.
set -euo pipefail

root=${1:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}
violations=0

# What each module may include of the others: a module, or one header of it. Its own headers are always allowed.
allowed() { # allowed MODULE
  case $1 in
    base) ;;
    log) ;;
    core) echo base ;;
    http | yaml) echo base core ;;
    profile) echo core yaml ;;
    docker) echo core http ;;
    kube) echo base core http yaml ;;
    envoy) echo core ;;
    proxy) echo base core docker envoy http/client.hpp ;;
    agent) echo base core proxy/protocol.hpp ;;
    controller) echo base log core http docker kube envoy proxy ;;
    http_server) echo base core ;;
    apiserver) echo base core yaml http_server ;;
    sandbox) echo log core http docker proxy controller apiserver ;;
    demo) echo core http docker kube yaml sandbox ;;
    forecast) echo core kube yaml envoy proxy/protocol.hpp ;;
    conformance) echo core http kube ;;
    echo) ;;
    app) echo base log core yaml profile http docker kube envoy proxy controller sandbox demo forecast conformance ;;
    *) return 1 ;;
  esac
}

# Headers of the operating system in the otherwise pure core, each with its one user.
core_exception() { # core_exception FILE HEADER
  [[ $1 == src/core/ip.cpp && $2 == arpa/inet.h ]]
}

violation() { # violation FILE LINE TEXT
  echo "$1:$2: $3"
  violations=$((violations + 1))
}

may_include() { # may_include MODULE HEADER-OF-ANOTHER-MODULE
  local granted
  for granted in $(allowed "$1"); do
    [[ $2 == "$granted" || $2 == "$granted"/* ]] && return
  done
  return 1
}

# "kindlb/<module>/x.hpp" is public; "<module>/x.hpp" and "x.hpp" are private to the module.
check_quoted() { # check_quoted FILE LINE MODULE HEADER
  local header=$4
  if [[ $header == kindlb/* ]]; then
    header=${header#kindlb/}
    [[ $header == "$3"/* ]] || may_include "$3" "$header" ||
      violation "$1" "$2" "$3 may not include $4 (see 'allowed' in scripts/check_layers.sh)"
  elif [[ $1 == include/* ]]; then
    violation "$1" "$2" "a public header may not include the private $header"
  elif [[ $header == */* && $header != "$3"/* ]]; then
    violation "$1" "$2" "$header is private to another module"
  fi
}

check_angled() { # check_angled FILE LINE MODULE HEADER
  if [[ $3 == core && ! $4 =~ ^[a-z_]+$ ]] && ! core_exception "$1" "$4"; then
    violation "$1" "$2" "core is pure: <$4> is not of the standard library"
  fi
  # Slow to compile. A private header may be about JSON, since only the sources that need it include it.
  if [[ $1 == *.hpp && $4 == spdlog/* || $1 == include/* && $4 == nlohmann/* && $4 != nlohmann/json_fwd.hpp ]]; then
    violation "$1" "$2" "<$4> is slow to compile: include it where it is used, not in this header"
  fi
}

check_file() { # check_file FILE MODULE
  local line text
  local quoted='^[[:space:]]*#[[:space:]]*include[[:space:]]*"([^"]+)"'
  local angled='^[[:space:]]*#[[:space:]]*include[[:space:]]*<([^>]+)>'
  while IFS=: read -r line text; do
    if [[ $text =~ $quoted ]]; then
      check_quoted "$1" "$line" "$2" "${BASH_REMATCH[1]}"
    elif [[ $text =~ $angled ]]; then
      check_angled "$1" "$line" "$2" "${BASH_REMATCH[1]}"
    fi
  done < <(grep -nE '^[[:space:]]*#[[:space:]]*include' "$1")
}

cd "$root"
files=0
while read -r file; do
  files=$((files + 1))
  module=${file#include/*/kindlb/}
  module=${module#include/kindlb/}
  module=${module#src/}
  module=${module%%/*}
  if allowed "$module" >/dev/null; then
    check_file "$file" "$module"
  else
    violation "$file" 1 "module '$module' has no rule: add it to 'allowed' in scripts/check_layers.sh"
  fi
done < <(find include src -name '*.[hc]pp' | sort)

# A moved tree must not turn the check into one that always passes.
((files > 0)) || violation "$root" 0 "no source file found"
((violations == 0))
