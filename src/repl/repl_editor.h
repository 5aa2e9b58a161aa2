/* The draft in an external editor: $VISUAL, $EDITOR or vi. The program goes on meanwhile; what it
 * has to show waits until the terminal is free again. */
#pragma once

#include "repl/repl_view.h"

void ik_repl_editor_open(ik_repl_view_t *view);
