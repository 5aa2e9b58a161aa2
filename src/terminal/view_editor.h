/* Edits the draft in an external editor: $VISUAL, $EDITOR or vi. The program keeps running; its
 * output waits until the editor returns the terminal. */
#pragma once

#include "terminal/view.h"

void ik_view_editor_open(ik_view_t *view);
