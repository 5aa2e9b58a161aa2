/*
 * terminal/screen driven line by line, so that a test can put a real terminal behind it.
 *
 *   screen_driver COLUMNS ROWS [plain]
 *
 *   ["commit", row] ["live", [row…], cursor row, cursor column] ["send", text]
 *   ["flush"] ["taken", false]    whether the terminal takes frames
 *   ["resize", columns, rows] ["reflow", ik_screen_reflow_t] ["synchronised", bool] ["pause"]
 * ["resume"]
 *   ["hold"] ["end"]
 *
 * Each line is answered by {"frames": [hex…], "done": what flush said, "waiting": bytes}.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "terminal/screen.h"

typedef struct {
    ik_screen_t *screen;
    json_t *frames; /* since the last answer */
    bool takes;
    bool done;
} driver_t;

static void on_write(void *data, const char *bytes, size_t len)
{
    driver_t *driver = data;
    ik_buffer_t hex; /* a frame may end inside a character */
    ik_buffer_init(&hex, driver->screen, IK_BUFFER_UNLIMITED);
    for (size_t i = 0; i < len; i++) {
        static const char digits[] = "0123456789abcdef";
        ik_buffer_append_byte(&hex, digits[(unsigned char)bytes[i] >> 4]);
        ik_buffer_append_byte(&hex, digits[bytes[i] & 15]);
    }
    json_array_append_new(driver->frames, json_stringn(hex.data, hex.len));
    ik_buffer_reset(&hex);
}

static bool is_drained(void *data)
{
    return ((driver_t *)data)->takes;
}

static void show_live(driver_t *driver, json_t *rows, int cursor_row, int cursor_column)
{
    size_t index;
    json_t *row;
    ik_screen_begin_live(driver->screen);
    json_array_foreach(rows, index, row)
    {
        ik_screen_add_live(driver->screen, json_string_value(row), json_string_length(row));
    }
    ik_screen_place_cursor(driver->screen, cursor_row, cursor_column);
}

static void end(driver_t *driver)
{
    ik_buffer_t out;
    ik_buffer_init(&out, driver->screen, IK_BUFFER_UNLIMITED);
    ik_screen_append_end(driver->screen, &out);
    on_write(driver, out.data, out.len);
    ik_buffer_reset(&out);
}

static bool obey_plain(driver_t *driver, const char *name, json_t *first)
{
    if (strcmp(name, "flush") == 0) {
        driver->done = ik_screen_flush(driver->screen);
    } else if (strcmp(name, "taken") == 0) {
        driver->takes = json_is_true(first);
    } else if (strcmp(name, "reflow") == 0) {
        ik_screen_set_reflow(driver->screen, (ik_screen_reflow_t)json_integer_value(first));
    } else if (strcmp(name, "synchronised") == 0) {
        ik_screen_set_synchronised(driver->screen, json_is_true(first));
    } else if (strcmp(name, "pause") == 0) {
        ik_screen_pause(driver->screen);
    } else if (strcmp(name, "resume") == 0) {
        ik_screen_resume(driver->screen);
    } else if (strcmp(name, "hold") == 0) {
        ik_screen_hold(driver->screen);
    } else if (strcmp(name, "end") == 0) {
        end(driver);
    } else {
        return false;
    }
    return true;
}

static bool obey(driver_t *driver, json_t *command)
{
    const char *name = json_string_value(json_array_get(command, 0));
    json_t *first = json_array_get(command, 1);
    int second = (int)json_integer_value(json_array_get(command, 2));
    int third = (int)json_integer_value(json_array_get(command, 3));
    if (name == NULL) {
        return false;
    }
    if (strcmp(name, "commit") == 0) {
        ik_screen_commit(driver->screen, json_string_value(first), json_string_length(first));
    } else if (strcmp(name, "send") == 0) {
        ik_screen_send(driver->screen, json_string_value(first), json_string_length(first));
    } else if (strcmp(name, "live") == 0) {
        show_live(driver, first, second, third);
    } else if (strcmp(name, "resize") == 0) {
        ik_screen_resize(driver->screen, (int)json_integer_value(first), second);
    } else {
        return obey_plain(driver, name, first);
    }
    return true;
}

static bool answer(driver_t *driver, const char *line)
{
    json_t *command = json_loads(line, 0, NULL);
    driver->frames = json_array();
    bool known = command != NULL && obey(driver, command);
    json_t *report = json_pack("{so sb sI}", "frames", driver->frames, "done", driver->done,
                               "waiting", (json_int_t)ik_screen_waiting(driver->screen));
    json_dumpf(report, stdout, JSON_COMPACT);
    putchar('\n');
    fflush(stdout);
    json_decref(report);
    json_decref(command);
    return known;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: screen_driver COLUMNS ROWS [plain]\n");
        return 2;
    }
    driver_t driver = {.takes = true};
    ik_screen_options_t options = {on_write, is_drained, &driver, argc > 3};
    void *ctx = talloc_new(NULL);
    driver.screen = ik_screen_create(ctx, &options, atoi(argv[1]), atoi(argv[2]));
    char *line = NULL;
    size_t capacity = 0;
    bool known = true;
    while (known && getline(&line, &capacity, stdin) > 0) {
        known = answer(&driver, line);
    }
    free(line);
    talloc_free(ctx);
    return known ? 0 : 1;
}
