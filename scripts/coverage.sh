#!/usr/bin/env bash
# Coverage of src/ and include/ by the unit and wire tests: a table by module; the pages are in build/coverage/report.
# What only runs against Docker or a cluster (integration, e2e) counts as not covered.
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

readonly REPORT=build/coverage/report

run_tests() {
  # Counters of an earlier run add up otherwise.
  find build/coverage -name '*.gcda' -delete
  ctest --test-dir build/coverage --label-regex '^(unit|wire)$' --output-on-failure --no-tests=error
}

summarise() {
  mkdir -p "$REPORT"
  gcovr -j "$(nproc)" --root . --object-directory build/coverage --filter src/ --filter include/ \
    --exclude-throw-branches --json-summary "$REPORT/summary.json" --html-details "$REPORT/index.html"
}

print_table() {
  # A module is src/MODULE with include/MODULE.
  jq -r '
    def sum(field): map(field) | add;
    [.files[] | . + {module: (.filename | split("/")[1])}]
    | (group_by(.module)[] | {name: .[0].module, files: .}), {name: "all", files: .}
    | .name as $name | .files
    | [$name, length, sum(.line_covered), sum(.line_total), sum(.branch_covered), sum(.branch_total)]
    | @tsv' "$REPORT/summary.json" |
    awk -F'\t' '
      function share(covered, total) { return total ? sprintf("%5.1f %%", 100 * covered / total) : "      -" }
      BEGIN { printf "%-12s %6s %8s %8s %9s %9s\n", "module", "files", "lines", "covered", "branches", "covered" }
      { printf "%-12s %6d %8d %8s %9d %9s\n", $1, $2, $4, share($3, $4), $6, share($5, $6) }'
}

cd "$ROOT"
scripts/setup-packages.sh --coverage
scripts/build.sh coverage tests_unit tests_wire
run_tests
timed "summarising the coverage" summarise
print_table
