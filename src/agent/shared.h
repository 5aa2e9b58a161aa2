/*
 * What all agents of a workspace share. The workspace fills it; agents only read it, except for
 * what they learn about providers.
 */
#pragma once

#include "agent/call_gate.h"
#include "agent/left_out.h"
#include "base/config.h"
#include "io/http.h"
#include "provider/models.h"
#include "store/history.h"
#include "tool/tool_discovery.h"
#include "tool/tool_runner.h"

typedef struct {
    const ik_config_t *config;
    const ik_models_t *models;
    ik_loop_t *loop;
    ik_http_t *http;
    ik_history_t *history;          /* NULL: nothing is stored */
    ik_tool_context_t tool_context; /* of every call */
    const ik_call_gate_t *gate;     /* every call passes it */
    /* NULL until discovery is complete, or without tools. */
    const ik_tool_registry_t *tool_registry;
    tool_scan_state_t tool_scan_state;
    ik_left_out_t left_out; /* of those, what a provider refused; agents add to it */
} ik_shared_ctx_t;
