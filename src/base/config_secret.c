#include "base/config_secret.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

static const ik_config_secret_t *find(const ik_config_t *config, const char *variable)
{
    for (size_t i = 0; i < config->secret_count; i++) {
        if (strcmp(config->secrets[i].name, variable) == 0) {
            return &config->secrets[i];
        }
    }
    return NULL;
}

void ik_config_secret_add(ik_config_t *config, const char *variable)
{
    if (find(config, variable) != NULL) {
        return;
    }
    const char *value = getenv(variable);
    size_t count = config->secret_count;
    config->secrets = ik_resize_array(config, config->secrets, ik_config_secret_t, count + 1);
    config->secrets[count] = (ik_config_secret_t){
        .name = ik_strdup(config, variable),
        .value = value == NULL ? NULL : ik_strdup(config, value),
    };
    config->secret_count = count + 1;
}

const char *ik_config_secret_value(const ik_config_t *config, const char *variable)
{
    const ik_config_secret_t *secret = find(config, variable);
    bool held = secret != NULL && secret->value != NULL && secret->value[0] != '\0';
    return held ? secret->value : NULL;
}

void ik_config_secret_forget(ik_config_t *config, const char *variable)
{
    for (size_t i = 0; i < config->secret_count; i++) {
        if (strcmp(config->secrets[i].name, variable) == 0) {
            ik_config_secret_destroy(config->secrets[i].value);
            config->secrets[i].value = NULL;
        }
    }
}

char *ik_config_secret_clean(const void *ctx, const char *key)
{
    static const char space[] = " \t\r\n";
    key += strspn(key, space);
    size_t len = strlen(key);
    while (len > 0 && strchr(space, key[len - 1]) != NULL) {
        len--;
    }
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)key[i] <= ' ' || (unsigned char)key[i] >= 0x7f) {
            return NULL;
        }
    }
    return ik_strndup(ctx, key, len);
}

void ik_config_secret_destroy(const char *key)
{
    if (key != NULL) {
        explicit_bzero((char *)key, strlen(key));
        talloc_free((char *)key);
    }
}

void ik_config_scrub_environment(const ik_config_t *config)
{
    for (size_t i = 0; i < config->secret_count; i++) {
        const char *variable = config->secrets[i].name;
        size_t len = strlen(variable);
        /* All entries of that name: a parent may have passed several, and /proc shows them all. */
        for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
            if (strncmp(*entry, variable, len) == 0 && (*entry)[len] == '=') {
                char *value = *entry + len + 1;
                explicit_bzero(value, strlen(value));
            }
        }
        unsetenv(variable);
    }
}
