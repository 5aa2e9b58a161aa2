# One Makefile, no repeated rules: sources are found by wildcard, a folder under src/tools is a tool.
#
#   make                build bin/ikigai, libexec/ikigai/*, lib/ikigai/keeper
#   make check          everything a change must pass; check-deep adds sanitizers, valgrind, fuzzing
#   make OUT=dir        build somewhere else than in the tree itself
#   make SANITIZE=address,undefined OUT=build/asan

VERSION := 0.1.0
PREFIX ?= /usr/local
CC ?= cc
OUT ?= .
BUILD ?= $(if $(filter .,$(OUT)),build/obj,$(OUT)/obj)
PYTHON ?= /usr/bin/python3

sysconfdir := $(if $(filter /usr,$(PREFIX)),/etc,$(PREFIX)/etc)

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror
OPTIMIZE ?= -O2
CFLAGS ?= -g $(OPTIMIZE) -fstack-protector-strong
ALL_CFLAGS = -std=gnu11 $(WARNINGS) $(CFLAGS) $(if $(SANITIZE),-fsanitize=$(SANITIZE) \
    -fno-omit-frame-pointer) -MMD -MP -Isrc -D_GNU_SOURCE -DIKIGAI_VERSION='"$(VERSION)"'
ALL_LDFLAGS = $(LDFLAGS) $(if $(SANITIZE),-fsanitize=$(SANITIZE))

# Paths are compiled in only where they are used.
$(BUILD)/base/paths.o: ALL_CFLAGS += -DIKIGAI_PREFIX='"$(PREFIX)"'

APP_LIBS := -luv -ljansson -ltalloc -lmd
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
IKIGAI := $(OUT)/bin/ikigai

objects = $(patsubst src/%.c,$(BUILD)/%.o,$(1))
BASE_OBJECTS := $(call objects,$(wildcard src/base/*.c))
COMMON_OBJECTS := $(call objects,$(wildcard src/tools/common/*.c))
KEEPER_OBJECTS := $(call objects,$(wildcard src/keeper/*.c))
APP_SOURCES := $(filter-out src/base/% src/tools/% src/keeper/%,$(shell find src -name '*.c' | sort))
APP_OBJECTS := $(call objects,$(APP_SOURCES))
LIB_BASE := $(BUILD)/libbase.a
LIB_COMMON := $(BUILD)/libcommon.a
LIB_APP := $(BUILD)/libapp.a

.PHONY: all tools clean install uninstall
all: $(IKIGAI) $(TOOLS) $(KEEPER) $(if $(filter-out .,$(OUT)),$(OUT)/etc/ikigai/config.json)
tools: $(TOOLS)
$(patsubst %,tool-%,$(subst _,-,$(TOOL_DIRS))): tool-%: $(OUT)/libexec/ikigai/%
.PHONY: $(patsubst %,tool-%,$(subst _,-,$(TOOL_DIRS)))

$(BUILD)/%.o: src/%.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c -o $@ $<

$(LIB_BASE): $(BASE_OBJECTS)
$(LIB_COMMON): $(COMMON_OBJECTS)
$(LIB_APP): $(filter-out $(BUILD)/main.o,$(APP_OBJECTS))
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

ifneq ($(OUT),.)
$(OUT)/etc/ikigai/config.json: etc/ikigai/config.json
	@mkdir -p $(@D)
	cp $< $@
endif

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
