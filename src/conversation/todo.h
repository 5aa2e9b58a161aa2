/*
 * The list of the tool todo. It has no other state than the conversation: the last successful
 * result of the tool is the list.
 */
#pragma once

#include "conversation/conversation.h"
#include "conversation/tool_display.h"

/* The index after the last message in [from, until) that is such a result; 0: there is none. */
size_t ik_todo_find(const ik_conversation_t *conversation, size_t from, size_t until);
/* Reads the list of such a message. Returns the text that list points into, on ctx; NULL when the
 * message has no list, as an empty one. */
char *ik_todo_read(const void *ctx, const ik_msg_t *message, ik_tool_display_t *list);
/* All items with their states, for a model that no longer sees the message, on ctx; NULL when none
 * is open. */
char *ik_todo_format(const void *ctx, const ik_msg_t *message);
