#!/usr/bin/env bash
# reference_test.sh KINDLB [PAGE]: compare docs/reference.md with `kindlb ... --help` and with the sources. Prints a line
# for each flag, default, choice, command, annotation, label and environment variable that only one side has.
set -euo pipefail

kindlb=${1:?usage: reference_test.sh KINDLB [PAGE]}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
page=${2:-$root/docs/reference.md}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset KINDLB_ENVOY_IMAGE # its value would be shown as the default of --envoy-image

# Both sides become lines of COMMAND, FLAG, VALUE and DEFAULT, separated by tabs. VALUE is "-" for a flag without one, the
# choices ("a|b"), or "VALUE". An option with a short name is two lines.

# The commands that a help text lists, one per line.
subcommands() { awk '/^Subcommands:/ { inside = 1; next } !NF { inside = 0 } inside { print $1 }'; }

# Read the help text of COMMAND. A description that does not fit beside its flag begins on the next line.
parse_help() { # parse_help COMMAND
  awk -v command="$1" '
    function flush(  names, count, value, text, i) {
      if (entry == "") return
      count = split(substr(entry, 1, match(entry, / |$/) - 1), names, ",")
      text = substr(entry, RSTART)
      value = match(text, /^ ([A-Z]+(=[^ ]*)?|[^ ]+\|[^ ]+)( |$)/) ? substr(text, 2, RLENGTH - 1) : "-"
      gsub(/ /, "", value)
      standard = ""
      if (match(text, /\[[^][]*\]$/)) standard = substr(text, RSTART + 1, RLENGTH - 2)
      if (match(value, /=/)) { standard = substr(value, RSTART + 1); value = substr(value, 1, RSTART - 1) }
      if (value ~ /^[A-Z]+$/) value = "VALUE"
      for (i = 1; i <= count; i++)
        if (names[i] != "-h" && names[i] != "--help") print command "\t" names[i] "\t" value "\t" standard
      entry = ""
    }
    /^  -/ { flush(); entry = substr($0, 3); next }
    entry != "" && substr($0, 1, 30) ~ /^ +$/ { entry = entry " " substr($0, 31); next }
    { flush() }
    END { flush() }'
}

# All commands of the program with their flags; a command without flags is a line, too.
program_flags() {
  local command name
  local -a commands=()
  for command in $("$kindlb" --help | subcommands); do
    commands+=("kindlb $command")
    for name in $("$kindlb" "$command" --help | subcommands); do commands+=("kindlb $command $name"); done
  done
  for command in "${commands[@]}"; do
    printf '%s\t\t\t\n' "$command"
    # shellcheck disable=SC2086  # the words of a command
    "$kindlb" ${command#kindlb } --help | parse_help "$command"
  done
}

# The same from the page: a heading "kindlb COMMAND", or "kindlb sandbox scale, kill" for several, has a table of flags and
# links to the tables of shared flags. A row of its own takes precedence over a shared one.
page_flags() {
  awk '
    function slug(text) { text = tolower(text); gsub(/[^a-z0-9 -]/, "", text); gsub(/ /, "-", text); return text }
    function row(owner, flags, standard,  parts, count, value, i) {
      gsub(/`/, "", flags)
      gsub(/\\\|/, "|", flags)
      gsub(/^ +| +$/, "", standard)
      count = split(flags, parts, /, *| /)
      value = "-"
      for (i = 1; i <= count; i++)
        if (parts[i] ~ /^[^-]/) value = parts[i] ~ /\|/ ? parts[i] : "VALUE"
      for (i = 1; i <= count; i++)
        if (parts[i] ~ /^-/) rows[owner] = rows[owner] parts[i] "\t" value "\t" standard "\n"
    }
    function emit(command, text, seen,  lines, count, fields, i) {
      count = split(text, lines, "\n")
      for (i = 1; i < count; i++) {
        split(lines[i], fields, "\t")
        if (!((command, fields[1]) in seen)) print command "\t" lines[i]
        seen[command, fields[1]] = 1
      }
    }
    /^##+ / {
      title = $0
      sub(/^#+ /, "", title)
      section = title ~ /^kindlb / ? title : slug(title)
      if (title ~ /^kindlb /) titles[++known] = title
    }
    {
      text = $0
      while (match(text, /\(#[a-z-]+-flags\)/)) {
        links[section] = links[section] substr(text, RSTART + 2, RLENGTH - 3) " "
        text = substr(text, RSTART + RLENGTH)
      }
    }
    /^\| `-/ {
      line = $0
      gsub(/\\\|/, "\\!", line)
      split(line, cells, "|")
      gsub(/\\!/, "\\|", cells[2])
      row(section, substr(cells[2], 2, length(cells[2]) - 2), cells[3])
    }
    END {
      for (i = 1; i <= known; i++) {
        verbs = split(titles[i], names, ", ")
        first = names[1]
        stem = first
        sub(/[^ ]+$/, "", stem)
        used[titles[i]]
        shared = split(links[titles[i]], groups, " ")
        for (v = 1; v <= verbs; v++) {
          command = v == 1 ? first : stem names[v]
          print command "\t\t\t"
          split("", seen)
          emit(command, rows[titles[i]], seen)
          for (g = 1; g <= shared; g++) { emit(command, rows[groups[g]], seen); used[groups[g]] }
        }
      }
      for (owner in rows) if (!(owner in used)) print owner "\t\t\t" # not a command: complained about later
    }' "$page"
}

# What differs. A default that is one word must be the same on the page; of a longer one the page says something, and what
# it quotes with backquotes occurs in it.
compare_flags() { # compare_flags PROGRAM PAGE
  awk -F '\t' -v page="$(basename "$page")" '
    function complain(what) { print what; failed = 1 }
    function check_default(what, help, told,  plain, text) {
      plain = told
      gsub(/`/, "", plain)
      if (help != "" && help !~ / / && plain != help)
        complain(what ": the default is " help " in --help, and \"" plain "\" in " page)
      else if (help != "" && plain == "") complain(what ": " page " does not say the default: " help)
      else
        for (text = told; match(text, /`[^`]*`/); text = substr(text, RSTART + RLENGTH))
          if (!index(help, substr(text, RSTART + 1, RLENGTH - 2)))
            complain(what ": the default " substr(text, RSTART, RLENGTH) " in " page " is not in --help")
    }
    NR == FNR { value[$1, $2] = $3; standard[$1, $2] = $4; commands[$1]; next }
    $2 == "" { known[$1] }
    !($1 in commands) { if ($2 == "") complain($1 ": in " page ", but not a command"); next }
    {
      seen[$1, $2]
      what = $1 " " $2
      if (!(($1, $2) in value)) complain(what ": in " page ", but not in --help")
      else if ($2 != "") {
        if (value[$1, $2] != $3) complain(what ": takes " value[$1, $2] " in --help, and " $3 " in " page)
        check_default(what, standard[$1, $2], $4)
      }
    }
    END {
      for (key in value) {
        split(key, parts, SUBSEP)
        if (parts[2] == "" && !(parts[1] in known)) complain(parts[1] ": a command without a section in " page)
        if (parts[2] != "" && parts[1] in known && !(key in seen))
          complain(parts[1] " " parts[2] ": in --help, but not in " page)
      }
      exit failed
    }' "$1" "$2"
}

# The sources without their comments.
code() { # code [CONDITION-OF-FIND...]
  find src include \( -name '*.[ch]pp' -o -name '*.yaml' \) "$@" -exec sed -E 's,(^|[[:space:]])(//|#).*,,' {} +
}

# The first cells of the page's tables.
# shellcheck disable=SC2016  # backquotes of Markdown
first_cells() { sed -nE 's/^\| `([^`]+)` \|.*/\1/p' "$page"; }

compare_names() { # compare_names WHAT CODE PAGE
  local name failed=0
  while read -r name; do echo "$1 $name: in the sources, but not in $(basename "$page")" && failed=1; done \
    < <(comm -23 "$2" "$3")
  while read -r name; do echo "$1 $name: in $(basename "$page"), but not in the sources" && failed=1; done \
    < <(comm -13 "$2" "$3")
  return "$failed"
}

readonly NAME='(kindlb\.dev|service\.beta\.kubernetes\.io)/[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?'
export LC_ALL=C
cd "$root"
failed=0
program_flags >"$work/program.tsv"
page_flags >"$work/page.tsv"
compare_flags "$work/program.tsv" "$work/page.tsv" >"$work/flags" || failed=1
sort "$work/flags"

code | grep -oE "$NAME" | sort -u >"$work/names-code"
first_cells | grep -xE "$NAME" | sort -u >"$work/names-page"
compare_names name "$work/names-code" "$work/names-page" || failed=1

# The agent and echo run in containers that kindlb makes: their environment is not for users.
code ! -path '*/agent/*' ! -path '*/echo/*' | grep -oE 'env[a-z_]*\("[A-Z_]+"' | grep -oE '[A-Z_]+' |
  sort -u >"$work/variables-code"
first_cells | grep -xE '[A-Z_]+' | sort -u >"$work/variables-page"
compare_names variable "$work/variables-code" "$work/variables-page" || failed=1
exit "$failed"
