/* The colours of a theme: `theme` names a built-in one or a file. The file is read once all layers
 * are, because only the last one counts. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/config_loader.h"
#include "base/file.h"
#include "base/nearest.h"
#include "base/utf8.h"

static const char *const bases[] = {
    [IK_CONFIG_THEME_AUTO] = "auto",
    [IK_CONFIG_THEME_DARK] = "dark",
    [IK_CONFIG_THEME_LIGHT] = "light",
    [IK_CONFIG_THEME_MONO] = "mono",
};

static const char *const colours[IK_CONFIG_COLOUR_COUNT] = {
    [IK_CONFIG_COLOUR_TEXT] = "text",       [IK_CONFIG_COLOUR_DIM] = "dim",
    [IK_CONFIG_COLOUR_HEADING] = "heading", [IK_CONFIG_COLOUR_CODE] = "code",
    [IK_CONFIG_COLOUR_LINK] = "link",       [IK_CONFIG_COLOUR_TOOL] = "tool",
    [IK_CONFIG_COLOUR_ADDED] = "added",     [IK_CONFIG_COLOUR_REMOVED] = "removed",
    [IK_CONFIG_COLOUR_WARNING] = "warning", [IK_CONFIG_COLOUR_ERROR] = "error",
    [IK_CONFIG_COLOUR_STATUS] = "status",
};

static size_t find(const char *const *words, size_t count, const char *text, size_t len)
{
    size_t i = 0;
    while (i < count && (strlen(words[i]) != len || memcmp(words[i], text, len) != 0)) {
        i++;
    }
    return i;
}

/* --- the file ---------------------------------------------------------------------------- */

static void read_base(ik_config_loader_t *loader, ik_json_span_t value)
{
    if (ik_json_is_text(value, "dark")) {
        loader->config->colours.base = IK_CONFIG_THEME_DARK;
    } else if (ik_json_is_text(value, "light")) {
        loader->config->colours.base = IK_CONFIG_THEME_LIGHT;
    } else {
        ik_config_loader_fail(loader, IK_ERR_INVALID, value.text,
                              "base must be \"dark\" or \"light\"");
    }
}

static void read_colour(ik_config_loader_t *loader, ik_json_span_t name, ik_json_span_t value)
{
    size_t len;
    const char *text = ik_json_decode(loader->scratch, name, &len);
    const char *shown = ik_config_loader_show(loader, text);
    size_t index = find(colours, IK_CONFIG_COLOUR_COUNT, text, len);
    if (index == IK_CONFIG_COLOUR_COUNT) {
        ik_nearest_t nearest;
        ik_nearest_init(&nearest, text, len);
        for (size_t i = 0; i < IK_CONFIG_COLOUR_COUNT; i++) {
            ik_nearest_offer(&nearest, colours[i]);
        }
        ik_config_loader_warn(loader, name.text, "unknown colour %s%s%s%s", shown,
                              nearest.found == NULL ? "" : "; did you mean ",
                              nearest.found == NULL ? "" : nearest.found,
                              nearest.found == NULL ? "" : "?");
        return;
    }
    text =
        ik_json_kind(value) == IK_JSON_STRING ? ik_json_decode(loader->scratch, value, &len) : "";
    if (text[0] != '#' || len != 7 || strspn(text + 1, "0123456789abcdefABCDEF") != 6) {
        ik_config_loader_fail(loader, IK_ERR_INVALID, value.text,
                              "colors.%s must be written \"#RRGGBB\"", shown);
        return;
    }
    loader->config->colours.colours[index] = (uint32_t)strtoul(text + 1, NULL, 16);
}

static void read_colours(ik_config_loader_t *loader, ik_json_span_t object)
{
    size_t position = 0;
    ik_json_span_t name;
    ik_json_span_t value;
    if (ik_json_kind(object) != IK_JSON_OBJECT) {
        ik_config_loader_fail(loader, IK_ERR_INVALID, object.text,
                              "colors must be an object of names and colours");
        return;
    }
    while (ik_json_next_member(object, &position, &name, &value)) {
        read_colour(loader, name, value);
    }
}

static void parse(ik_config_loader_t *loader, size_t len)
{
    ik_json_span_t theme;
    ik_json_fault_t fault;
    ik_json_span_t name;
    ik_json_span_t value;
    size_t position = 0;
    if (!ik_utf8_valid(loader->text, len)) {
        ik_config_loader_fail(loader, IK_ERR_INVALID, NULL, "the theme is not UTF-8");
        return;
    }
    if (!ik_json_scan(loader->text, len, &theme, &fault)) {
        ik_config_loader_fail(loader, IK_ERR_INVALID, loader->text + fault.offset,
                              "broken JSON: %s", fault.reason);
        return;
    }
    if (ik_json_kind(theme) != IK_JSON_OBJECT) {
        ik_config_loader_fail(loader, IK_ERR_INVALID, theme.text, "a theme must be an object");
        return;
    }
    while (ik_json_next_member(theme, &position, &name, &value)) {
        if (ik_json_is_text(name, "base")) {
            read_base(loader, value);
        } else if (ik_json_is_text(name, "colors")) {
            read_colours(loader, value);
        } else {
            size_t name_len;
            ik_config_loader_warn(
                loader, name.text, "unknown key %s",
                ik_config_loader_show(loader, ik_json_decode(loader->scratch, name, &name_len)));
        }
    }
}

/* --- finding it -------------------------------------------------------------------------- */

/* A relative path begins at the folder of the configuration that names it. */
static char *expand(ik_config_loader_t *loader, const char *path)
{
    const char *home = getenv("HOME");
    if (strncmp(path, "~/", 2) == 0 && home != NULL) {
        return ik_sprintf(loader->scratch, "%s%s", home, path + 1);
    }
    const char *file = loader->source == IK_CONFIG_SYSTEM ? loader->config->system_file
                                                          : loader->config->user_file;
    return path[0] == '/'
               ? ik_strdup(loader->scratch, path)
               : ik_sprintf(loader->scratch, "%s/%s", ik_file_folder(loader->scratch, file), path);
}

void ik_config_theme_settle(ik_config_loader_t *loader)
{
    ik_config_t *config = loader->config;
    const ik_config_key_t *key = ik_config_find_key(IK_CONFIG_TOP, "theme");
    size_t base = find(bases, IK_LENGTH(bases), config->theme, strlen(config->theme));
    if (base < IK_LENGTH(bases)) {
        config->colours.base = (ik_config_theme_base_t)base;
        return;
    }
    loader->source = ik_config_key_source(key, config);
    char *path = expand(loader, config->theme);
    char *text;
    size_t len;
    res_t read = ik_file_read(loader->scratch, path, IK_CONFIG_FILE_MAX, &text, &len);
    if (is_ok(&read)) {
        loader->origin = path;
        loader->text = text;
        parse(loader, len);
        loader->text = NULL;
        return;
    }
    if (read.code == IK_ERR_NOT_FOUND) {
        read = ERR(NOT_FOUND, "theme must be auto, dark, light, mono or a file, and there is no %s",
                   path);
    }
    ik_config_loader_fail_at(loader, loader->theme_place, &read);
}
