/*
 * Runs tools that are executables: one process per call, JSON on stdin and stdout. However the
 * process ends, the result is an envelope.
 */
#pragma once

#include "tool/tool_runner.h"

extern const ik_tool_runner_t ik_tool_external;
