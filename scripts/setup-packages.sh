#!/usr/bin/env bash
# setup-packages.sh [--test] [--lint] [--coverage]: the Debian packages to build kindlb with, and on request those of
# its tests, of `make lint` and of `make coverage`. Asks dpkg first and runs apt-get only when something is missing.
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

packages=(
  make cmake g++ ninja-build mold ccache
  libcurl4-openssl-dev libssl-dev
  nlohmann-json3-dev libspdlog-dev libfmt-dev libyaml-cpp-dev libcli11-dev
  doctest-dev jq
  # The Envoy image is made from a Python wheel.
  python3 python3-venv ca-certificates
)
# Headers of Boost 1.74 or later. Debian's versions exclude each other: keep the one that is installed.
[[ -e /usr/include/boost/beast/http/parser.hpp ]] || packages+=(libboost-dev)

for option; do
  case $option in
    --test) packages+=(iproute2 curl openssl shellcheck) ;;
    --lint) packages+=(clang-format-14 clang-tidy-16 shellcheck) ;;
    --coverage) packages+=(gcovr) ;;
    *) die "unknown option $option: use --test, --lint, --coverage" ;;
  esac
done

require_packages "${packages[@]}"
