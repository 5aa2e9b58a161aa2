/* The draft in an external editor: $VISUAL, $EDITOR or vi. The program goes on meanwhile; what it
 * has to show waits until the terminal is free again. */
#pragma once

#include "terminal/view.h"

void ik_view_editor_open(ik_view_t *view);
