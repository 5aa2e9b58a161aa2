/*
 * What all agents of this process share. Filled by main and the front ends; agents only read it,
 * but for what they learn of providers.
 */
#pragma once

#include "agent/left_out.h"
#include "base/config.h"
#include "io/http.h"
#include "provider/models.h"
#include "store/history.h"
#include "tool/tool_discovery.h"
#include "tool/tool_external.h"

typedef struct {
    const ik_config_t *config;
    const ik_models_t *models;
    ik_loop_t *loop;
    ik_http_t *http;
    ik_history_t *history;       /* NULL: nothing is stored */
    ik_tool_external_t external; /* how tools are run */
    /* NULL until discovery is complete, or without tools. */
    const ik_tool_registry_t *tool_registry;
    tool_scan_state_t tool_scan_state;
    ik_left_out_t left_out; /* of those, what a provider refused; agents add to it */
} ik_shared_ctx_t;
