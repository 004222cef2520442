#!/usr/bin/env bash
# check_layers.sh [ROOT]: what the compiler cannot check about includes. (That a source includes only modules which its own
# module links, and no private header of another one, the compiler checks: see kindlb_library in cmake/module.cmake.)
# Prints one line per violation and exits 1 if there is any; silent when the tree keeps the rules.
set -euo pipefail

root=${1:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}
violations=0

violation() { # violation FILE LINE TEXT
  echo "$1:$2: $3"
  violations=$((violations + 1))
}

# Headers of the operating system in the otherwise pure core, each with its one user.
core_exception() { # core_exception FILE HEADER
  [[ $1 == src/core/ip.cpp && $2 == arpa/inet.h ]]
}

check_quoted() { # check_quoted FILE LINE HEADER
  if [[ $3 == *..* ]]; then
    violation "$1" "$2" "$3 leaves its include root: link the module, and include its public header"
  elif [[ $1 == include/* && $3 != kindlb/* ]]; then
    violation "$1" "$2" "a public header may not include the private $3"
  fi
}

check_angled() { # check_angled FILE LINE HEADER
  if [[ $1 =~ ^(src|include)/core/ && ! $3 =~ ^[a-z_]+$ ]] && ! core_exception "$1" "$3"; then
    violation "$1" "$2" "core is pure: <$3> is not of the standard library"
  fi
  # Slow to compile: spdlog and Beast have facades; a private header may be about JSON, since few sources include it.
  if [[ $3 == spdlog/* && $1 != src/log/*.cpp ]]; then
    violation "$1" "$2" "<$3> is slow to compile: log through kindlb/log/log.hpp"
  elif [[ $1 == include/* && $1 != include/json/* && $3 == nlohmann/* && $3 != nlohmann/json_fwd.hpp ]]; then
    violation "$1" "$2" "<$3> is slow to compile: include it where it is used, not in this header"
  elif [[ $3 == boost/* && $1 != src/http_server/*.cpp ]]; then
    violation "$1" "$2" "<$3> is slow to compile: only sources of http_server use Boost"
  fi
}

check_file() { # check_file FILE
  local line text
  local quoted='^[[:space:]]*#[[:space:]]*include[[:space:]]*"([^"]+)"'
  local angled='^[[:space:]]*#[[:space:]]*include[[:space:]]*<([^>]+)>'
  while IFS=: read -r line text; do
    if [[ $text =~ $quoted ]]; then
      check_quoted "$1" "$line" "${BASH_REMATCH[1]}"
    elif [[ $text =~ $angled ]]; then
      check_angled "$1" "$line" "${BASH_REMATCH[1]}"
    fi
  done < <(grep -nE '^[[:space:]]*#[[:space:]]*include' "$1")
}

cd "$root"
files=0
while read -r file; do
  files=$((files + 1))
  check_file "$file"
done < <(find include src -name '*.[hc]pp' | sort)

# A moved tree must not turn the check into one that always passes.
((files > 0)) || violation "$root" 0 "no source file found"
((violations == 0))
