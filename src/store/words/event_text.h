/* The text of an event that can be searched, as people read it. */
#pragma once

#include "base/buffer.h"
#include "store/store.h"

enum { IK_EVENT_TEXT_MAX = 128 * 1024 };

/* Appends the text of user and assistant with its reasoning, the name and arguments of a call, or
 * the output of a result without the JSON around it; nothing for system prompts and compactions. At
 * most IK_EVENT_TEXT_MAX bytes, cut between characters. */
void ik_event_text_append(ik_buffer_t *out, const ik_store_event_t *event);
