#!/usr/bin/env bash
# What scripts/previous-release.sh does with a small repository of its own, whose scripts are stand-ins: it builds once, says
# where, and gives up in one line when the history does not go back far enough.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME=$work/home BUILDS=$work/builds PACKAGES=$work/packages
unset KINDLB_PREVIOUS_RELEASE XDG_CACHE_HOME
failures=0

# The release: setup-packages.sh and build.sh write down that they ran; what is built works if the file `works` is there.
mkdir -p "$HOME" "$work/clone/scripts"
cd "$work/clone"
cp "$root/scripts/lib.sh" scripts
cat >scripts/setup-packages.sh <<'STAND_IN'
#!/bin/bash
echo packages >>"$PACKAGES"
STAND_IN
cat >scripts/build.sh <<'STAND_IN'
#!/bin/bash
echo "$*" >>"$BUILDS"
echo '[1/1] compiled'
cd "$(dirname "$0")/.."
mkdir bin
for program in "${@:2}"; do printf '#!/bin/bash\n[[ -e %s ]]\n' "$HOME/works" >"bin/$program"; done
chmod +x bin/*
[[ ! -e $HOME/breaks ]]
STAND_IN
chmod +x scripts/*.sh
git init --quiet
git add .
git -c user.name=test -c user.email=test@example.org commit --quiet --message release
commit=$(git rev-parse HEAD)
sed "s/^readonly PREVIOUS_RELEASE=.*/readonly PREVIOUS_RELEASE=$commit/" "$root/scripts/previous-release.sh" \
  >scripts/previous-release.sh
chmod +x scripts/previous-release.sh

fail() { # fail WHAT
  echo "FAILED: $1"
  failures=$((failures + 1))
}

# expect WHAT CODE STDOUT BUILDS [SAID-PATTERN [ARGUMENT...]]: run it, from another directory, which must not matter.
expect() {
  local code=0 out said builds
  out=$(cd / && "$work/clone/scripts/previous-release.sh" "${@:6}" 2>"$work/said") || code=$?
  said=$(cat "$work/said")
  builds=$(wc -l <"$BUILDS")
  # shellcheck disable=SC2053  # a pattern
  if [[ $code != "$2" || $out != "$3" || $builds != "$4" || $said != ${5:-} ]]; then
    fail "$1: exit code $code, printed '$out', $builds builds, said: $said"
  fi
}

kept=$HOME/.cache/kindlb/previous-release
touch "$BUILDS" "$HOME/works" "$HOME/breaks"
expect 'only packages' 0 '' 0 '' --packages
[[ $(cat "$PACKAGES") == packages ]] || fail "no packages"
expect 'a build that fails' 2 '' 1 '*compiled*error: the previous release*does not build*'
rm "$HOME/breaks"
expect 'the first time' 0 '' 2 'previous-release: building *done in*'
[[ $(tail -n 1 "$BUILDS") == 'release kindlb kindlb-agent kindlb-echo' ]] ||
  fail "built $(tail -n 1 "$BUILDS")"
expect 'the second time' 0 '' 2 ''
expect 'where' 0 "$kept/$commit" 2 '' --print
expect 'packages for what is there' 0 '' 2 '' --packages
[[ $(wc -l <"$PACKAGES") == 3 ]] || fail "packages for nothing"
[[ $(ls "$kept") == "$commit" ]] || fail "left behind: $(ls "$kept")"
KINDLB_PREVIOUS_RELEASE=$kept/$commit expect 'given' 0 "$kept/$commit" 2 '' --print
expect 'another word' 2 '' 2 '*error: *--print*' latest

sed -i "s/$commit/${commit//[0-9]/0}/" scripts/previous-release.sh
expect 'no such commit' 2 '' 2 '*error: this clone has no commit*git fetch --unshallow*' --print
[[ $(wc -l <"$work/said") == 1 ]] || fail "more than a line"

((failures == 0))
