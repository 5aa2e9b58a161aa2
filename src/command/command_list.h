/* All commands, for the table in command.c. */
#pragma once

#include "command/command.h"

extern const ik_command_t ik_command_agents;
extern const ik_command_t ik_command_clear;
extern const ik_command_t ik_command_compact;
extern const ik_command_t ik_command_copy;
extern const ik_command_t ik_command_diff;
extern const ik_command_t ik_command_exit;
extern const ik_command_t ik_command_export;
extern const ik_command_t ik_command_fork;
extern const ik_command_t ik_command_help;
extern const ik_command_t ik_command_init;
extern const ik_command_t ik_command_jobs;
extern const ik_command_t ik_command_kill;
extern const ik_command_t ik_command_login;
extern const ik_command_t ik_command_logout;
extern const ik_command_t ik_command_mode;
extern const ik_command_t ik_command_model;
extern const ik_command_t ik_command_pager;
extern const ik_command_t ik_command_permissions;
extern const ik_command_t ik_command_redo;
extern const ik_command_t ik_command_refresh;
extern const ik_command_t ik_command_remember;
extern const ik_command_t ik_command_resume;
extern const ik_command_t ik_command_rewind;
extern const ik_command_t ik_command_search;
extern const ik_command_t ik_command_sessions;
extern const ik_command_t ik_command_show;
extern const ik_command_t ik_command_skills;
extern const ik_command_t ik_command_status;
extern const ik_command_t ik_command_switch;
extern const ik_command_t ik_command_system;
extern const ik_command_t ik_command_tool;
extern const ik_command_t ik_command_trust;
extern const ik_command_t ik_command_undo;
extern const ik_command_t ik_command_usage;
