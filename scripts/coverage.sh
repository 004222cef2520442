#!/usr/bin/env bash
# Coverage of src/ and include/ by the unit and wire tests; the pages are in build/coverage/report.
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

cd "$ROOT"
scripts/setup-packages.sh --coverage
scripts/build.sh coverage
# Counters of an earlier run add up otherwise.
find build/coverage -name '*.gcda' -delete
ctest --test-dir build/coverage --label-regex '^(unit|wire)$' --output-on-failure --no-tests=error
mkdir -p build/coverage/report
gcovr --root . --object-directory build/coverage --filter src/ --filter include/ \
  --exclude-throw-branches --print-summary --html-details build/coverage/report/index.html
