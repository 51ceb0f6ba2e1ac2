# shareserve. Try: make serve DIR=./share PORT=8080, or make help

SHELL := /bin/bash
.DEFAULT_GOAL := build
.PHONY: help serve test build lint format clean install uninstall bench fuzz needs-build needs-test needs-bench

# make serve
DIR ?= ./share
PORT ?= 8080
ARGS ?=
# make test: SANITIZE=address|thread, FILTER=words that a test's name holds
SANITIZE ?=
FILTER ?=
# make bench: ONLY=put,propfind for some workloads
# make fuzz: ONLY=head,json for some targets; SECONDS for each, 60 without it
ONLY ?=
# make install
PREFIX ?= /usr/local
DESTDIR ?=
SWIFT ?= swift

# The C++ library's headers are for BoringSSL; Swift's own list of Debian packages does not bring them.
build_packages := zlib1g-dev libxml2-dev pkg-config 'libstdc++-dev|g++'
# One file that needs nothing beside it. The linker folds equal functions, drops what nobody calls or could look up
# (exports.map keeps no symbol public), and packs relocations, which are most of a position-independent Swift program's
# start: stripped, 36.3 MB become 30.0; 10.4 MB resident became 7.5, and 2.6 ms to start 2.3. Packed relocations need
# glibc 2.36, which Debian 12 has. The index that C++ exceptions are caught by is left out, 0.6 MB, since nothing here
# catches any. Without debug information the file is 48 MB instead of 109 before it is stripped, and 1.2 MB smaller after;
# debuggers still find each function's name and its callers, by frame pointers.
# Libraries come from the system alone, never from the folder that the program lies in.
# Colours are off: they are an option of each compilation, so that a build in a terminal would compile again all that one
# without had compiled.
# macOS has Swift's libraries itself, and its linker none of these options.
ifeq ($(shell uname -s),Darwin)
export RELEASE := -c release --no-color-diagnostics -debug-info-format none
else
export RELEASE := -c release --no-color-diagnostics --static-swift-stdlib --disable-local-rpath -debug-info-format none \
    -Xswiftc -use-ld=lld -Xlinker --icf=safe -Xlinker --gc-sections \
    -Xlinker -z -Xlinker pack-relative-relocs -Xlinker --no-eh-frame-hdr -Xlinker --version-script=config/exports.map
endif
server := $(CURDIR)/.build/release/shareserve
format := $(SWIFT) format --configuration config/swift-format.json
swift_sources := Package.swift Sources Tests

## Lists what can be made.
help:
	@awk '/^## / { about = substr($$0, 4); next } \
	    about != "" { sub(/:.*/, "", $$1); printf "make %-9s %s\n", $$1, about; about = "" }' $(MAKEFILE_LIST)

needs-build:
	@config/require-swift.sh "$(SWIFT)"
	@config/require-packages.sh $(build_packages)

# By the environment: a name may hold a quote or a dollar sign.
serve: export SHARED = $(value DIR)
## Serves the directory DIR on PORT; more options in ARGS.
serve: build
	@[ -e "$$SHARED" ] || mkdir -p -- "$$SHARED"
	@exec "$(server)" --port "$(PORT)" $(value ARGS) -- "$$SHARED"

# The copy takes the linker's place in memory, where the kernel holds what was written in one go in larger pieces: until the
# file has once left memory, each start takes 1 ms less of some 10. Its time stays, so that nothing is linked again.
## Builds the one file that is shipped.
build: needs-build
	@$(SWIFT) build $(RELEASE) --product shareserve || { \
	    if [ -e .build/release.yaml ]; then why="see the lines above"; \
	    else why="the Swift packages could not be fetched, is there a network?"; fi; \
	    echo "shareserve: the build failed; $$why" >&2; exit 1; }
	@cp -p "$(server)" "$(server).copy"
	@mv "$(server).copy" "$(server)"

needs-test: needs-build
	@config/require-packages.sh $$(sed 's/#.*//' Tests/Acceptance/debian-packages.txt)
	@Tests/Tools/venv.sh .test/venv Tests/Acceptance/requirements.txt

## Runs every test: unit, integration, acceptance; the last line counts them. FILTER=words takes some.
test: needs-test
	@SWIFT="$(SWIFT)" .test/venv/bin/python Tests/Tools/run_tests.py --sanitize "$(SANITIZE)" --filter "$(FILTER)"

## Says what the formatter and the rules of the rooms would have otherwise; changes nothing.
lint:
	@config/require-swift.sh "$(SWIFT)"
	@config/require-packages.sh python3
	@$(format) --version >/dev/null
	@$(SWIFT) format lint --strict --parallel --configuration config/swift-format.json -r $(swift_sources)
	@python3 Tests/Tools/lint.py

## Formats the Swift sources.
format:
	@config/require-swift.sh "$(SWIFT)"
	@$(format) --in-place --parallel -r $(swift_sources)

## Removes all that was built and all that tests left.
clean:
	rm -rf .build .test

# Root has no Swift in its PATH where sudo is used: then what was built before is what is installed.
## Installs the program, its manual, a systemd unit and completions below DESTDIR and PREFIX.
install: $(shell ! command -v "$(SWIFT)" >/dev/null && test -x "$(server)" || echo build)
	for place in bin lib/systemd/system share/doc/shareserve share/man/man1 share/bash-completion/completions \
	    share/zsh/site-functions share/fish/vendor_completions.d; do \
	    test -d "$(DESTDIR)$(PREFIX)/$$place" || install -d "$(DESTDIR)$(PREFIX)/$$place" || exit; \
	done
	install -s -m 755 "$(server)" "$(DESTDIR)$(PREFIX)/bin/shareserve"
	sed 's,/usr/local/,$(PREFIX)/,' config/shareserve.service > "$(DESTDIR)$(PREFIX)/lib/systemd/system/shareserve.service"
	install -m 644 config/shareserve.json "$(DESTDIR)$(PREFIX)/share/doc/shareserve/shareserve.json"
	install -m 644 config/shareserve.1 "$(DESTDIR)$(PREFIX)/share/man/man1/shareserve.1"
	"$(server)" --generate-completion-script bash > "$(DESTDIR)$(PREFIX)/share/bash-completion/completions/shareserve"
	"$(server)" --generate-completion-script zsh > "$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_shareserve"
	"$(server)" --generate-completion-script fish > "$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/shareserve.fish"

## Removes what `make install` of the same DESTDIR and PREFIX has installed; shares and settings stay.
uninstall:
	rm -f "$(DESTDIR)$(PREFIX)/bin/shareserve" "$(DESTDIR)$(PREFIX)/lib/systemd/system/shareserve.service" \
	    "$(DESTDIR)$(PREFIX)/share/man/man1/shareserve.1" \
	    "$(DESTDIR)$(PREFIX)/share/bash-completion/completions/shareserve" \
	    "$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_shareserve" \
	    "$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/shareserve.fish"
	rm -rf "$(DESTDIR)$(PREFIX)/share/doc/shareserve"

needs-bench: build
	@config/require-packages.sh $$(sed 's/#.*//' Tests/Benchmarks/debian-packages.txt)
	@Tests/Tools/venv.sh .test/bench-venv Tests/Benchmarks/requirements.txt

## Measures against other servers, in one run: tables and plots under .test/bench. ONLY=put takes some workloads.
bench: needs-bench
	@.test/bench-venv/bin/python Tests/Benchmarks/bench.py --server "$(server)" --only "$(ONLY)"

## Fuzzes every target for SECONDS each, or those in ONLY.
fuzz: needs-build
	@config/require-packages.sh python3
	@python3 Tests/Fuzz/fuzz.py --seconds "$(or $(SECONDS),60)" --only "$(ONLY)"
