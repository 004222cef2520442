# Each target is a line or two that calls a script, so that a laptop and CI run the same.
# Variables: ARGS (flags for `make run`, `make demo`, `make cleanup` and `make faults`), JOBS (compilers at a time), KINDLB_ENVOY_IMAGE,
# KINDLB_PREVIOUS_RELEASE, KUBEBUILDER_ASSETS, DOCKER_HOST; of the cluster targets NAME (kind), FAMILY (ipv4, dual, ipv6),
# WORKERS (2), PROXY (iptables, nftables), of e2e FOCUS and PROCS, and of e2e and test PARTS.

SHELL := /bin/bash
.DEFAULT_GOAL := check
.DELETE_ON_ERROR:
# Some environments have the machine's name or a web proxy in these: they count only on make's command line.
ifeq ($(origin NAME),environment)
NAME :=
endif
ifeq ($(origin PROXY),environment)
PROXY :=
endif
export JOBS NAME FAMILY WORKERS PROXY FOCUS PROCS ARGS

PROGRAMS := kindlb kindlb-agent kindlb-echo

.PHONY: check help setup build run demo version cleanup test test-unit test-asan test-tsan full faults bench lint fmt \
  coverage clean cluster cluster-delete e2e e2e-dual e2e-nftables

##@ Use it

run: build ## Set everything up, build, and serve the kind clusters of this machine, or start a sandbox if there are none
	@scripts/setup-docker.sh && scripts/setup-envoy.sh
	@scripts/run.sh $(ARGS)

demo: build ## Set everything up, build, and show every example in a sandbox (ARGS="--script conditions": a guided tour)
	@scripts/setup-docker.sh && scripts/setup-envoy.sh
	@bin/kindlb demo $(ARGS)

build: ## Build the release: kindlb, kindlb-agent and kindlb-echo in bin/
	@scripts/setup-packages.sh && scripts/build.sh release $(PROGRAMS)

version: build ## Print the version
	@bin/kindlb version

cleanup: build ## Remove what kindlb created: proxies, volumes, images, traces on Services (asks first, unless ARGS=--yes)
	@bin/kindlb cleanup $(ARGS)

##@ Work on it

check: test-unit ## Build and run the unit tests: what `make` alone does

setup: ## Install, build and start what the tests need: packages, Docker, Envoy, Kubernetes, etcd, the previous release
	@scripts/test.sh setup previous older-kube

test: ## Run all tests that need no cluster, also under the sanitizers, and print a summary (PARTS="build unit": some)
	@scripts/test.sh $(PARTS)

test-unit: ## Build and run the unit tests (no Docker needed)
	@scripts/test.sh check

test-asan: ## Run the unit and wire tests under the address and undefined-behaviour sanitizers
	@scripts/test.sh asan

test-tsan: ## Run the unit and wire tests under the thread sanitizer
	@scripts/test.sh tsan

full: ## Run everything, including what takes too long for CI (says first what, and how long it takes)
	@scripts/full.sh

cluster: ## Create a kind cluster (NAME=kind FAMILY=ipv4 WORKERS=2 PROXY=iptables), or use the existing one
	@scripts/cluster/create.sh "$(NAME)" "$(FAMILY)" "$(WORKERS)" "$(PROXY)"

cluster-delete: ## Delete a kind cluster (NAME=kind)
	@scripts/cluster/delete.sh "$(NAME)"

e2e: build ## Run the LoadBalancer tests of Kubernetes, and ours, against kindlb on such a cluster, and print a table
	@scripts/e2e.sh $(PARTS)

e2e-dual: ## Run them on a dual-stack cluster
	@$(MAKE) e2e NAME=dual FAMILY=dual PARTS="$(or $(PARTS),official conformance services)"

e2e-nftables: ## Run them on a cluster where kube-proxy uses nftables
	@$(MAKE) e2e NAME=nftables PROXY=nftables PARTS="$(or $(PARTS),official conformance services)"

faults: build ## Cause every fault on a kind cluster under traffic and judge what clients and the status show (ARGS=--help)
	@scripts/faults.sh $(ARGS)

bench: ## Run the benchmarks
	@scripts/bench.sh $(ARGS)

lint: ## Check format, layers and scripts, and run clang-tidy; changes nothing
	@scripts/lint.sh

fmt: ## Format every source file
	@scripts/lint.sh fmt

coverage: ## Measure line and branch coverage of the unit and wire tests
	@scripts/coverage.sh

clean: ## Remove what was built here, but not the caches in the user's cache directory
	@rm -rf build bin

help: ## List the targets
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
