SHELL := /bin/bash
CONFIGURATION ?= release
PACKAGES := libcurl4-openssl-dev libsqlite3-dev
SOURCES := Package.swift Sources Tests Benchmarks

.PHONY: help prepare build serve test soak bench format lint clean

help:
	@echo "make serve   install what is missing, build, and serve the shop"
	@echo "make test    run every test"
	@echo "make soak    run the random tests at length"
	@echo "make bench   measure, in a release build"
	@echo "make format  format the sources; make lint checks them"

# Installs the Debian packages that are missing; elsewhere it says which libraries are needed.
prepare:
	@./.ci/packages $(PACKAGES)

build: prepare
	swift build -c $(CONFIGURATION) --product functions-host
	swift build -c $(CONFIGURATION) --product ShopFunctions

serve: build
	exec $$(swift build -c $(CONFIGURATION) --show-bin-path)/functions-host serve $(ARGUMENTS)

test: prepare
	swift build --build-tests
	swift test --skip-build --parallel

# The random tests at length: SECONDS_OF_SOAK in all, and SOAK_ROUNDS kills of the store.
soak: prepare
	swift build --build-tests
	SECONDS_OF_SOAK=$(or $(SECONDS_OF_SOAK),600) SOAK_ROUNDS=$(or $(SOAK_ROUNDS),200) ./.ci/soak

bench: build
	swift build -c release --product FixtureFunctions
	swift build -c release --product functions-bench
	$$(swift build -c release --show-bin-path)/functions-bench $(ARGUMENTS)

format:
	swift format --in-place --recursive --parallel $(SOURCES)

lint:
	swift format lint --strict --recursive --parallel $(SOURCES)

clean:
	rm -rf .build .functions
