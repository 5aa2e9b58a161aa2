/*
 * Searching among many tools of servers. Their descriptions and parameters would fill every
 * request, so beyond IK_TOOL_SEARCH_FROM of them a request has their names and first sentences, and
 * the model calls tool_search for the rest. What it has found stays in its requests.
 */
#pragma once

#include "tool/tool_runner.h"

enum {
    IK_TOOL_SEARCH_FROM = 40,  /* tools of servers that are sent as they are */
    IK_TOOL_SEARCH_MOST = 128, /* tools in one request */
};

/* Adds the tool to a registry that needs it, unless that has one of its name. */
void ik_tool_search_add(ik_tool_registry_t *registry);
/* Whether the tools of servers are searched for. */
bool ik_tool_search_applies(const ik_tool_registry_t *registry);
/* The names and first sentences of the tools of servers, a paragraph for the model, on ctx. */
char *ik_tool_search_catalogue(const void *ctx, const ik_tool_registry_t *registry);

/* How an envelope of tool_search begins. */
extern const char ik_tool_search_opening[];
