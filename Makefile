# What can be done with this package. Every target first installs what is missing (scripts/bootstrap).
# Settings are variables: make fuzz EXECUTIONS=10000, make soak STRATUS_HISTORIES=500, make demo TREE=/usr/include.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:

# The import check fails a build in which a target imports a module it does not declare.
IMPORT_CHECK := --explicit-target-dependency-import-check error
# An index for editors and debug information take a quarter of the compiler's time, and tests need neither (see
# Tests/XCTMain.swift): they name their lines themselves. To see the lines of a crash: make test DEBUG_INFO=dwarf
DEBUG_INFO ?= none
DEBUG_BUILD := $(IMPORT_CHECK) --disable-index-store -debug-info-format $(DEBUG_INFO)
# Scripts build with the same options: with others, everything would be compiled again.
export DEBUG_BUILD
# What the random histories run through is built optimised, assertions kept: they take a fraction of the time.
OPTIMISED := STRATUS_OPTIMISED_TESTS=1
RUN := swift test --enable-swift-testing --disable-xctest
# All tests at once are 1,800 threads and as many open files, which wait for each other until requests time out.
TEST := $(OPTIMISED) $(RUN) $(DEBUG_BUILD) --experimental-maximum-parallelization-width 32
# Of a crash, the thread that crashed: unwinding every other one may take longer than the tests.
export SWIFT_BACKTRACE := threads=crashed,images=none,registers=none
# Under a sanitizer even so many wait for longer than any deadline.
FEW_AT_ONCE := --experimental-maximum-parallelization-width 4

EXECUTIONS ?= 1000000
FUZZ_TARGETS ?= tuple key record account schema schema-entry share subscription archive
# Which build the fuzzer is: release, or the one of the tests.
FUZZ_BUILD ?= release
STRATUS_HISTORIES ?= 20000
STRATUS_HISTORY_STEPS ?= 200
# Narrows test, sanitize and soak: make test FILTER=Tuple
FILTER ?=
FILTER_OPTION = $(if $(FILTER),--filter '$(FILTER)')
# Whether check runs the tidy tests, which are a part of test.
TIDY ?= yes
# Narrows mutants to these faults.
NUMBERS ?=
SOURCES := Sources Tests Examples/Swift6 Examples/Guide $(wildcard Benchmarks) Package.swift

.PHONY: help
help: ## Shows this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1	\2/p' Makefile | expand -t 20

.PHONY: bootstrap
bootstrap: ## Installs the Debian packages a build needs
	@scripts/bootstrap

.PHONY: build
build: bootstrap ## Builds the command-line tool, optimised
	swift build -c release --product stratus

.PHONY: manual
manual: build ## Writes the tool's manual page, and its completions for bash, zsh and fish, into .build/manual
	scripts/manual

.PHONY: demo
demo: build ## Imports a real file tree (TREE=/usr/share) and shows what the engine does with it
	scripts/demo

.PHONY: test
test: bootstrap ## Runs all tests except the long ones (FILTER=… narrows them), with a PostgreSQL server of their own
	scripts/postgres run -- env $(TEST) $(FILTER_OPTION)

# How many histories of each kind run on PostgreSQL: make postgres STRATUS_HISTORIES=200
POSTGRES_HISTORIES = $(if $(filter command environment,$(firstword $(origin STRATUS_HISTORIES))),$(STRATUS_HISTORIES),20)
# What is about PostgreSQL itself: the store, trips, one history on two engines, two hosts, verbs of the tool.
POSTGRES_TESTS := ^StratusPostgresTests[.]|SameHistoryTests|SameFeedHistoryTests|TripTests|TwoHostTests|WorkProcessTests|ManyHostTests|ManyWriterTests|AddressTests|ServerVerbTests
# What holds on every store and runs there too.
POSTGRES_SUITES ?= ^Stratus(Records|Cloud|Sharing|Feed)Tests[.]
POSTGRES_RUN = scripts/postgres run -- env STRATUS_POSTGRES_LONG=1 STRATUS_HISTORIES=$(POSTGRES_HISTORIES)

.PHONY: postgres
postgres: bootstrap ## Runs the tests of the store on PostgreSQL with their long settings, then all suites on it
	$(POSTGRES_RUN) $(TEST) --filter '$(or $(FILTER),$(POSTGRES_TESTS))'
	$(if $(FILTER),,$(MAKE) postgres-suites)

.PHONY: postgres-suites
postgres-suites: bootstrap ## Runs the suites of records, the server, sharing, feeds and queries on PostgreSQL
	$(POSTGRES_RUN) STRATUS_TEST_STORE=postgres $(TEST) --filter '$(or $(FILTER),$(POSTGRES_SUITES))'

# Not the tests that plant faults in the naive side of queries: they need no server.
HOSTS_SUITES := ^Stratus(Sharing|Feed)Tests[.]|[.]QueryHistoryTests/|RandomQueryTests/(development|production|onMany)|SyncHistoryTests

.PHONY: hosts
hosts: bootstrap ## Runs the histories of sharing, feeds, queries and sync engines at STRATUS_HOST_COUNT=2 hosts of a store on PostgreSQL
	$(POSTGRES_RUN) STRATUS_TEST_STORE=postgres-hosts $(TEST) --filter '$(or $(FILTER),$(HOSTS_SUITES))'

# How many times a server is lost: make failover ROUNDS=50
ROUNDS ?= 3

.PHONY: failover
failover: bootstrap ## Loses servers of a cluster while callers write (ROUNDS=3), and looks for what was acknowledged
	scripts/cluster run -- env STRATUS_ROUNDS=$(ROUNDS) $(TEST) --filter '$(or $(FILTER),FailoverTests)'

SERVICE := Examples/HostService
SOURCES += $(SERVICE)/Sources $(SERVICE)/Tests $(SERVICE)/Package.swift

# Tests that could try any number of cases: verbs killed at each of their calls, failing requests, damaged bytes.
SWEEPS := KilledVerbTests|FailingRequestTests|KillTests|LogCutTests|LayoutDamageTests|DamagedArchiveTests
SWEEPS := $(SWEEPS)|InventedArchiveTests|XMLArchiveTests|ShareArchivingTests|EqualObjectTests|PredicateParserTests

.PHONY: sweeps
sweeps: bootstrap ## Tries all cases of the tests that try some in make test (half an hour)
	STRATUS_SWEEPS=1 $(TEST) --filter '$(or $(FILTER),$(SWEEPS))'

.PHONY: mutants
mutants: bootstrap ## Plants every fault of Tests/Mutants and prints those that no test catches (NUMBERS="3 17" narrows)
	scripts/postgres run -- env NUMBERS="$(NUMBERS)" scripts/mutants

.PHONY: service
service: bootstrap ## Builds the example of a host service and runs its tests, with real HTTP requests
	scripts/postgres run -- swift test --package-path $(SERVICE) --scratch-path .build/service --disable-xctest $(IMPORT_CHECK) $(FILTER_OPTION)

.PHONY: deployment
deployment: bootstrap ## Starts the example on three nodes and two hosts, and runs a user's journey across both
	swift build --package-path $(SERVICE) --scratch-path .build/service --build-tests
	LISTS_PROGRAM="$$PWD/.build/service/debug/shared-lists" $(SERVICE)/Deployment/run -- \
		swift test --package-path $(SERVICE) --scratch-path .build/service --disable-xctest $(IMPORT_CHECK) --skip-build --filter DeploymentTests

.PHONY: check
check: bootstrap ## Checks formatting, warnings, imports, documentation, public symbols, the manual and the house rules
	swift format lint --strict --recursive --parallel $(SOURCES)
	$(OPTIMISED) swift build --build-tests $(DEBUG_BUILD)
	$(if $(TIDY),$(TEST) --filter TidyTests)
	$(OPTIMISED) scripts/documentation
	@command -v python3 >/dev/null || scripts/bootstrap python3
	scripts/public-symbols
	$(OPTIMISED) scripts/manual debug

.PHONY: house
house: bootstrap ## Counts files, lines and targets, and the functions that one request runs through
	@command -v python3 >/dev/null || scripts/bootstrap python3
	scripts/house

# What the benchmarks' peers need.
PEERS := libsqlite3-dev libpq-dev liblmdb-dev librocksdb-dev

.PHONY: bench
bench: bootstrap ## Measures against SQLite, raw LevelDB and SQL tables and prints the table
	scripts/bootstrap $(PEERS) postgresql
	STRATUS_BENCHMARKS=1 scripts/bench

.PHONY: bench-postgres
bench-postgres: bootstrap ## The same of the store on PostgreSQL alone (a few minutes)
	scripts/bootstrap $(PEERS) postgresql
	STRATUS_BENCHMARKS=1 scripts/bench --only P1,P2,P3,P4,P5,P6,P7 --results Benchmarks/Results/Postgres

.PHONY: bench-build
bench-build: bootstrap ## Compiles the benchmarks without optimisation, to see that they still fit the code
	scripts/bootstrap $(PEERS)
	STRATUS_BENCHMARKS=1 swift build $(DEBUG_BUILD) --scratch-path .build/benchmarks --product stratus-benchmarks

.PHONY: bench-large
bench-large: bootstrap ## The same with ten times the data
	scripts/bootstrap $(PEERS) postgresql
	STRATUS_BENCHMARKS=1 STRATUS_BENCHMARKS_LARGE=1 scripts/bench

.PHONY: pages
pages: bootstrap ## Draws pages and pictures in a real Chromium, judges them, and leaves screenshots in .build/pages
	scripts/bootstrap chromium fonts-dejavu-core
	STRATUS_PAGES="$(CURDIR)/.build/pages" $(TEST) --filter PageTests

RECORDS ?= 1000000

.PHONY: memory
memory: build ## Measures the memory of every verb on a store of RECORDS records, and fails above 256 MiB
	swift build -c release --product stratus-test-program
	RECORDS="$(RECORDS)" scripts/memory

.PHONY: sanitize
sanitize: sanitize-address sanitize-thread ## Runs the tests under the address, leak and thread sanitizers

.PHONY: sanitize-address
sanitize-address: bootstrap ## … address and leak only
	ASAN_OPTIONS="detect_leaks=1:suppressions=$(CURDIR)/scripts/address-suppressions.txt:$${ASAN_OPTIONS:-}" \
	LSAN_OPTIONS="suppressions=$(CURDIR)/scripts/leak-suppressions.txt:print_suppressions=0:$${LSAN_OPTIONS:-}" \
	$(OPTIMISED) \
	$(RUN) --sanitize=address --scratch-path .build/address-sanitizer \
	$(FEW_AT_ONCE) $(FILTER_OPTION)

.PHONY: sanitize-thread
sanitize-thread: bootstrap ## … thread only
	TSAN_OPTIONS="halt_on_error=0:$${TSAN_OPTIONS:-}" \
	$(RUN) --sanitize=thread --scratch-path .build/thread-sanitizer \
	$(FEW_AT_ONCE) $(FILTER_OPTION)

.PHONY: fuzz
fuzz: export SWIFT_DETERMINISTIC_HASHING := 1
fuzz: bootstrap ## Feeds damaged bytes to every decoder, EXECUTIONS times each
	$(OPTIMISED) swift build -c $(FUZZ_BUILD) $(if $(filter debug,$(FUZZ_BUILD)),$(DEBUG_BUILD)) --product stratus-test-program
	cd "$$(swift build -c $(FUZZ_BUILD) --show-bin-path)" && printf '%s\n' $(FUZZ_TARGETS) \
		| xargs -P 2 -I TARGET ./stratus-test-program fuzz TARGET --executions $(EXECUTIONS)

.PHONY: soak
soak: bootstrap ## Runs the long random histories, optimised (hours)
	STRATUS_SOAK=1 STRATUS_HISTORIES=$(STRATUS_HISTORIES) STRATUS_HISTORY_STEPS=$(STRATUS_HISTORY_STEPS) \
	$(RUN) -c release --filter '$(if $(FILTER),$(FILTER),Soak)'

.PHONY: clean
clean: ## Removes what builds and the demo leave behind
	rm -rf .build demo-store
