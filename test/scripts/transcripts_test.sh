#!/usr/bin/env bash
# transcripts_test.sh KINDLB [PAGE...]: run the commands that the documents show with their output, and compare. Only those
# that need neither Docker nor a cluster are run: kindlb plan, kindlb --profile list, kindlb conformance --list. In a
# transcript, "..." at the end of a line stands for the rest of it, and a line "..." for all further lines.
set -euo pipefail

kindlb=$(realpath "${1:?usage: transcripts_test.sh KINDLB [PAGE...]}")
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ln -s "$kindlb" "$work/kindlb"
export PATH=$work:$PATH
if (($# > 1)); then pages=("${@:2}"); else pages=("$root"/*.md "$root"/{docs,examples}/*.md); fi
checked=0
failed=0

# The lines of a transcript: of the indented block, from the command to the next command or to the end of the block.
transcripts() { # transcripts PAGE; prints the command and the lines after it, each transcript ended by a NUL
  awk '
    function flush() { if (text != "") { sub(/\n+$/, "", text); printf "%s%c", text, 0 } text = "" }
    /^    \$ / { flush(); text = substr($0, 7) "\n"; next }
    /^    / && text != "" { text = text substr($0, 5) "\n"; next }
    /^$/ && text != "" { text = text "\n"; next }
    { flush() }
    END { flush() }' "$1"
}

matches() { # matches SHOWN ACTUAL: two files
  local shown actual
  exec 3<"$1" 4<"$2"
  while IFS= read -r shown <&3; do
    [[ $shown != ... ]] || return 0
    IFS= read -r actual <&4 || return 1
    if [[ $shown == *... ]]; then
      [[ $actual == "${shown%...}"* ]] || return 1
    else
      [[ $actual == "$shown" ]] || return 1
    fi
  done
  ! IFS= read -r actual <&4
}

cd "$root"
for page in "${pages[@]}"; do
  while IFS= read -r -d '' text; do
    command=${text%%$'\n'*}
    case $command in
      'kindlb plan '* | 'kindlb --profile list' | 'kindlb conformance --list'*) ;;
      *) continue ;;
    esac
    printf '%s\n' "${text#*$'\n'}" >"$work/shown"
    bash -c "$command" >"$work/actual" 2>&1 </dev/null || true
    checked=$((checked + 1))
    matches "$work/shown" "$work/actual" && continue
    failed=1
    echo "$page: '$command' prints something else:"
    diff --unified "$work/shown" "$work/actual" | sed 1,2d || true
  done < <(transcripts "$page")
done
((checked)) || { echo "no transcript found in ${pages[*]}" && exit 1; }
exit "$failed"
