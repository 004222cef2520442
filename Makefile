# The façade: each target is a line or two that calls a script, so that a laptop and CI run the same.
# Variables: ARGS (flags for `make run`, `make demo` and `make cleanup`), JOBS (compilers at a time), KINDLB_ENVOY_IMAGE,
# KUBEBUILDER_ASSETS, DOCKER_HOST; of the cluster targets NAME (kind), FAMILY (ipv4, dual, ipv6), WORKERS (2), PROXY
# (iptables, nftables), and of e2e PARTS, FOCUS and PROCS.

SHELL := /bin/bash
.DEFAULT_GOAL := check
.DELETE_ON_ERROR:
# Some machines have their name or their way to the web there: these count on make's command line only.
ifeq ($(origin NAME),environment)
NAME :=
endif
ifeq ($(origin PROXY),environment)
PROXY :=
endif
export JOBS NAME FAMILY WORKERS PROXY FOCUS PROCS ARGS

PROGRAMS := kindlb kindlb-agent kindlb-echo

.PHONY: check help setup build run demo version cleanup test test-unit build-sanitized test-asan test-tsan bench lint \
  fmt coverage clean cluster cluster-delete e2e e2e-dual e2e-nftables

##@ Use it

run: build ## Set everything up, build, and serve the kind clusters of this machine, or a sandbox if there is none
	@scripts/setup-docker.sh && scripts/setup-envoy.sh
	@scripts/run.sh $(ARGS)

demo: build ## Set everything up, build, and show every example in a sandbox (ARGS="--script conditions": as a story)
	@scripts/setup-docker.sh && scripts/setup-envoy.sh
	@bin/kindlb demo $(ARGS)

build: ## Build the release: kindlb, kindlb-agent and kindlb-echo in bin/
	@scripts/setup-packages.sh && scripts/build.sh release $(PROGRAMS)

version: build ## Say which version was built
	@bin/kindlb version

cleanup: build ## Remove what kindlb made: proxies, volumes, images, marks on Services (asks first; ARGS=--yes does not)
	@bin/kindlb cleanup $(ARGS)

##@ Work on it

check: test-unit ## Build and run the unit tests: what `make` alone does

setup: ## Install and start what the tests need: packages, Docker, the Envoy image, kube-apiserver
	@scripts/test.sh setup

test: ## Everything: set-up, all kinds of tests, sanitizers, script checks, and a summary
	@scripts/test.sh

test-unit: ## The unit tests only (no Docker needed)
	@scripts/test.sh build unit

build-sanitized: ## Build what test-asan and test-tsan run
	@scripts/setup-packages.sh && for preset in asan tsan; do scripts/build.sh $$preset tests_unit tests_wire || exit; done

test-asan: ## Unit and wire tests under the address and undefined-behaviour sanitizers
	@scripts/test.sh asan

test-tsan: ## Unit and wire tests under the thread sanitizer
	@scripts/test.sh tsan

cluster: ## Make a real kind cluster (NAME=kind FAMILY=ipv4 WORKERS=2 PROXY=iptables), or use the one that is there
	@scripts/cluster/create.sh "$(NAME)" "$(FAMILY)" "$(WORKERS)" "$(PROXY)"

cluster-delete: ## Remove it (NAME=kind)
	@scripts/cluster/delete.sh "$(NAME)"

e2e: build ## Kubernetes' own LoadBalancer tests, and ours, against kindlb on such a cluster; prints a table
	@scripts/e2e.sh $(PARTS)

e2e-dual: ## The same on a dual-stack cluster
	@$(MAKE) e2e NAME=dual FAMILY=dual PARTS="$(or $(PARTS),official conformance services)"

e2e-nftables: ## The same where kube-proxy uses nftables
	@$(MAKE) e2e NAME=nftables PROXY=nftables PARTS="$(or $(PARTS),official conformance services)"

bench: ## Run the benchmarks
	@scripts/bench.sh $(ARGS)

lint: ## Check format, layers, scripts and clang-tidy; changes nothing
	@scripts/lint.sh

fmt: ## Format every source file
	@scripts/lint.sh fmt

coverage: ## Line and branch coverage of the unit and wire tests
	@scripts/coverage.sh

clean: ## Remove what was built here (caches under the user's cache directory stay)
	@rm -rf build bin

help: ## List and explain the targets
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
