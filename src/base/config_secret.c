#include "base/config_secret.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"

static const ik_config_secret_t *find(const ik_config_t *config, const char *variable)
{
    for (size_t i = 0; i < config->secret_count; i++) {
        if (strcmp(config->secrets[i].name, variable) == 0) {
            return &config->secrets[i];
        }
    }
    return NULL;
}

static void record(ik_config_t *config, const char *variable, const char *value)
{
    size_t count = config->secret_count;
    config->secrets = ik_resize_array(config, config->secrets, ik_config_secret_t, count + 1);
    config->secrets[count] = (ik_config_secret_t){
        .name = ik_strdup(config, variable),
        .value = value == NULL ? NULL : ik_strdup(config, value),
    };
    config->secret_count = count + 1;
}

void ik_config_secret_add(ik_config_t *config, const char *variable)
{
    if (find(config, variable) == NULL) {
        record(config, variable, getenv(variable));
    }
}

void ik_config_secret_copy(ik_config_t *config, const ik_config_t *other)
{
    for (size_t i = 0; i < other->secret_count; i++) {
        record(config, other->secrets[i].name, other->secrets[i].value);
    }
}

const char *ik_config_secret_value(const ik_config_t *config, const char *variable)
{
    const ik_config_secret_t *secret = find(config, variable);
    bool held = secret != NULL && secret->value != NULL && secret->value[0] != '\0';
    return held ? secret->value : NULL;
}

/* --- variables that are secret by their name --------------------------------------------- */

bool ik_config_secret_is_held_back(const char *name, size_t len)
{
    static const char *const names[] = {"IKIGAI_DB", "PGPASSWORD"};
    static const char *const endings[] = {"_API_KEY", "_TOKEN", "_PASSWORD"};
    for (size_t i = 0; i < IK_LENGTH(names); i++) {
        if (len == strlen(names[i]) && memcmp(name, names[i], len) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < IK_LENGTH(endings); i++) {
        size_t ending = strlen(endings[i]);
        if (len >= ending && memcmp(name + len - ending, endings[i], ending) == 0) {
            return true;
        }
    }
    return memmem(name, len, "_SECRET", strlen("_SECRET")) != NULL;
}

char **ik_config_secret_environment(const void *ctx)
{
    size_t count = 0;
    while (environ != NULL && environ[count] != NULL) {
        count++;
    }
    char **passed = ik_new_array(ctx, char *, count + 1);
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        size_t len = strcspn(environ[i], "=");
        bool channel = strncmp(environ[i], "IKIGAI_HOST_FD=", strlen("IKIGAI_HOST_FD=")) == 0;
        if (!channel && !ik_config_secret_is_held_back(environ[i], len)) {
            passed[n++] = environ[i];
        }
    }
    passed[n] = NULL;
    return passed;
}

const char *ik_config_secret_held_back(const ik_config_t *config, const char *variable)
{
    const ik_config_secret_t *secret = find(config, variable);
    if (secret != NULL) {
        return secret->value;
    }
    return ik_config_secret_is_held_back(variable, strlen(variable)) ? getenv(variable) : NULL;
}

static void add_name(const void *ctx, const char ***names, size_t *count, const char *name,
                     size_t len)
{
    for (size_t i = 0; i < *count; i++) {
        if (strlen((*names)[i]) == len && memcmp((*names)[i], name, len) == 0) {
            return;
        }
    }
    *names = ik_resize_array(ctx, *names, const char *, *count + 2);
    (*names)[(*count)++] = ik_strndup(*names, name, len);
    (*names)[*count] = NULL;
}

static bool is_passed(const ik_config_t *config, const char *name, size_t len)
{
    for (const char **passed = config->pass_env; passed != NULL && *passed != NULL; passed++) {
        if (strlen(*passed) == len && memcmp(*passed, name, len) == 0) {
            return true;
        }
    }
    return false;
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

const char **ik_config_secret_list_held_back(const void *ctx, const ik_config_t *config)
{
    const char **names = ik_new_array(ctx, const char *, 1);
    size_t count = 0;
    for (size_t i = 0; i < config->secret_count; i++) {
        const ik_config_secret_t *secret = &config->secrets[i];
        if (secret->value != NULL && !is_passed(config, secret->name, strlen(secret->name))) {
            add_name(ctx, &names, &count, secret->name, strlen(secret->name));
        }
    }
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
        size_t len = strcspn(*entry, "=");
        if (ik_config_secret_is_held_back(*entry, len) && !is_passed(config, *entry, len)) {
            add_name(ctx, &names, &count, *entry, len);
        }
    }
    qsort(names, count, sizeof(*names), compare_names);
    return names;
}

/* --- provider keys ----------------------------------------------------------------------- */

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
