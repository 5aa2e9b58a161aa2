#include "provider/models.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/config_loader.h"
#include "base/file.h"
#include "base/json.h"
#include "base/ownership.h"
#include "base/utf8.h"

enum { DAY_SIZE = sizeof("YYYY-MM-DD") };

struct ik_models {
    ik_model_t **list; /* sorted by name */
    size_t count;
    size_t capacity;
    char day[DAY_SIZE];
};

/* Prices that are valid from one day on. */
typedef struct {
    char from[DAY_SIZE];
    ik_model_price_t figures;
} price_t;

#define NO_PRICE ((ik_model_price_t){-1, -1, -1, -1, 0, 1, 1})

/* --- the list ---------------------------------------------------------------------------- */

ik_models_t *ik_models_create_for_day(const void *ctx, const char *day)
{
    ik_models_t *models = ik_new(ctx, ik_models_t);
    memcpy(models->day, day, strnlen(day, DAY_SIZE - 1));
    return models;
}

static ik_models_t *create_for_today(const void *ctx)
{
    char day[DAY_SIZE];
    time_t now = time(NULL);
    struct tm date;
    strftime(day, sizeof(day), "%Y-%m-%d", gmtime_r(&now, &date));
    return ik_models_create_for_day(ctx, day);
}

/* Binary search for the first len bytes of name: the model's index, or where to insert it. */
static size_t find_index(const ik_models_t *models, const char *name, size_t len, bool *found)
{
    size_t low = 0;
    size_t high = models->count;
    *found = false;
    while (low < high && !*found) {
        size_t middle = low + (high - low) / 2;
        const char *other = models->list[middle]->name;
        int order = strncmp(name, other, len);
        order = order != 0 ? order : -(other[len] != '\0');
        *found = order == 0;
        low = order > 0 ? middle + 1 : *found ? middle : low;
        high = order < 0 ? middle : high;
    }
    return low;
}

static ik_model_t *open_model(ik_models_t *models, const char *name)
{
    bool found;
    size_t index = find_index(models, name, strlen(name), &found);
    if (found) {
        return models->list[index];
    }
    if (models->count == models->capacity) {
        models->capacity = models->capacity == 0 ? 32 : models->capacity * 2;
        models->list = ik_resize_array(models, models->list, ik_model_t *, models->capacity);
    }
    ik_model_t **at = models->list + index;
    memmove(at + 1, at, (models->count - index) * sizeof(*at));
    models->count++;
    *at = ik_new(models, ik_model_t);
    (*at)->name = ik_strdup(*at, name);
    (*at)->price = NO_PRICE;
    return *at;
}

/* --- reading values ---------------------------------------------------------------------- */

typedef struct {
    ik_models_t *models;
    ik_config_loader_t *loader; /* reports errors with file and line */
} reader_t;

typedef struct {
    const char *name;
    /* Stores the value, or reports an error and leaves *into unchanged. */
    void (*read)(reader_t *reader, const char *name, ik_json_span_t value, void *into);
    size_t offset; /* of the field that read fills, in the struct at hand */
} member_t;

static void complain(reader_t *reader, ik_json_span_t value, const char *name, const char *what)
{
    ik_config_loader_fail(reader->loader, IK_ERR_INVALID, value.text, "%s %s",
                          ik_config_loader_show(reader->loader, name), what);
}

static bool expect(reader_t *reader, const char *name, ik_json_span_t value, ik_json_kind_t kind,
                   const char *what)
{
    if (ik_json_kind(value) != kind) {
        complain(reader, value, name, what);
        return false;
    }
    return true;
}

static void read_count(reader_t *reader, const char *name, ik_json_span_t value, void *into)
{
    enum { DIGITS_MAX = 12 };
    if (ik_json_kind(value) != IK_JSON_NUMBER || strspn(value.text, "0123456789") < value.len ||
        value.len > DIGITS_MAX) {
        complain(reader, value, name, "must be a whole number");
    } else {
        *(int64_t *)into =
            strtoll(value.text, NULL, 10); /* a comma or brace follows in the object */
    }
}

/* Parsed by jansson, which reads a decimal point in every locale. */
static void read_number(reader_t *reader, const char *name, ik_json_span_t value, void *into)
{
    json_error_t error;
    json_t *number = ik_json_parse(value.text, value.len, &error);
    if (!json_is_number(number) || json_number_value(number) < 0) {
        complain(reader, value, name, "must be a number that is not negative");
    } else {
        *(double *)into = json_number_value(number);
    }
    json_decref(number);
}

/* Notes and sources are for the reader of the file; only their type is checked. */
static void read_text(reader_t *reader, const char *name, ik_json_span_t value, void *into)
{
    (void)into;
    expect(reader, name, value, IK_JSON_STRING, "must be a string");
}

static bool is_day(const char *text, size_t len)
{
    static const char form[] = "0000-00-00";
    bool good = len == sizeof(form) - 1;
    for (size_t i = 0; good && form[i] != '\0'; i++) {
        good = form[i] == '-' ? text[i] == '-' : text[i] >= '0' && text[i] <= '9';
    }
    return good;
}

static void read_day(reader_t *reader, const char *name, ik_json_span_t value, void *into)
{
    if (ik_json_kind(value) != IK_JSON_STRING || !is_day(value.text + 1, value.len - 2)) {
        complain(reader, value, name, "must be a day, \"YYYY-MM-DD\"");
    } else {
        memcpy(into, value.text + 1, DAY_SIZE - 1);
    }
}

static void read_style(reader_t *reader, const char *name, ik_json_span_t value, void *into)
{
    static const char *const styles[] = {
        [IK_MODEL_THINKING_NONE] = "none",     [IK_MODEL_THINKING_ADAPTIVE] = "adaptive",
        [IK_MODEL_THINKING_BUDGET] = "budget", [IK_MODEL_THINKING_LEVEL] = "level",
        [IK_MODEL_THINKING_EFFORT] = "effort",
    };
    for (int i = IK_MODEL_THINKING_NONE; i <= IK_MODEL_THINKING_EFFORT; i++) {
        if (ik_json_is_text(value, styles[i])) {
            *(ik_model_thinking_t *)into = (ik_model_thinking_t)i;
            return;
        }
    }
    complain(reader, value, name,
             "must be \"none\", \"adaptive\", \"budget\", \"level\" or \"effort\"");
}

/* --- reading objects --------------------------------------------------------------------- */

static void read_object(reader_t *reader, const char *name, ik_json_span_t object,
                        const member_t *keys, void *into)
{
    size_t position = 0;
    ik_json_span_t literal;
    ik_json_span_t value;
    if (!expect(reader, name, object, IK_JSON_OBJECT, "must be an object")) {
        return;
    }
    while (ik_json_next_member(object, &position, &literal, &value)) {
        const member_t *key = keys;
        while (key->name != NULL && !ik_json_key_is(literal, key->name)) {
            key++;
        }
        if (key->name != NULL) {
            key->read(reader, key->name, value, (char *)into + key->offset);
        } else {
            const char *unknown = ik_json_decode(reader->loader->scratch, literal, NULL);
            complain(reader, literal, unknown, "is not a known key here");
        }
    }
}

/* An object whose keys are names that the file chooses. */
typedef void entry_fn(reader_t *reader, const char *name, ik_json_span_t literal,
                      ik_json_span_t value);
static void read_entries(reader_t *reader, const char *name, ik_json_span_t object, entry_fn *read)
{
    size_t position = 0;
    ik_json_span_t literal;
    ik_json_span_t value;
    if (!expect(reader, name, object, IK_JSON_OBJECT, "must be an object")) {
        return;
    }
    while (ik_json_next_member(object, &position, &literal, &value)) {
        read(reader, ik_json_decode(reader->loader->scratch, literal, NULL), literal, value);
    }
}

static void read_long(reader_t *reader, const char *name, ik_json_span_t value, void *into)
{
    static const member_t keys[] = {
        {"over", read_count, offsetof(price_t, figures.long_over)},
        {"input_factor", read_number, offsetof(price_t, figures.long_input_factor)},
        {"output_factor", read_number, offsetof(price_t, figures.long_output_factor)},
        {NULL, NULL, 0},
    };
    read_object(reader, name, value, keys, into);
}

static const member_t price_keys[] = {
    {"from", read_day, offsetof(price_t, from)},
    {"input", read_number, offsetof(price_t, figures.input)},
    {"cached", read_number, offsetof(price_t, figures.cached)},
    {"cache_write", read_number, offsetof(price_t, figures.cache_write)},
    {"output", read_number, offsetof(price_t, figures.output)},
    {"long", read_long, 0},
    {"source", read_text, 0},
    {"note", read_text, 0},
    {NULL, NULL, 0},
};

/* The latest price whose day has come is valid, whatever the order of the list. */
static void read_prices(reader_t *reader, const char *name, ik_json_span_t list, void *into)
{
    price_t best = {.figures = NO_PRICE};
    size_t position = 0;
    ik_json_span_t value;
    if (!expect(reader, name, list, IK_JSON_ARRAY, "must be an array")) {
        return;
    }
    while (ik_json_next_element(list, &position, &value)) {
        price_t price = {.figures = NO_PRICE};
        read_object(reader, "each of prices", value, price_keys, &price);
        if (strcmp(price.from, reader->models->day) <= 0 && strcmp(price.from, best.from) >= 0) {
            best = price;
        }
    }
    ((ik_model_t *)into)->price = best.figures;
}

static void read_limits(reader_t *reader, const char *name, ik_json_span_t value, void *into)
{
    static const member_t keys[] = {
        {"context", read_count, offsetof(ik_model_t, context)},
        {"max_output", read_count, offsetof(ik_model_t, max_output)},
        {"source", read_text, 0},
        {"note", read_text, 0},
        {NULL, NULL, 0},
    };
    read_object(reader, name, value, keys, into);
}

static void read_thinking(reader_t *reader, const char *name, ik_json_span_t value, void *into)
{
    static const member_t keys[] = {
        {"style", read_style, offsetof(ik_model_t, thinking)},
        {"source", read_text, 0},
        {"note", read_text, 0},
        {NULL, NULL, 0},
    };
    read_object(reader, name, value, keys, into);
}

static void read_images(reader_t *reader, const char *name, ik_json_span_t value, void *into)
{
    if (expect(reader, name, value, IK_JSON_BOOLEAN, "must be true or false")) {
        *(ik_model_images_t *)into =
            value.text[0] == 't' ? IK_MODEL_IMAGES_YES : IK_MODEL_IMAGES_NO;
    }
}

/* A provider has one default model: the one that was marked last. */
static void read_default(reader_t *reader, const char *name, ik_json_span_t value, void *into)
{
    ik_model_t *model = into;
    ik_models_t *models = reader->models;
    if (!expect(reader, name, value, IK_JSON_BOOLEAN, "must be true or false")) {
        return;
    }
    bool marked = value.text[0] == 't';
    size_t prefix = strcspn(model->name, "/") + 1; /* "provider/" */
    for (size_t i = 0; marked && i < models->count; i++) {
        if (strncmp(models->list[i]->name, model->name, prefix) == 0) {
            models->list[i]->is_default = false;
        }
    }
    model->is_default = marked;
}

static void read_model(reader_t *reader, const char *name, ik_json_span_t literal,
                       ik_json_span_t value)
{
    static const member_t keys[] = {
        {"limits", read_limits, 0},
        {"thinking", read_thinking, 0},
        {"images", read_images, offsetof(ik_model_t, images)},
        {"prices", read_prices, 0},
        {"default", read_default, 0},
        {"note", read_text, 0},
        {NULL, NULL, 0},
    };
    const char *slash = strchr(name, '/');
    if (slash == NULL || slash == name || slash[1] == '\0') {
        complain(reader, literal, name, "must be named provider/model");
    } else if (expect(reader, name, value, IK_JSON_OBJECT, "must be an object")) {
        read_object(reader, name, value, keys, open_model(reader->models, name));
    }
}

static void read_models(reader_t *reader, const char *name, ik_json_span_t value, void *into)
{
    (void)into;
    read_entries(reader, name, value, read_model);
}

static void read_source(reader_t *reader, const char *name, ik_json_span_t literal,
                        ik_json_span_t value)
{
    static const member_t keys[] = {
        {"where", read_text, 0}, {"read", read_text, 0}, {"note", read_text, 0}, {NULL, NULL, 0}};
    (void)literal;
    read_object(reader, name, value, keys, reader->models);
}

static void read_sources(reader_t *reader, const char *name, ik_json_span_t value, void *into)
{
    (void)into;
    read_entries(reader, name, value, read_source);
}

/* --- files ------------------------------------------------------------------------------- */

static void read_file(reader_t *reader, const char *text, size_t len)
{
    static const member_t keys[] = {{"models", read_models, 0},
                                    {"sources", read_sources, 0},
                                    {"note", read_text, 0},
                                    {NULL, NULL, 0}};
    ik_json_span_t root;
    ik_json_fault_t fault;
    if (!ik_utf8_valid(text, len)) {
        ik_config_loader_fail(reader->loader, IK_ERR_INVALID, NULL, "the file is not UTF-8");
    } else if (!ik_json_scan(text, len, &root, &fault)) {
        ik_config_loader_fail(reader->loader, IK_ERR_INVALID, text + fault.offset,
                              "broken JSON: %s", fault.reason);
    } else {
        read_object(reader, "the model data", root, keys, reader->models);
    }
}

res_t ik_models_parse(ik_models_t *models, const char *file, const char *text, size_t len)
{
    /* The loader reports errors to a configuration, so it gets an empty one. */
    ik_config_t *complaints = ik_new(NULL, ik_config_t);
    ik_config_loader_t loader = {
        .config = complaints, .scratch = talloc_new(complaints), .origin = file, .text = text};
    reader_t reader = {.models = models, .loader = &loader};
    read_file(&reader, text, len);
    talloc_free(complaints);
    return loader.error;
}

/* The file decides what a request seems to cost, so it is checked like a configuration file. */
static res_t load_file(ik_models_t *models, const char *path)
{
    void *scratch = talloc_new(NULL);
    char *text;
    size_t len;
    res_t result = ik_ownership_check_file(path);
    if (is_ok(&result)) {
        result = ik_file_read(scratch, path, IK_CONFIG_FILE_MAX, &text, &len);
    }
    if (is_ok(&result)) {
        result = ik_models_parse(models, path, text, len);
    } else {
        result = result.code == IK_ERR_NOT_FOUND
                     ? OK
                     : ik_error_make(result.code, "refused: %s", result.message);
    }
    talloc_free(scratch);
    return result;
}

res_t ik_models_load(const void *ctx, const ik_paths_t *paths, ik_models_t **out)
{
    ik_models_t *models = create_for_today(ctx);
    *out = models;
    res_t first = load_file(models, paths->models);
    res_t second = load_file(models, paths->user_models);
    return is_err(&first) ? first : second;
}

/* --- looking up -------------------------------------------------------------------------- */

/* Endings of a name that do not make it another model; 0 stands for a digit. "-0" and "-00" are not
 * among them: they distinguish claude-opus-5-5 from claude-opus-5. */
static const char *const endings[] = {"-00000000", "-00-0000", "-00-00", "-0000", "-000",
                                      "-latest",   "-preview", "-exp",   NULL};

static bool matches(const char *text, const char *form)
{
    for (; *form != '\0'; form++, text++) {
        if (*form == '0' ? *text < '0' || *text > '9' : *text != *form) {
            return false;
        }
    }
    return true;
}

/* The length of the name without one such ending; 0 when it has none. */
static size_t strip_ending(const char *name, size_t len)
{
    for (const char *const *ending = endings; *ending != NULL; ending++) {
        size_t tail = strlen(*ending);
        if (tail < len && matches(name + len - tail, *ending)) {
            return len - tail;
        }
    }
    return 0;
}

const ik_model_t *ik_models_find(const ik_models_t *models, const char *name)
{
    static const ik_model_t unknown = {.name = "", .price = NO_PRICE};
    if (models == NULL) {
        return &unknown;
    }
    for (size_t len = strlen(name); len > 0; len = strip_ending(name, len)) {
        bool found;
        size_t index = find_index(models, name, len, &found);
        if (found) {
            return models->list[index];
        }
    }
    return &unknown;
}

const ik_model_t *ik_models_default(const ik_models_t *models, const char *provider)
{
    size_t len = strlen(provider);
    for (size_t i = 0; models != NULL && i < models->count; i++) {
        const ik_model_t *model = models->list[i];
        if (model->is_default && strncmp(model->name, provider, len) == 0 &&
            model->name[len] == '/') {
            return model;
        }
    }
    return NULL;
}

const ik_model_t *ik_models_next(const ik_models_t *models, size_t *position)
{
    return models == NULL || *position >= models->count ? NULL : models->list[(*position)++];
}

/* --- cost -------------------------------------------------------------------------------- */

/* False when the price is needed but unknown. */
static bool add_cost(double *sum, int64_t tokens, double price, double factor)
{
    *sum += tokens > 0 ? (double)tokens * price * factor / 1e6 : 0;
    return tokens <= 0 || price >= 0;
}

double ik_model_cost(const ik_model_t *model, const ik_usage_t *usage)
{
    const ik_model_price_t *price = &model->price;
    bool is_long = price->long_over > 0 && usage->in > price->long_over;
    double in = is_long ? price->long_input_factor : 1;
    double out = is_long ? price->long_output_factor : 1;
    int64_t cached = usage->cached > 0 ? usage->cached : 0;
    int64_t written = usage->cache_write > 0 ? usage->cache_write : 0;
    double sum = 0;
    bool known = usage->in >= 0 && usage->out >= 0 &&
                 add_cost(&sum, usage->in - cached - written, price->input, in) &&
                 add_cost(&sum, cached, price->cached, in) &&
                 add_cost(&sum, written, price->cache_write, in) &&
                 add_cost(&sum, usage->out, price->output, out);
    return known ? sum : -1;
}
