/*
 * The host of a URL. It decides where a key may be sent and which API a server speaks, so there is
 * one parser for it. The authority ends at the first "/", "?" or "#", and everything before its
 * last
 * "@" is a user name: "https://api.openai.com@evil.example" has the host evil.example.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Points into the URL. */
typedef struct {
    const char *text; /* "api.openai.com", "[::1]" */
    size_t len;       /* 0: there is none */
    const char *end;  /* of the authority, after the port */
} ik_url_host_t;

/* The URL may lack its scheme. */
ik_url_host_t ik_url_host_find(const char *url);
/* Compares without regard to case. */
bool ik_url_host_is(ik_url_host_t host, const char *name);
/* The URL with a path behind its own, on ctx. Its query follows the path, and that of the path, if
 * it has one; a fragment is left out, since it is never sent. */
char *ik_url_host_append(const void *ctx, const char *url, const char *path);
/* Where a redirect from url leads, on ctx; NULL: to another scheme, host or port, to a path that is
 * relative to that of url, or nowhere. location is the header of that name; NULL: there is none. */
char *ik_url_host_redirect(const void *ctx, const char *url, const char *location);
