#!/usr/bin/env bash
# previous-release.sh [--print | --packages]: kindlb, kindlb-agent and kindlb-echo of the release before this one, which the
# test of upgrades starts with; --print says in which directory, for KINDLB_PREVIOUS_RELEASE. Those of
# $KINDLB_PREVIOUS_RELEASE are used when all are there; otherwise they are built from the history of this repository, once, into
# the user's cache directory. --packages only installs what they will be built with, so that the build can run beside others.
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# The commit of that release. The first change after a release names it here.
readonly PREVIOUS_RELEASE=90031edaa74af7f154da974daeddd8b4bc7aa1ac
readonly PROGRAMS=(kindlb kindlb-agent kindlb-echo)
readonly KEPT=$CACHE/previous-release
readonly BUILT=$KEPT/$PREVIOUS_RELEASE

case ${1:-} in
  '' | --print | --packages) ;;
  *) die "'$1' is neither --print nor --packages: the release itself is named in $0" ;;
esac

# All are there, and the libraries that kindlb was linked with still are, too.
has_all() { # has_all DIRECTORY
  local program
  for program in "${PROGRAMS[@]}"; do [[ -f $1/$program && -x $1/$program ]] || return 1; done
  "$1/kindlb" version >/dev/null 2>&1
}

# As root in a clone of somebody else's, git refuses to read it, unless told not to.
repository() { git -c safe.directory="$ROOT" -C "$ROOT" "$@"; }

unpack() { # unpack DIRECTORY [PATH...]
  have git || die "git is missing: install it, or set KINDLB_PREVIOUS_RELEASE to a directory with ${PROGRAMS[*]}"
  repository cat-file -e "$PREVIOUS_RELEASE^{commit}" 2>/dev/null ||
    die "this clone has no commit $PREVIOUS_RELEASE, the previous release: run 'git fetch --unshallow', or in a copy without" \
      "history set KINDLB_PREVIOUS_RELEASE to a directory with ${PROGRAMS[*]}"
  repository archive "$PREVIOUS_RELEASE" "${@:2}" | tar --extract --directory "$1"
}

# By its own scripts: it may need other packages and flags than this one. What is unchanged comes out of ccache.
compile() { # compile DIRECTORY
  "$1/scripts/setup-packages.sh"
  "$1/scripts/build.sh" release "${PROGRAMS[@]}" >"$1/log" 2>&1 || {
    tail -n 15 "$1/log" >&2
    die "the previous release ($PREVIOUS_RELEASE) does not build here: see the lines above"
  }
}

make_work() { # sets work; beside the result, since the last step of a build is a rename
  mkdir -p "$KEPT"
  work=$(mktemp -d "$KEPT/build.XXXXXX")
  trap 'rm -rf "$work"' EXIT
}

install_packages() {
  make_work
  unpack "$work" scripts
  "$work/scripts/setup-packages.sh"
}

# Moved into place only when complete.
build() {
  ! has_all "$BUILT" || return 0 # another run has just made it
  make_work
  unpack "$work"
  timed "building the previous release, ${PREVIOUS_RELEASE:0:12}, for the test of upgrades" compile "$work"
  has_all "$work/bin" || die "the previous release was built, but '$work/bin/kindlb version' fails"
  rm -rf "$BUILT"
  mv "$work/bin" "$BUILT"
}

if [[ -n ${KINDLB_PREVIOUS_RELEASE:-} ]] && has_all "$KINDLB_PREVIOUS_RELEASE"; then
  programs=$KINDLB_PREVIOUS_RELEASE
else
  programs=$BUILT
  if ! has_all "$programs"; then
    if [[ ${1:-} == --packages ]]; then install_packages; else with_lock previous-release build; fi
  fi
fi
[[ ${1:-} != --print ]] || echo "$programs"
