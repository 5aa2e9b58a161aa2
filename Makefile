# One Makefile, no repeated rules: sources are found by wildcard, a folder under src/tools is a tool.
#
#   make                build bin/ikigai, libexec/ikigai/*, lib/ikigai/keeper
#   make check          everything a change must pass; check-deep adds sanitizers, valgrind, fuzzing
#   make promises       proves what docs/promises.md promises; promises-quick in minutes
#   make bench          measures, each figure against its yardstick
#   make install        PREFIX=/usr/local DESTDIR=; uninstall takes the same two
#   make dist           build/ikigai-VERSION.tar.gz; make deb builds a Debian package of it
#   make format         clang-format over everything
#   make docs           writes the tables in docs/ anew from those in the program
#   make OUT=dir        build somewhere else than in the tree itself
#   make SANITIZE=address,undefined OUT=build/asan

VERSION := 0.1.0
# The day of this version: it stands on the manual pages.
RELEASED := 2026-11-15
PREFIX ?= /usr/local
CC ?= cc
OUT ?= .
BUILD ?= $(if $(filter .,$(OUT)),build/obj,$(OUT)/obj)
PYTHON ?= /usr/bin/python3
INSTALL ?= install

ifneq ($(words $(PREFIX)),1)
$(error PREFIX must be one path without spaces, not '$(PREFIX)')
endif
override PREFIX := $(abspath $(PREFIX))
sysconfdir := $(if $(filter /usr,$(PREFIX)),/etc,$(PREFIX)/etc)

# Who only builds a release need not stop at what a newer compiler warns of: make WERROR=
WERROR ?= -Werror
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla $(WERROR)
OPTIMIZE ?= -O2
CFLAGS ?= -g $(OPTIMIZE) -fstack-protector-strong
ALL_CFLAGS = -std=gnu11 $(WARNINGS) $(CPPFLAGS) $(CFLAGS) $(if $(SANITIZE),-fsanitize=$(SANITIZE) \
    -fno-omit-frame-pointer -fno-sanitize-recover=undefined) -MMD -MP -Isrc -D_GNU_SOURCE -DIKIGAI_VERSION='"$(VERSION)"'
ALL_LDFLAGS = $(LDFLAGS) $(if $(SANITIZE),-fsanitize=$(SANITIZE))

# Paths are compiled in only where they are used.
$(BUILD)/base/paths.o: EXTRA_CFLAGS := -DIKIGAI_PREFIX='"$(PREFIX)"'
# libFuzzer calls a function that no header declares.
$(BUILD)/tests/fuzz/%.o: EXTRA_CFLAGS := -Wno-missing-prototypes

# libcurl and libpq are not among them: they are loaded when they are needed
# (src/io/curl_library.h, src/store/postgres/pq_library.h).
APP_LIBS := -lsqlite3 -lzstd -lutf8proc -lmd4c -luv -ljansson -ltalloc -lmd -ldl -lpthread
TOOL_LIBS := -ljansson -ltalloc -lm
grep_LIBS := -lpcre2-8 -lpthread

# Shipped tools and the keeper start several times a turn: they are linked statically where the
# static libraries exist (and no sanitizer needs to be loaded).
CAN_STATIC := $(if $(SANITIZE),,$(shell echo 'int main(void){return 0;}' | $(CC) -static -x c - \
    -o /dev/null $(TOOL_LIBS) -lpcre2-8 -lpthread 2>/dev/null && echo yes))
STATIC := $(if $(CAN_STATIC),-static)

TOOL_DIRS := $(filter-out common,$(notdir $(patsubst %/,%,$(dir $(wildcard src/tools/*/main.c)))))
TOOLS := $(patsubst %,$(OUT)/libexec/ikigai/%,$(subst _,-,$(TOOL_DIRS)))
KEEPER := $(OUT)/lib/ikigai/keeper
TEMPLATES := $(wildcard share/ikigai/templates/*)
MODELS := share/ikigai/models.json
# What a build elsewhere than in the tree needs beside its programs.
DATA = etc/ikigai/config.json $(TEMPLATES) $(MODELS) $(COMPLETIONS)
IKIGAI := $(OUT)/bin/ikigai
# The chapters that `ikigai help` shows.
CHAPTERS := $(wildcard $(patsubst %,docs/%.md,interactive headless sessions export tool-protocol \
    configuration providers))
MANUAL := $(CHAPTERS:docs/%=$(OUT)/share/ikigai/manual/%)
# docs/man/ikigai.1.md -> share/man/man1/ikigai.1
MAN_PAGES := $(foreach page,$(patsubst docs/man/%.md,%,$(wildcard docs/man/*.md)),\
    $(OUT)/share/man/man$(subst .,,$(suffix $(page)))/$(page))
COMPLETIONS := $(addprefix share/,bash-completion/completions/ikigai \
    zsh/site-functions/_ikigai fish/vendor_completions.d/ikigai.fish)

objects = $(patsubst src/%.c,$(BUILD)/%.o,$(1))
BASE_OBJECTS := $(call objects,$(wildcard src/base/*.c))
COMMON_OBJECTS := $(call objects,$(wildcard src/tools/common/*.c))
KEEPER_OBJECTS := $(call objects,$(wildcard src/keeper/*.c))
APP_SOURCES := $(filter-out src/base/% src/tools/% src/keeper/%,$(shell find src -name '*.c' | sort))
APP_OBJECTS := $(call objects,$(APP_SOURCES))
LIB_BASE := $(BUILD)/libbase.a
LIB_COMMON := $(BUILD)/libcommon.a
LIB_APP := $(BUILD)/libapp.a
# What tools and keeper are made of, without their main, for the tests that look inside.
LIB_PARTS := $(BUILD)/libparts.a
PARTS_OBJECTS := $(call objects,$(filter-out %/main.c src/tools/common/%,\
    $(wildcard src/tools/*/*.c src/keeper/*.c)))

.PHONY: all tools clean install uninstall FORCE
all: $(IKIGAI) $(TOOLS) $(KEEPER) $(MANUAL) $(MAN_PAGES) \
    $(if $(filter-out .,$(OUT)),$(DATA:%=$(OUT)/%))
tools: $(TOOLS)
$(patsubst %,tool-%,$(subst _,-,$(TOOL_DIRS))): tool-%: $(OUT)/libexec/ikigai/%
.PHONY: $(patsubst %,tool-%,$(subst _,-,$(TOOL_DIRS)))

define COMPILE
@mkdir -p $(@D)
$(CC) $(ALL_CFLAGS) $(EXTRA_CFLAGS) -c -o $@ $<
endef
$(BUILD)/%.o: src/%.c $(BUILD)/flags.stamp
	$(COMPILE)
$(BUILD)/tests/%.o: tests/%.c $(BUILD)/flags.stamp
	$(COMPILE)
$(BUILD)/bench/%.o: bench/%.c $(BUILD)/flags.stamp
	$(COMPILE)

# A stamp is rewritten only when the words in it change: whoever builds with another compiler,
# other flags or another prefix than last time gets what these touch built again.
STAMP_flags = $(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS)
STAMP_prefix = $(PREFIX)
STAMP_date = $(DATE)
$(BUILD)/base/paths.o: $(BUILD)/prefix.stamp
$(MAN_PAGES): $(BUILD)/date.stamp
$(patsubst %,$(BUILD)/%.stamp,flags prefix date): $(BUILD)/%.stamp: FORCE
	@mkdir -p $(@D)
	@words='$(subst ','\'',$(STAMP_$*))'; \
	echo "$$words" | cmp -s - $@ || echo "$$words" > $@

$(LIB_BASE): $(BASE_OBJECTS)
$(LIB_COMMON): $(COMMON_OBJECTS)
$(LIB_APP): $(filter-out $(BUILD)/main.o,$(APP_OBJECTS))
$(LIB_PARTS): $(PARTS_OBJECTS)
%.a:
	@rm -f $@
	$(AR) rcs $@ $^

$(IKIGAI): $(BUILD)/main.o $(LIB_APP) $(LIB_BASE)
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(APP_LIBS)

$(KEEPER): $(KEEPER_OBJECTS) $(LIB_BASE)
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) $(STATIC) -o $@ $^ -ltalloc

# src/tools/file_read/*.c -> libexec/ikigai/file-read
.SECONDEXPANSION:
$(TOOLS): $(OUT)/libexec/ikigai/%: \
    $$(call objects,$$(wildcard src/tools/$$(subst -,_,$$*)/*.c)) $(LIB_COMMON) $(LIB_BASE)
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) $(STATIC) -o $@ $^ $($(subst -,_,$*)_LIBS) $(TOOL_LIBS)

define COPY
@mkdir -p $(@D)
cp $< $@
endef
$(MANUAL): $(OUT)/share/ikigai/manual/%: docs/%
	$(COPY)
ifneq ($(OUT),.)
$(DATA:%=$(OUT)/%): $(OUT)/%: %
	$(COPY)
endif

# The program fills the reference tables of a man page from its own tables, lowdown turns the
# Markdown into man(7), and docs/man/page.sed finishes it. (To build for another machine, whose
# program cannot run here: make MAN_PAGES=)
DATE := $(if $(SOURCE_DATE_EPOCH),$(shell date -u -d @$(SOURCE_DATE_EPOCH) +%F || \
    date -u -r $(SOURCE_DATE_EPOCH) +%F),$(RELEASED))
$(MAN_PAGES): $(OUT)/share/man/%: docs/man/$$(notdir $$*).md docs/man/page.sed \
    $(IKIGAI) $(MANUAL)
	@mkdir -p $(@D)
	IKIGAI_HOME=/nonexistent $(IKIGAI) help --expand $< > $@.md
	lowdown -s -tman --out-no-smarty -m date=$(DATE) $@.md | sed -f docs/man/page.sed > $@
	@rm -f $@.md
# What a program began to write before it failed is no result.
.DELETE_ON_ERROR:

# ---- tests

programs = $(patsubst %.c,$(BUILD)/%,$(wildcard $(1)))
UNIT_TESTS := $(call programs,tests/unit/test_*.c)
FUZZERS := $(call programs,tests/fuzz/fuzz_*.c)
# Programs through which tests in Python reach what no command does.
DRIVERS := $(call programs,tests/e2e/*_driver.c tests/provider/*_driver.c \
    tests/promises/history_driver.c tests/promises/foreign_driver.c tests/browser/export_driver.c)
$(UNIT_TESTS): LINK = $(shell pkg-config --libs check)
$(FUZZERS): LINK := -fsanitize=fuzzer
$(BUILD)/tests/e2e/vterm_driver: LINK := -lvterm
$(UNIT_TESTS) $(FUZZERS) $(DRIVERS): %: %.o $(LIB_APP) $(LIB_PARTS) $(LIB_COMMON) $(LIB_BASE)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(APP_LIBS) $(grep_LIBS) $(TOOL_LIBS) $(LINK)

# The yardstick of every start time is a static program that does nothing.
$(BUILD)/bench/noop: $(BUILD)/bench/noop.o
	$(CC) $(ALL_LDFLAGS) $(STATIC) -o $@ $^
# The yardstick of the first frame is the same program, linked as most are.
$(BUILD)/bench/empty: $(BUILD)/bench/noop.o
	$(CC) $(ALL_LDFLAGS) -o $@ $^
# The yardstick of a request links libcurl as any program does.
$(BUILD)/bench/curl_yardstick: $(BUILD)/bench/curl_yardstick.o
	$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcurl
BENCHES := $(patsubst %,$(BUILD)/bench/%,process_cost wire_cost store_cost pty_cost)
$(BENCHES): %: %.o $(LIB_APP) $(LIB_BASE)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(APP_LIBS)

.PHONY: unit-tests drivers lint format docs check check-unit promises promises-quick bench
unit-tests: $(UNIT_TESTS) drivers
drivers: $(DRIVERS)
$(UNIT_TESTS:%=%.o): | need-check
RUN := $(PYTHON) tests/run --out $(OUT) --build $(BUILD)
check: all unit-tests
	@$(RUN) check
# The unit tests that need no server: what a package runs when it is built.
WITH_SERVER := $(call programs,$(shell grep -ls store_backend.h tests/unit/*.c))
check-unit: $(filter-out $(WITH_SERVER),$(UNIT_TESTS))
	@$(RUN) $^
lint:
	@$(RUN) lint
docs: all
	@$(PYTHON) docs/refresh.py $(IKIGAI)
format:
	find src tests bench -name '*.[ch]' -exec clang-format -i {} +
# ONLY= is an expression for file names: make promises ONLY='_(04|17)_'
promises promises-quick: all drivers
	@$(RUN) $(if $(ONLY),-k '$(ONLY)') $@
bench: all $(patsubst %,$(BUILD)/bench/%,noop empty curl_yardstick) $(BENCHES)
	@$(PYTHON) bench/run --out $(OUT)

# Each part of check-deep builds a tree of its own below $(DEEP).
.PHONY: check-deep check-clang check-asan check-valgrind check-fuzz check-analysis check-fresh
check-deep: check-clang check-asan check-valgrind check-fuzz check-analysis
DEEP := $(patsubst %/obj,%,$(BUILD))
# The + hands the jobs on: make does not see a $(MAKE) behind a call.
build_in = +$(MAKE) --no-print-directory OUT=$(DEEP)/$(1) BUILD=$(DEEP)/$(1)/obj

check-clang: need-clang # both compilers, no warning from either
	$(call build_in,clang) CC=clang all unit-tests
# The leak checker of ASan gives up under strace, which some tests use; valgrind has an eye on leaks.
check-asan:
	$(call build_in,asan) SANITIZE=address,undefined all unit-tests
	@$(PYTHON) tests/run --out $(DEEP)/asan --slow 5 unit
	@ASAN_OPTIONS=detect_leaks=0 $(PYTHON) tests/run --out $(DEEP)/asan --slow 5 tools provider e2e
# valgrind sees only allocations that go through the dynamic linker.
check-valgrind: need-valgrind
	$(call build_in,valgrind) STATIC= all unit-tests
	@$(PYTHON) tests/run --out $(DEEP)/valgrind --valgrind --slow 20 unit deep
check-fuzz: # promise 18 in full; FUZZ_SECONDS=N for each target
	@$(RUN) -k _18_ promises

# What promise 18 runs: a tree with nothing but the fuzz targets, quickly built (tests/fuzz/README.md).
.PHONY: fuzz-tree fuzzers
fuzz-tree: need-clang
	$(call build_in,fuzz) CC=clang SANITIZE=address,undefined,fuzzer-no-link \
	    CFLAGS='-O1 -gline-tables-only' fuzzers
fuzzers: $(FUZZERS)

ANALYSE := -Isrc -D_GNU_SOURCE -DIKIGAI_VERSION='""' -DIKIGAI_PREFIX='""'
ANALYSED := src tests bench examples
check-analysis: need-cppcheck need-clang-tidy
	cppcheck -j2 -q --error-exitcode=1 --enable=warning,portability \
	    --library=posix --suppressions-list=tests/lint/cppcheck.txt $(ANALYSE) $(ANALYSED)
	find $(ANALYSED) -name '*.c' | sort | xargs -P2 -I{} \
	    clang-tidy --quiet --config-file=tests/lint/clang-tidy {} -- -std=gnu11 $(ANALYSE) 2> /dev/null
check-fresh: # a new system in a folder, from nothing to a passed script/test
	tests/fresh/run
.PHONY: check-fake
# The vendors' own clients against tests/fake_llm, and ikigai over HTTP/2.
check-fake: need-node need-npm all
	@$(PYTHON) tests/fake_llm/check_clients.py $(DEEP)/fake_clients $(IKIGAI)
EXPORT_DRIVER := $(BUILD)/tests/browser/export_driver
.PHONY: check-browser
check-browser: need-chromium $(EXPORT_DRIVER) # what a reader sees of exported pages, in a browser
	@$(PYTHON) tests/browser/check_browser.py $(EXPORT_DRIVER)

# need-X: X is there, or it is said what installs it.
NEEDED = { echo "$* is missing: script/bootstrap --$(GROUP) installs it" >&2; exit 1; }
GROUP := test
need-node need-npm: GROUP := fake
need-chromium: GROUP := browser
need-dpkg-buildpackage need-dh need-lintian: GROUP := package
NEEDED_COMMANDS := $(patsubst %,need-%,clang valgrind cppcheck clang-tidy node npm chromium \
    dpkg-buildpackage dh lintian)
.PHONY: need-check $(NEEDED_COMMANDS)
need-check: need-%:
	@pkg-config --exists $* || $(NEEDED)
$(NEEDED_COMMANDS): need-%:
	@command -v $* > /dev/null || $(NEEDED)

# ---- installing

# The chapters are not among the documents: they are in the manual.
DOCUMENTS := $(wildcard README.md CHANGELOG.md LICENSE)
# Not what somebody compiled there.
EXAMPLES := $(filter-out %/__pycache__ $(patsubst %.c,%,$(wildcard examples/*.c)),\
    $(wildcard examples/*))
# FILE:PLACE below PREFIX. What is executable stays so.
BUILT := $(IKIGAI) $(TOOLS) $(KEEPER) $(MANUAL) $(MAN_PAGES)
INSTALLED := $(foreach file,$(BUILT),$(file):$(file:$(OUT)/%=%)) \
    $(foreach file,$(TEMPLATES) $(MODELS) $(COMPLETIONS),$(file):$(file)) \
    $(foreach file,$(DOCUMENTS) $(EXAMPLES),$(file):share/doc/ikigai/$(file))
# Folders that are ours alone and go with the last file; the others may be somebody else's.
OWN_DIRS := $(sysconfdir)/ikigai \
    $(patsubst %,$(PREFIX)/%/ikigai,libexec lib share share/doc)
CONFIG := $(sysconfdir)/ikigai/config.json

# DESTDIR reaches the shell as it is, whatever characters are in it.
export DESTDIR
# Folders that exist keep their mode. The administrator's config stays, changed or not.
install: all
	@set -eu; umask 022; \
	put() { [ -d "$${2%/*}" ] || mkdir -p "$${2%/*}"; \
	    if [ -x "$$1" ]; then mode=755; else mode=644; fi; $(INSTALL) -m $$mode "$$1" "$$2"; }; \
	for pair in $(INSTALLED); do put "$${pair%%:*}" "$$DESTDIR$(PREFIX)/$${pair#*:}"; done; \
	[ -e "$$DESTDIR$(CONFIG)" ] || put etc/ikigai/config.json "$$DESTDIR$(CONFIG)"; \
	echo "installed in $$DESTDIR$(PREFIX)"
uninstall:
	@for pair in $(INSTALLED); do rm -f "$$DESTDIR$(PREFIX)/$${pair#*:}"; done
	@! cmp -s etc/ikigai/config.json "$$DESTDIR$(CONFIG)" || rm -f "$$DESTDIR$(CONFIG)"
	@for folder in $(OWN_DIRS); do \
	    find "$$DESTDIR$$folder" -depth -type d -empty -delete 2> /dev/null || true; done

# ---- packing

# A package is made of the tarball and not of this tree, and knows nothing of how make was called.
.PHONY: dist deb check-package
DIST := ikigai-$(VERSION)
dist:
	@script/dist $(DIST) $(DEEP)
deb: need-dpkg-buildpackage need-dh need-lintian dist
	rm -rf $(DEEP)/deb
	mkdir -p $(DEEP)/deb
	tar xzf $(DEEP)/$(DIST).tar.gz -C $(DEEP)/deb
	cd $(DEEP)/deb/$(DIST) && env -i PATH="$$PATH" DEB_BUILD_OPTIONS="$$DEB_BUILD_OPTIONS" \
	    dpkg-buildpackage -us -uc
	lintian --fail-on error $(DEEP)/deb/*.changes
	cp $(DEEP)/deb/ikigai_*.deb $(DEEP)
check-package: deb # a new system in a folder: install, try, upgrade, remove without a trace
	tests/fresh/package $(DEEP)/deb/ikigai_*.deb

clean:
	rm -rf $(BUILD) $(patsubst %,$(OUT)/%,bin lib libexec $(if $(filter .,$(OUT)),build \
	    share/ikigai/manual share/man,etc share))

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
