#include "export/export.h"

#include <string.h>

#include "base/array.h"

static const ik_export_t *const formats[] = {
    &ik_export_jsonl,
    &ik_export_markdown,
    &ik_export_html,
};

const char ik_export_names[] = "jsonl, md, html";

const ik_export_t *ik_export_find(const char *name)
{
    for (size_t i = 0; i < IK_LENGTH(formats); i++) {
        if (strcmp(formats[i]->name, name) == 0) {
            return formats[i];
        }
    }
    return NULL;
}
