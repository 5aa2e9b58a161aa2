/* What the user wants of a conversation when it begins, whichever front end holds it. Plain data
 * from the command line. */
#pragma once

#include <stdbool.h>

typedef struct {
    const char *prompt; /* the first message; NULL: it is typed, or comes from standard input */
    bool without_tools;
    bool trust;         /* the project's tools, for this run */
    bool continue_last; /* the last session of this folder */
    const char *resume; /* a session's id or the beginning of one; NULL: none */
    bool choose;        /* resume a session that the user chooses from a list */
    bool fork;          /* go on in a copy of that session */
    bool deliver_all;   /* a shared history gets the sessions that were begun without it, too */
} ik_wish_t;
