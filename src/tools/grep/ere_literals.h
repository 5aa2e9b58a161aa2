/*
 * Which text every match must contain: a small set of literals of which each match holds at least
 * one. Looking for those first is many times faster than matching.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "tools/grep/ere.h"
#include "tools/grep/literal_scan.h"

typedef struct {
    const char *text; /* with ignore_case, ASCII letters are small */
    size_t len;
} ik_ere_literal_t;

typedef struct {
    ik_ere_literal_t items[IK_LITERAL_SCAN_MAX];
    size_t count;    /* 0 when nothing useful is known */
    bool sufficient; /* every line that holds one of them matches */
} ik_ere_literals_t;

/* The text is allocated on ctx. */
void ik_ere_literals_find(const void *ctx, const ik_ere_t *ere, bool ignore_case,
                          ik_ere_literals_t *literals);
