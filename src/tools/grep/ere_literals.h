/*
 * Finds a small set of literals such that every match contains at least one of them. Scanning for
 * the literals first is many times faster than matching.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "tools/grep/ere.h"
#include "tools/grep/literal_scan.h"

typedef struct {
    const char *text; /* with ignore_case, ASCII letters are lower case */
    size_t len;
} ik_ere_literal_t;

typedef struct {
    ik_ere_literal_t items[IK_LITERAL_SCAN_MAX];
    size_t count;    /* 0: no useful literals */
    bool sufficient; /* every line that contains one of them matches */
} ik_ere_literals_t;

/* The text is allocated on ctx. */
void ik_ere_literals_find(const void *ctx, const ik_ere_t *ere, bool ignore_case,
                          ik_ere_literals_t *literals);
