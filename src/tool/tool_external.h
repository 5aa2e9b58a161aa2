/*
 * The runner of tools that are executables: one process per call, JSON on stdin and stdout, and
 * whatever happens to it becomes an envelope.
 */
#pragma once

#include "tool/tool_runner.h"

extern const ik_tool_runner_t ik_tool_external;
