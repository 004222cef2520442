#!/usr/bin/env bash
# lint.sh [CHECK...]: format, layers, shell, tidy (all of them without arguments); changes nothing. `lint.sh fmt` formats
# the sources.
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

readonly CHECKS=(format layers shell tidy)
readonly CLANG_FORMAT=clang-format-14

sources() { find include src test -name '*.[hc]pp' -print0; }

check_format() {
  sources | xargs -0 "$CLANG_FORMAT" --dry-run --Werror || die "not formatted: run 'make fmt'"
}

check_fmt() { sources | xargs -0 "$CLANG_FORMAT" -i; }

check_layers() { scripts/check_layers.sh || die "a module includes what it must not: see above"; }

check_shell() {
  have shellcheck || die "no shellcheck: run scripts/setup-packages.sh --lint"
  shellcheck --external-sources scripts/*.sh scripts/cluster/{*.sh,node/*.sh,engine/*} test/{e2e,scripts}/*.sh .ci/run ||
    die "shellcheck reports problems: see above"
}

check_tidy() { scripts/build.sh tidy; }

cd "$ROOT"
checks=("$@")
if ((${#checks[@]} == 0)); then
  scripts/setup-packages.sh --lint
  checks=("${CHECKS[@]}")
elif [[ ${checks[*]} == fmt ]]; then
  scripts/setup-packages.sh --lint
fi
for check in "${checks[@]}"; do
  declare -F "check_$check" >/dev/null || die "unknown check '$check': use ${CHECKS[*]} or fmt"
  "check_$check"
done
