/* Shared by the drivers of the provider tests: makes a target from a few strings, without
 * configuration files, environment or network. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "provider/provider.h"

static inline _Noreturn void driver_fail(const char *what, const char *detail)
{
    fprintf(stderr, "%s: %s\n", what, detail);
    exit(1);
}

static inline const ik_provider_t *driver_wire(const char *name)
{
    const ik_provider_t *const wires[] = {&ik_provider_chat, &ik_provider_responses,
                                          &ik_provider_anthropic, &ik_provider_google};
    for (size_t i = 0; i < sizeof(wires) / sizeof(wires[0]); i++) {
        if (strcmp(wires[i]->name, name) == 0) {
            return wires[i];
        }
    }
    driver_fail("no such wire format", name);
}

static inline int driver_type(const char *wire)
{
    if (strcmp(wire, "anthropic") == 0) {
        return IK_CONFIG_TYPE_ANTHROPIC;
    }
    return strcmp(wire, "google") == 0 ? IK_CONFIG_TYPE_GOOGLE : IK_CONFIG_TYPE_OPENAI;
}

static inline int driver_api(const char *wire)
{
    if (strcmp(wire, "responses") == 0) {
        return IK_CONFIG_API_RESPONSES;
    }
    return strcmp(wire, "chat") == 0 ? IK_CONFIG_API_CHAT : IK_CONFIG_API_NONE;
}

static inline ik_target_t *driver_target(const void *ctx, const char *wire, const char *provider,
                                         const char *base_url, const char *model)
{
    ik_target_t *target = ik_new(ctx, ik_target_t);
    ik_config_provider_t *config = ik_new(target, ik_config_provider_t);
    *config = (ik_config_provider_t){.name = provider,
                                     .type = driver_type(wire),
                                     .api = driver_api(wire),
                                     .base_url = base_url,
                                     .configured = true};
    ik_model_t *facts = ik_new(target, ik_model_t);
    facts->name = ik_sprintf(target, "%s/%s", provider, model);
    target->config = config;
    target->provider = driver_wire(wire);
    target->name = facts->name;
    target->model = model;
    target->facts = facts;
    return target;
}

static inline void driver_read(ik_buffer_t *out, FILE *file, const char *name)
{
    if (file == NULL) {
        driver_fail("cannot be read", name);
    }
    while (!feof(file) && !ferror(file)) {
        size_t room = ik_buffer_reserve(out, 65536);
        out->len += fread(out->data + out->len, 1, room, file);
    }
    ik_buffer_append(out, "", 0);
}
