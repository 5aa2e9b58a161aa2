# Sources are found by wildcard; every folder below src/tools is a tool.
#
#   make                build bin/ikigai, libexec/ikigai/*, lib/ikigai/*
#   make check          everything a change must pass; check-deep adds sanitizers, valgrind, fuzzing
#   make test-NAME      build and run tests/*/test_NAME.c or .py; K=WORD picks some of its tests
#   make promises       test every promise of docs/promises.md; promises-quick takes minutes
#   make bench          measure speed and memory, each figure against a yardstick
#   make bench-peers    measure other agents in the same way as ikigai
#   make install        PREFIX=/usr/local DESTDIR=; uninstall takes the same two
#   make dist           build/ikigai-VERSION.tar.gz; make deb builds a Debian package from it
#   make static-bundle  build/ikigai-VERSION-linux-x86_64.tar.gz, for any Linux
#   make format         run clang-format on all sources
#   make docs           regenerate the tables in docs/ from those in the program
#   make OUT=dir        build outside the source tree
#   make SANITIZE=address,undefined OUT=build/asan

VERSION := 0.2.0
# The date of this version, printed on the manual pages.
RELEASED := 2026-11-18
PREFIX ?= /usr/local
CC ?= cc
OUT ?= .
BUILD ?= $(if $(filter .,$(OUT)),build/obj,$(OUT)/obj)
PYTHON ?= /usr/bin/python3
PKG_CONFIG ?= pkg-config
INSTALL ?= install

ifneq ($(words $(PREFIX)),1)
$(error PREFIX must be one path without spaces, not '$(PREFIX)')
endif
# Each half of such a path would be taken for a folder, and uninstall removes empty ones.
ifneq ($(words $(abspath $(PREFIX))),1)
$(error PREFIX must be an absolute path, because that of this folder has spaces: '$(CURDIR)')
endif
override PREFIX := $(abspath $(PREFIX))
sysconfdir := $(if $(filter /usr,$(PREFIX)),/etc,$(PREFIX)/etc)

# To build with a newer compiler despite its new warnings: make WERROR=
WERROR ?= -Werror
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla $(WERROR)
OPTIMIZE ?= -O2
CFLAGS ?= -g $(OPTIMIZE) -fstack-protector-strong
ALL_CFLAGS = -std=gnu11 $(WARNINGS) $(CPPFLAGS) $(CFLAGS) $(if $(SANITIZE),-fsanitize=$(SANITIZE) \
    -fno-omit-frame-pointer -fno-sanitize-recover=undefined) -MMD -MP -Isrc -D_GNU_SOURCE -DIKIGAI_VERSION='"$(VERSION)"'
ALL_LDFLAGS = $(LDFLAGS) $(if $(SANITIZE),-fsanitize=$(SANITIZE))

# Only these files depend on the prefix.
$(BUILD)/base/paths.o: EXTRA_CFLAGS := -DIKIGAI_PREFIX='"$(PREFIX)"'
# libFuzzer's entry point is not declared in any header.
$(BUILD)/tests/fuzz/%.o: EXTRA_CFLAGS := -Wno-missing-prototypes

# libcurl and libpq are not linked but loaded when needed (src/io/curl_library.h,
# src/store/postgres/pq_library.h).
APP_LIBS := -lsqlite3 -lzstd -lutf8proc -lmd4c -luv -ljansson -ltalloc -lmd -ldl -lm -lpthread
TOOL_LIBS := -ljansson -ltalloc -lm
grep_LIBS := -lpcre2-8 -lpthread
CHECKPOINT_LIBS := -lzstd -lz -lmd -ljansson -ltalloc -lm -lpthread

# Tools start several times a turn, so they, the keeper and checkpoint are linked statically for
# speed, if the static libraries exist and no sanitizer is used.
CAN_STATIC := $(if $(SANITIZE),,$(shell echo 'int main(void){return 0;}' | $(CC) -static -x c - \
    -o /dev/null $(TOOL_LIBS) $(CHECKPOINT_LIBS) -lpcre2-8 2>/dev/null && echo yes))
STATIC := $(if $(CAN_STATIC),-static)

TOOL_DIRS := $(filter-out common,$(notdir $(patsubst %/,%,$(dir $(wildcard src/tools/*/main.c)))))
TOOLS := $(patsubst %,$(OUT)/libexec/ikigai/%,$(subst _,-,$(TOOL_DIRS)))
KEEPER := $(OUT)/lib/ikigai/keeper
CHECKPOINT := $(OUT)/lib/ikigai/checkpoint
SIXEL := $(OUT)/lib/ikigai/sixel
TEMPLATES := $(wildcard share/ikigai/templates/*)
MODELS := share/ikigai/models.json
COMPACT_PROMPT := share/ikigai/compact.md
APPARMOR := share/ikigai/apparmor/ikigai-keeper
# Files that a build outside the source tree needs besides its programs.
DATA = etc/ikigai/config.json $(TEMPLATES) $(MODELS) $(COMPACT_PROMPT) $(APPARMOR) \
    $(COMPLETIONS)
IKIGAI := $(OUT)/bin/ikigai
# The chapters that `ikigai help` shows.
CHAPTERS := $(wildcard $(patsubst %,docs/%.md,interactive headless editors images extending permissions security \
    sessions undo export servers tool-protocol serve configuration providers coming-from tools limits \
    installing))
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
CHECKPOINT_OBJECTS := $(call objects,$(wildcard src/checkpoint/*.c))
SIXEL_OBJECTS := $(call objects,$(wildcard src/sixel/*.c))
APP_SOURCES := $(filter-out src/base/% src/tools/% src/keeper/% src/checkpoint/% src/sixel/% \
    $(WITHOUT:%=src/%/%),$(shell find src -name '*.c' | sort))
APP_OBJECTS := $(call objects,$(APP_SOURCES))
LIB_BASE := $(BUILD)/libbase.a
LIB_COMMON := $(BUILD)/libcommon.a
LIB_APP := $(BUILD)/libapp.a
# The code of the other programs without their main functions, for unit tests.
LIB_PARTS := $(BUILD)/libparts.a
PARTS_OBJECTS := $(call objects,$(filter-out %/main.c src/tools/common/%,\
    $(wildcard src/tools/*/*.c src/keeper/*.c src/checkpoint/*.c src/sixel/*.c)))

.PHONY: all tools clean install uninstall FORCE
all: $(IKIGAI) $(TOOLS) $(KEEPER) $(CHECKPOINT) $(SIXEL) $(MANUAL) $(MAN_PAGES) \
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

# A stamp is rewritten only when its text changes, so a build with another compiler, other flags or
# another prefix rebuilds what depends on them.
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

$(CHECKPOINT): $(CHECKPOINT_OBJECTS) $(LIB_BASE)
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) $(STATIC) -o $@ $^ $(CHECKPOINT_LIBS)

$(SIXEL): $(SIXEL_OBJECTS) $(LIB_BASE)
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) $(STATIC) -o $@ $^ -lz -ltalloc

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
# A command that fails must not leave a partial target behind.
.DELETE_ON_ERROR:

# ---- tests

programs = $(patsubst %.c,$(BUILD)/%,$(wildcard $(1)))
UNIT_TESTS := $(call programs,tests/unit/test_*.c)
FUZZERS := $(call programs,tests/fuzz/fuzz_*.c)
# Programs through which Python tests call functions that no command exposes.
DRIVERS := $(call programs,tests/e2e/*_driver.c tests/provider/*_driver.c \
    tests/promises/history_driver.c tests/promises/foreign_driver.c tests/browser/export_driver.c \
    tests/escape/*_driver.c)
$(UNIT_TESTS): LINK = $(shell $(PKG_CONFIG) --libs check)
$(FUZZERS): LINK := -fsanitize=fuzzer
$(BUILD)/tests/e2e/vterm_driver: LINK := -lvterm
$(UNIT_TESTS) $(FUZZERS) $(DRIVERS): %: %.o $(LIB_APP) $(LIB_PARTS) $(LIB_COMMON) $(LIB_BASE)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(APP_LIBS) $(grep_LIBS) $(CHECKPOINT_LIBS) $(LINK)

# The yardstick for start times: a static program that does nothing.
$(BUILD)/bench/noop: $(BUILD)/bench/noop.o
	$(CC) $(ALL_LDFLAGS) $(STATIC) -o $@ $^
# The yardstick for calls through a server.
$(BUILD)/bench/mcp_echo: $(BUILD)/bench/mcp_echo.o
	$(CC) $(ALL_LDFLAGS) $(STATIC) -o $@ $^
# The yardstick for the first frame: the same program, linked dynamically.
$(BUILD)/bench/empty: $(BUILD)/bench/noop.o
	$(CC) $(ALL_LDFLAGS) -o $@ $^
# The yardstick for a request: a program that links libcurl.
$(BUILD)/bench/curl_yardstick: $(BUILD)/bench/curl_yardstick.o
	$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcurl
BENCHES := $(patsubst %,$(BUILD)/bench/%,process_cost wire_cost store_cost pty_cost server_cost)
$(BENCHES): %: %.o $(LIB_APP) $(LIB_BASE)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(APP_LIBS)

# A clock for tests that is faster than the machine's.
FAST_CLOCK := $(BUILD)/tests/e2e/fast_clock.so
$(FAST_CLOCK): tests/e2e/fast_clock.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -D_GNU_SOURCE -O2 -Wall -Wextra -fPIC -shared -o $@ $<

.PHONY: unit-tests drivers benches lint format docs check check-unit promises promises-quick bench bench-peers
unit-tests: $(UNIT_TESTS) drivers
drivers: $(DRIVERS) $(FAST_CLOCK)
$(UNIT_TESTS:%=%.o): | need-check
RUN := $(PYTHON) tests/run --out $(OUT) --build $(BUILD)
# A change must not break the benchmarks, which the tests do not run.
benches: $(BENCHES)
check: all unit-tests benches
	@$(RUN) check
# The unit tests that need no server, for package builds.
WITH_SERVER := $(call programs,$(shell grep -ls store_backend.h tests/unit/*.c))
check-unit: $(filter-out $(WITH_SERVER),$(UNIT_TESTS))
	@$(RUN) $^
# test-NAME runs the unit test and the module of that name, where both exist.
TEST_MODULES := $(wildcard $(patsubst %,tests/%/test_*.py,lint tools fake_llm provider e2e))
unit_test = $(filter %/test_$(1),$(UNIT_TESTS))
test_modules = $(filter %/test_$(1).py,$(TEST_MODULES))
ONE_TEST := $(sort $(patsubst test_%,test-%,$(notdir $(UNIT_TESTS) $(TEST_MODULES:.py=))))
.PHONY: $(ONE_TEST)
$(ONE_TEST): test-%: all $$(call unit_test,$$*) $$(if $$(call test_modules,$$*),drivers)
	@$(RUN) $(if $(K),-k '$(K)') $(call unit_test,$*) $(call test_modules,$*)
lint:
	@$(RUN) lint
docs: all
	@$(PYTHON) docs/refresh.py $(IKIGAI)
format:
	find src tests bench -name '*.[ch]' -exec clang-format -i {} +
# ONLY= selects files by a regular expression: make promises ONLY='_(04|17)_'
promises promises-quick: all drivers
	@$(RUN) $(if $(ONLY),-k '$(ONLY)') $@
bench: all benches $(patsubst %,$(BUILD)/bench/%,noop empty curl_yardstick mcp_echo)
	@$(PYTHON) bench/run --out $(OUT)
# npm installs other agents below $(DEEP)/agents. ikigai is installed there for its size, without
# debugging symbols, as packages have it.
WEIGHED = $(DEEP)/agents/ikigai
bench-peers: need-node need-npm all drivers
	@rm -rf $(WEIGHED)
	@DESTDIR="$$(cd $(DEEP) && pwd)/agents/ikigai" $(MAKE) -s install
	@find $(WEIGHED) -name share -prune -o -type f -perm -u+x -exec strip {} +
	@IKIGAI_OUT=$(OUT) $(PYTHON) bench/peers.py $(if $(ROUNDS),--rounds $(ROUNDS))

# Each part of check-deep builds a tree of its own below $(DEEP).
.PHONY: check-deep check-clang check-asan check-valgrind check-fuzz check-analysis check-fresh
check-deep: check-clang check-asan check-valgrind check-fuzz check-analysis
DEEP := $(patsubst %/obj,%,$(BUILD))
# The + passes on -j: make does not recognise a $(MAKE) inside a call.
build_in = +$(MAKE) --no-print-directory OUT=$(DEEP)/$(1) BUILD=$(DEEP)/$(1)/obj

check-clang: need-clang # both compilers, no warning from either
	$(call build_in,clang) CC=clang all unit-tests
# ASan's leak checker fails under strace, which some tests use; valgrind checks for leaks instead.
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

# Promise 18 builds a tree with only the fuzz targets, which is quick (tests/fuzz/README.md), and
# without the folders above the parsers, which no target needs.
.PHONY: fuzz-tree fuzzers
fuzz-tree: need-clang
	$(call build_in,fuzz) CC=clang SANITIZE=address,undefined,fuzzer-no-link \
	    CFLAGS='-O1 -gline-tables-only' \
	    WITHOUT='acp cli command headless mcp permission repl serve setup undo workspace' fuzzers
fuzzers: $(FUZZERS)

ANALYSE := -Isrc -D_GNU_SOURCE -DIKIGAI_VERSION='""' -DIKIGAI_PREFIX='""'
ANALYSED := src tests bench examples
check-analysis: need-cppcheck need-clang-tidy
	cppcheck -j2 -q --error-exitcode=1 --enable=warning,portability \
	    --library=posix --suppressions-list=tests/lint/cppcheck.txt $(ANALYSE) $(ANALYSED)
	find $(ANALYSED) -name '*.c' | sort | xargs -P2 -I{} \
	    clang-tidy --quiet --config-file=tests/lint/clang-tidy {} -- -std=gnu11 $(ANALYSE) 2> /dev/null
check-fresh: # from an empty system in a folder to a passed script/test
	tests/fresh/run
.PHONY: check-fake
# Runs the vendors' own clients against tests/fake_llm, and ikigai over HTTP/2.
check-fake: need-node need-npm all
	@$(PYTHON) tests/fake_llm/check_clients.py $(DEEP)/fake_clients $(IKIGAI)
.PHONY: check-peers
check-peers: all # other people's servers, clients and editors
	@script/bootstrap --peers
	@$(PYTHON) tests/run $(if $(filter .,$(OUT)),,--out $(OUT)) peers
# The unit and tool tests of a build for arm64, whose programs qemu-user runs. The programs name the
# libraries that they are linked with, so that they need nothing from the environment.
ARM64 := aarch64-linux-gnu
ARM64_ROOT := $(CURDIR)/build/arm64-root
ARM64_LDFLAGS := -Wl,--dynamic-linker,$(ARM64_ROOT)/lib/ld-linux-aarch64.so.1 \
    -Wl,--disable-new-dtags,-rpath,$(ARM64_ROOT)/usr/lib/$(ARM64)
.PHONY: check-arm64
check-arm64:
	@script/bootstrap --test --arm64
	$(call build_in,arm64) CC='$(ARM64)-gcc --sysroot=$(ARM64_ROOT)' AR=$(ARM64)-ar \
	    LDFLAGS='$(ARM64_LDFLAGS)' \
	    PKG_CONFIG='PKG_CONFIG_LIBDIR=$(ARM64_ROOT)/usr/lib/$(ARM64)/pkgconfig pkg-config' \
	    all unit-tests
	@$(PYTHON) tests/run --out $(DEEP)/arm64 --slow 5 --without tests/qemu_user.txt unit tools
EXPORT_DRIVER := $(BUILD)/tests/browser/export_driver
.PHONY: check-browser
check-browser: need-chromium $(EXPORT_DRIVER) # what a reader sees of exported pages, in a browser
	@$(PYTHON) tests/browser/check_browser.py $(EXPORT_DRIVER)

# need-X fails with a hint how to install X when it is missing.
NEEDED = { echo "$* is missing: script/bootstrap --$(GROUP) installs it" >&2; exit 1; }
GROUP := test
need-node need-npm: GROUP := fake
need-chromium: GROUP := browser
need-dpkg-buildpackage need-dh need-lintian: GROUP := package
NEEDED_COMMANDS := $(patsubst %,need-%,clang valgrind cppcheck clang-tidy node npm chromium \
    dpkg-buildpackage dh lintian)
.PHONY: need-check $(NEEDED_COMMANDS)
need-check: need-%:
	@$(PKG_CONFIG) --exists $* || $(NEEDED)
$(NEEDED_COMMANDS): need-%:
	@command -v $* > /dev/null || $(NEEDED)

# ---- installing

# Without the chapters, which are installed as the manual.
DOCUMENTS := $(wildcard README.md CHANGELOG.md LICENSE)
# Without programs compiled in that folder.
EXAMPLES := $(filter-out %/__pycache__ $(patsubst %.c,%,$(wildcard examples/*.c)),\
    $(wildcard examples/*))
# FILE:PLACE pairs; PLACE is relative to PREFIX. Executable files stay executable.
BUILT := $(IKIGAI) $(TOOLS) $(KEEPER) $(CHECKPOINT) $(SIXEL) $(MANUAL) $(MAN_PAGES)
INSTALLED := $(foreach file,$(BUILT),$(file):$(file:$(OUT)/%=%)) \
    $(foreach file,$(TEMPLATES) $(MODELS) $(COMPACT_PROMPT) $(APPARMOR) $(COMPLETIONS),\
        $(file):$(file)) \
    $(foreach file,$(DOCUMENTS) $(EXAMPLES),$(file):share/doc/ikigai/$(file))
# Folders that belong to ikigai alone; uninstall removes them when they are empty.
OWN_DIRS := $(sysconfdir)/ikigai \
    $(patsubst %,$(PREFIX)/%/ikigai,libexec lib share share/doc)
CONFIG := $(sysconfdir)/ikigai/config.json

# Passed in the environment, so that DESTDIR may contain any character.
export DESTDIR
# Existing folders keep their mode, and an existing config.json is not overwritten.
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

# A package is built from the tarball, not from this tree, and without make's own environment.
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
	lintian --fail-on error,warning $(DEEP)/deb/*.changes
	cp $(DEEP)/deb/ikigai_*.deb $(DEEP)
# The package of release 0.1.0, built from its commit.
EARLIER := 81e5f59
$(DEEP)/earlier/$(EARLIER).deb: | need-dpkg-buildpackage need-dh need-lintian
	rm -rf $(@D)
	git clone -q . $(@D)/source
	git -C $(@D)/source checkout -q $(EARLIER)
	env -i PATH="$$PATH" DEB_BUILD_OPTIONS=nocheck make -C $(@D)/source deb
	cp $(@D)/source/build/ikigai_*.deb $@
	rm -rf $(@D)/source
# One archive for any Linux of this architecture.
.PHONY: static-bundle check-static-bundle
BUNDLE = $(DIST)-linux-$(shell uname -m)
BUNDLE_SHARED := -lmd4c -ldl -lm -lpthread
# As much as possible is linked statically: that starts faster, and makes up for the launcher.
# libuv.a is called libuv_a.a on Debian, and there is no static md4c.
$(BUILD)/bundle/ikigai.bin: $(BUILD)/main.o $(LIB_APP) $(LIB_BASE)
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -Wl,--disable-new-dtags,-rpath,'$$ORIGIN' -o $@ $^ -Wl,-Bstatic \
	    $(patsubst -luv,-l:libuv_a.a,$(filter-out $(BUNDLE_SHARED),$(APP_LIBS))) \
	    -Wl,-Bdynamic $(BUNDLE_SHARED)
$(BUILD)/bundle/launcher: script/bundle_launcher.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -D_GNU_SOURCE -O2 -Wall -Wextra $(WERROR) -static -o $@ $<
static-bundle: all $(BUILD)/bundle/ikigai.bin $(BUILD)/bundle/launcher
	@rm -rf $(DEEP)/bundle
	@DESTDIR="$$(cd $(DEEP) && pwd)/bundle" $(MAKE) -s install
	@script/static-bundle $(DEEP)/bundle $(PREFIX) $(BUILD)/bundle/ikigai.bin \
	    $(BUILD)/bundle/launcher $(BUNDLE)
check-static-bundle: static-bundle # in other systems in folders
	tests/fresh/bundle $(DEEP)/$(BUNDLE).tar.gz
check-package: deb $(DEEP)/earlier/$(EARLIER).deb # in an empty system: install, try, upgrade, remove
	tests/fresh/package --earlier $(DEEP)/earlier/$(EARLIER).deb $(DEEP)/deb/ikigai_*.deb

clean:
	rm -rf $(BUILD) $(patsubst %,$(OUT)/%,bin lib libexec $(if $(filter .,$(OUT)),build \
	    share/ikigai/manual share/man,etc share))

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
