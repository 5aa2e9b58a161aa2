/*
 * What all agents of a workspace share. The workspace fills it in; agents only read it, except for
 * left_out.
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
    ik_history_t *history;          /* NULL: sessions are not stored */
    ik_tool_context_t tool_context; /* for every call */
    const ik_call_gate_t *gate;     /* approves every call */
    /* NULL until discovery is complete, and when there are no tools. */
    const ik_tool_registry_t *tool_registry;
    tool_scan_state_t tool_scan_state;
    ik_left_out_t left_out; /* tools that a provider rejected; agents add to it */
} ik_shared_ctx_t;
