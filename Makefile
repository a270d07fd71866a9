SHELL := /bin/bash
CONFIGURATION ?= release
# Release builds have Swift's libraries in them. As the host does, which builds bundles: otherwise each would build all again.
BUILD = swift build -c $(CONFIGURATION) $(if $(filter release,$(CONFIGURATION)),$(shell ./.ci/static))
PACKAGES := libcurl4-openssl-dev libsqlite3-dev libcrypt-dev libargon2-dev librocksdb-dev
SOURCES := Package.swift Sources Samples Tests Benchmarks

# All at once, each test would wait minutes for its turn on a processor.
TESTS_AT_ONCE := 48
.PHONY: help prepare build serve test soak bench docs format lint protos clean

help:
	@echo "make serve   install missing packages, build, and serve the samples"
	@echo "make test    run all tests"
	@echo "make soak    run the randomized tests for longer"
	@echo "make bench   run the benchmarks on a release build"
	@echo "make docs    make the API reference in .build/docs"
	@echo "make format  format the sources"
	@echo "make lint    check formatting and wording"
	@echo "make protos  generate the protobuf messages from their .proto file"

# Installs missing Debian packages. On other systems it prints which libraries are needed.
prepare:
	@./.ci/packages $(PACKAGES)

build: prepare
	$(BUILD) --product functions-host
	$(BUILD) --product ShopFunctions
	$(BUILD) --product ChatFunctions

serve: build
	exec $$(swift build -c $(CONFIGURATION) --show-bin-path)/functions-host serve $(ARGUMENTS)

test: prepare
	swift build --build-tests
	SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=$(TESTS_AT_ONCE) swift test --skip-build --parallel

# Runs the randomized tests for SECONDS_OF_SOAK in total, and kills the store SOAK_ROUNDS times.
soak: prepare
	swift build --build-tests
	SECONDS_OF_SOAK=$(or $(SECONDS_OF_SOAK),600) SOAK_ROUNDS=$(or $(SOAK_ROUNDS),200) ./.ci/soak

bench: build
	$(BUILD) --product FixtureFunctions
	$(BUILD) --product functions-bench
	$(BUILD) --package-path Benchmarks/grpc-echo
	$$(swift build -c $(CONFIGURATION) --show-bin-path)/functions-bench $(ARGUMENTS)

protos:
	./.ci/protos

docs: prepare
	swift build
	./.ci/docs

format:
	swift format --in-place --recursive --parallel $(SOURCES)

lint:
	./.ci/words
	swift format lint --strict --recursive --parallel $(SOURCES)

clean:
	rm -rf .build .functions
