#include "provider/request.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

ik_request_t *ik_request_create(const void *ctx, const ik_target_t *target)
{
    ik_request_t *request = ik_new(ctx, ik_request_t);
    request->target = target;
    return request;
}

void ik_request_add_tool(ik_request_t *request, const char *name, const char *description,
                         json_t *parameters_schema, json_t *returns_schema)
{
    request->tools =
        ik_resize_array(request, request->tools, ik_request_tool_t, request->tool_count + 1);
    request->tools[request->tool_count++] = (ik_request_tool_t){
        .name = name,
        .description = description,
        .parameters = parameters_schema,
        .returns = returns_schema,
    };
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const ik_request_tool_t *)a)->name, ((const ik_request_tool_t *)b)->name);
}

void ik_request_sort_tools(ik_request_t *request)
{
    if (request->tool_count > 1) {
        qsort(request->tools, request->tool_count, sizeof(*request->tools), compare_names);
    }
}
