#include <check.h>
#include <math.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"
#include "provider/models.h"
#include "scratch.h"

static const char SHIPPED[] = "share/ikigai/models.json"; /* tests run in the root of the tree */

static ik_models_t *models;

static void set_up(void)
{
    scratch_empty();
    models = ik_models_create_for_day(NULL, "2026-11-15");
}

static void tear_down(void)
{
    talloc_free(models);
}

static res_t parse(const char *text)
{
    return ik_models_parse(models, "m.json", text, strlen(text));
}

static void parse_good(const char *text)
{
    res_t result = parse(text);
    ck_assert_msg(is_ok(&result), "%s", result.message);
}

static ik_models_t *load_shipped(const char *day)
{
    char *text;
    size_t len;
    ik_models_t *shipped = ik_models_create_for_day(NULL, day);
    res_t result = ik_file_read(shipped, SHIPPED, 1 << 20, &text, &len);
    ck_assert_msg(is_ok(&result), "%s", result.message);
    result = ik_models_parse(shipped, SHIPPED, text, len);
    ck_assert_msg(is_ok(&result), "%s", result.message);
    return shipped;
}

static void assert_near(double a, double b)
{
    ck_assert_msg(fabs(a - b) < 1e-9, "%.12f is not %.12f", a, b);
}

/* --- the shipped file -------------------------------------------------------------------- */

typedef struct {
    const char *name;
    int64_t context;
    int64_t max_output;
    double input, cached, output;
    ik_model_thinking_t thinking;
} row_t;

static const row_t rows[] = {
    {"openai/gpt-6-astra", 1050000, 128000, 10, -1, 50, IK_MODEL_THINKING_EFFORT},
    {"openai/gpt-6.1-sol", 1050000, 128000, 2, 0.10, 10, IK_MODEL_THINKING_EFFORT},
    {"openai/gpt-6-sol", 1050000, 128000, 2, 0.20, 10, IK_MODEL_THINKING_EFFORT},
    {"openai/gpt-6-luna", 1050000, 128000, 0.10, 0.01, 0.50, IK_MODEL_THINKING_EFFORT},
    {"openai/gpt-5.6-sol", 1050000, 128000, 4, -1, 20, IK_MODEL_THINKING_EFFORT},
    {"openai/gpt-5.6-terra", 1050000, 128000, 2, 0.20, 12, IK_MODEL_THINKING_EFFORT},
    {"openai/gpt-5.6-luna", 1050000, 128000, 0.20, 0.02, 1.20, IK_MODEL_THINKING_EFFORT},
    {"anthropic/claude-fable-5-1", 1000000, 128000, 10, -1, 50, IK_MODEL_THINKING_ADAPTIVE},
    {"anthropic/claude-opus-5-5", 1000000, 128000, 4, 0.20, 20, IK_MODEL_THINKING_ADAPTIVE},
    {"anthropic/claude-opus-5", 1000000, 128000, 5, 0.50, 25, IK_MODEL_THINKING_ADAPTIVE},
    {"anthropic/claude-sonnet-5-5", 1000000, 128000, 2, 0.20, 10, IK_MODEL_THINKING_ADAPTIVE},
    {"anthropic/claude-haiku-5-5", 1000000, 128000, 0.10, -1, 0.50, IK_MODEL_THINKING_ADAPTIVE},
    {"anthropic/claude-haiku-4-5", 200000, 64000, 1, -1, 5, IK_MODEL_THINKING_BUDGET},
    {"google/gemini-4-argon", 1048576, 65536, 2, 0.10, 10, IK_MODEL_THINKING_LEVEL},
    {"google/gemini-3.8-flash", 1048576, 65536, 0.75, 0.075, 3.75, IK_MODEL_THINKING_LEVEL},
};

START_TEST(the_shipped_file_has_the_published_figures)
{
    ik_models_t *shipped = load_shipped("2026-11-15");
    const ik_model_t *model = ik_models_find(shipped, rows[_i].name);
    ck_assert_str_eq(model->name, rows[_i].name);
    ck_assert_int_eq(model->context, rows[_i].context);
    ck_assert_int_eq(model->max_output, rows[_i].max_output);
    assert_near(model->price.input, rows[_i].input);
    assert_near(model->price.cached, rows[_i].cached);
    assert_near(model->price.output, rows[_i].output);
    ck_assert_int_eq(model->thinking, rows[_i].thinking);
    talloc_free(shipped);
}
END_TEST

START_TEST(the_shipped_defaults)
{
    ik_models_t *shipped = load_shipped("2026-11-15");
    ck_assert_str_eq(ik_models_default(shipped, "openai")->name, "openai/gpt-6.1-sol");
    ck_assert_str_eq(ik_models_default(shipped, "anthropic")->name, "anthropic/claude-opus-5-5");
    ck_assert_str_eq(ik_models_default(shipped, "google")->name, "google/gemini-4-argon");
    ck_assert_ptr_null(ik_models_default(shipped, "open"));
    ck_assert_ptr_null(ik_models_default(shipped, "other"));
    talloc_free(shipped);
}
END_TEST

/* Every group of figures needs a source, and every source a date. */
static void assert_sourced(json_t *sources, const char *model, json_t *group)
{
    const char *name = json_string_value(json_object_get(group, "source"));
    ck_assert_msg(name != NULL, "%s: a group without a source", model);
    json_t *source = json_object_get(sources, name);
    const char *where = json_string_value(json_object_get(source, "where"));
    const char *date = json_string_value(json_object_get(source, "read"));
    ck_assert_msg(where != NULL && date != NULL, "%s: source %s", model, name);
    ck_assert_msg(strncmp(date, "20", 2) == 0, "%s: read %s", name, date);
}

START_TEST(every_shipped_figure_has_a_source_and_a_date)
{
    json_error_t error;
    json_t *root = json_load_file(SHIPPED, JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(root != NULL, "%s", error.text);
    json_t *sources = json_object_get(root, "sources");
    const char *name;
    json_t *model;
    json_object_foreach(json_object_get(root, "models"), name, model)
    {
        static const char *const groups[] = {"limits", "thinking"};
        for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
            json_t *group = json_object_get(model, groups[i]);
            if (group != NULL) {
                assert_sourced(sources, name, group);
            }
        }
        size_t i;
        json_t *price;
        json_array_foreach(json_object_get(model, "prices"), i, price)
        {
            assert_sourced(sources, name, price);
        }
    }
    json_decref(root);
}
END_TEST

START_TEST(prices_change_on_their_day)
{
    static const struct {
        const char *day;
        double input, cached, output;
    } days[] = {
        {"2026-11-30", 2, 0.10, 10}, {"2026-12-01", 4, 0.20, 20}, {"2027-05-01", 4, 0.20, 20}};
    for (size_t i = 0; i < sizeof(days) / sizeof(days[0]); i++) {
        ik_models_t *shipped = load_shipped(days[i].day);
        const ik_model_t *model = ik_models_find(shipped, "google/gemini-4-argon");
        assert_near(model->price.input, days[i].input);
        assert_near(model->price.cached, days[i].cached);
        assert_near(model->price.output, days[i].output);
        talloc_free(shipped);
    }
    ik_models_t *shipped = load_shipped("2027-01-01");
    const ik_model_t *flash = ik_models_find(shipped, "google/gemini-3.8-flash");
    assert_near(flash->price.input, 1.5);
    assert_near(flash->price.cached, -1);
    assert_near(flash->price.output, 7.5);
    talloc_free(shipped);
}
END_TEST

START_TEST(prices_in_any_order_and_none_yet)
{
    parse_good("{\"models\":{\"p/a\":{\"prices\":["
               "{\"from\":\"2026-12-01\",\"input\":3},{\"from\":\"2026-11-15\",\"input\":2},"
               "{\"input\":1}]},"
               "\"p/b\":{\"prices\":[{\"from\":\"2026-11-16\",\"input\":3}]}}}");
    assert_near(ik_models_find(models, "p/a")->price.input, 2);
    assert_near(ik_models_find(models, "p/b")->price.input, -1);
}
END_TEST

/* --- names ------------------------------------------------------------------------------- */

START_TEST(names_and_their_stems)
{
    static const struct {
        const char *asked;
        const char *found; /* "": unknown */
    } cases[] = {
        {"anthropic/claude-haiku-4-5", "anthropic/claude-haiku-4-5"},
        {"anthropic/claude-haiku-4-5-20251001", "anthropic/claude-haiku-4-5"},
        {"openai/gpt-6-sol-2026-08-01", "openai/gpt-6-sol"},
        {"google/gemini-3.8-flash-latest", "google/gemini-3.8-flash"},
        {"google/gemini-3.8-flash-001", "google/gemini-3.8-flash"},
        {"google/gemini-3.8-flash-preview-09-2026", "google/gemini-3.8-flash"},
        {"google/gemini-3.8-flash-exp-0827", "google/gemini-3.8-flash"},
        /* another model, not a dated one */
        {"anthropic/claude-opus-5-9", ""},
        {"anthropic/claude-opus-5-10", ""},
        {"openai/gpt-6-sol-mini", ""},
        {"openai/gpt-6", ""},
        {"openai/gpt-6-solo", ""},
        {"other/gpt-6-sol", ""},
        {"gpt-6-sol", ""},
        {"-20251001", ""},
        {"", ""},
    };
    ik_models_t *shipped = load_shipped("2026-11-15");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ck_assert_str_eq(ik_models_find(shipped, cases[i].asked)->name, cases[i].found);
    }
    talloc_free(shipped);
}
END_TEST

START_TEST(unknown_models_have_no_figures)
{
    const ik_model_t *unknown = ik_models_find(models, "p/unknown");
    ck_assert_int_eq(unknown->context, 0);
    ck_assert_int_eq(unknown->max_output, 0);
    ck_assert_int_eq(unknown->thinking, IK_MODEL_THINKING_UNKNOWN);
    ck_assert_int_eq(unknown->price.long_over, 0);
    assert_near(unknown->price.input, -1);
    assert_near(unknown->price.cached, -1);
    assert_near(unknown->price.cache_write, -1);
    assert_near(unknown->price.output, -1);
    ck_assert_ptr_eq(ik_models_find(NULL, "p/unknown"), unknown);
    ck_assert_ptr_null(ik_models_default(NULL, "p"));
}
END_TEST

START_TEST(many_models_stay_sorted)
{
    char name[32];
    char text[128];
    for (int i = 0; i < 200; i++) {
        snprintf(text, sizeof(text), "{\"models\":{\"p/m%d\":{\"limits\":{\"context\":%d}}}}",
                 i * 37 % 200, 1000 + i * 37 % 200);
        parse_good(text);
    }
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof(name), "p/m%d", i);
        ck_assert_int_eq(ik_models_find(models, name)->context, 1000 + i);
    }
}
END_TEST

/* --- overlaying -------------------------------------------------------------------------- */

START_TEST(a_later_file_overlays_figure_by_figure)
{
    parse_good(
        "{\"models\":{\"p/a\":{\"default\":true,\"limits\":{\"context\":10,\"max_output\":5},"
        "\"thinking\":{\"style\":\"effort\"},\"images\":true,"
        "\"prices\":[{\"input\":1,\"cached\":0.5,\"output\":2}]},\"p/b\":{}}}");
    parse_good("{\"models\":{\"p/a\":{\"limits\":{\"context\":20},"
               "\"prices\":[{\"input\":3,\"output\":4}]},"
               "\"p/b\":{\"default\":true,\"thinking\":{\"style\":\"none\"},"
               "\"images\":false},"
               "\"p/c/d\":{\"limits\":{\"max_output\":7}}}}");
    const ik_model_t *a = ik_models_find(models, "p/a");
    ck_assert_int_eq(a->context, 20);
    ck_assert_int_eq(a->max_output, 5);
    ck_assert_int_eq(a->thinking, IK_MODEL_THINKING_EFFORT);
    ck_assert_int_eq(a->images, IK_MODEL_IMAGES_YES);
    ck_assert_int_eq(ik_models_find(models, "p/b")->images, IK_MODEL_IMAGES_NO);
    ck_assert_int_eq(ik_models_find(models, "p/unknown")->images, IK_MODEL_IMAGES_UNKNOWN);
    assert_near(a->price.input, 3);
    assert_near(a->price.cached, -1); /* prices are replaced as a whole */
    ck_assert(!a->is_default);
    ck_assert_str_eq(ik_models_default(models, "p")->name, "p/b");
    ck_assert_int_eq(ik_models_find(models, "p/b")->thinking, IK_MODEL_THINKING_NONE);
    ck_assert_int_eq(ik_models_find(models, "p/c/d")->max_output, 7);
    parse_good("{\"models\":{\"p/b\":{\"default\":false}}}");
    ck_assert_ptr_null(ik_models_default(models, "p"));
}
END_TEST

START_TEST(a_default_is_one_per_provider)
{
    parse_good("{\"models\":{\"p/a\":{\"default\":true},\"pp/a\":{\"default\":true},"
               "\"p/b\":{\"default\":true}}}");
    ck_assert_str_eq(ik_models_default(models, "p")->name, "p/b");
    ck_assert_str_eq(ik_models_default(models, "pp")->name, "pp/a");
}
END_TEST

START_TEST(notes_and_sources_stand_anywhere)
{
    parse_good(
        "{\"note\":\"n\",\"sources\":{\"s\":{\"where\":\"w\",\"read\":\"2026\",\"note\":\"n\"}},"
        "\"models\":{\"p/a\":{\"note\":\"n\",\"limits\":{\"source\":\"s\",\"note\":\"n\"},"
        "\"thinking\":{\"source\":\"s\",\"note\":\"n\"},"
        "\"prices\":[{\"source\":\"s\",\"note\":\"n\",\"from\":\"2026-09-09\"}]}}}");
}
END_TEST

START_TEST(what_is_free_costs_nothing)
{
    ik_usage_t usage = {1000, 0, 0, 100, 0};
    parse_good("{\"models\":{\"p/a\":{\"prices\":[{\"input\":0,\"output\":0.0}]}}}");
    assert_near(ik_model_cost(ik_models_find(models, "p/a"), &usage), 0);
}
END_TEST

/* --- errors ------------------------------------------------------------------------------ */

typedef struct {
    const char *text;
    const char *message;
} complaint_t;

#define MODEL(text) "{\n\"models\":{\"p/a\":\n{" text "}}}"
#define PRICE(text) MODEL("\"prices\":[\n{" text "}]")

static const complaint_t complaints[] = {
    {"", "m.json:1: broken JSON: value expected"},
    {"{\n\"models\":{},\n}", "m.json:3: broken JSON: string expected"},
    {"{\"note\":\"\xff\"}", "m.json: the file is not UTF-8"},
    {"[]", "m.json:1: the model data must be an object"},
    {"{\"note\":1}", "m.json:1: note must be a string"},
    {"{\n\"modles\":{}}", "m.json:2: modles is not a known key here"},
    {"{\"models\":[]}", "m.json:1: models must be an object"},
    {"{\"sources\":1}", "m.json:1: sources must be an object"},
    {"{\"sources\":{\"s\":1}}", "m.json:1: s must be an object"},
    {"{\"sources\":{\"s\":{\"read\":2026}}}", "m.json:1: read must be a string"},
    {"{\"models\":{\"a\":{}}}", "m.json:1: a must be named provider/model"},
    {"{\"models\":{\"/a\":{}}}", "m.json:1: /a must be named provider/model"},
    {"{\"models\":{\"a/\":{}}}", "m.json:1: a/ must be named provider/model"},
    {"{\"models\":{\"p/a\":1}}", "m.json:1: p/a must be an object"},
    {MODEL("\"default\":1"), "m.json:3: default must be true or false"},
    {MODEL("\"images\":\"no\""), "m.json:3: images must be true or false"},
    {MODEL("\"limits\":{\"context\":\"1\"}"), "m.json:3: context must be a whole number"},
    {MODEL("\"limits\":{\"context\":1.5}"), "m.json:3: context must be a whole number"},
    {MODEL("\"limits\":{\"context\":-1}"), "m.json:3: context must be a whole number"},
    {MODEL("\"limits\":{\"context\":9999999999999}"), "m.json:3: context must be a whole number"},
    {MODEL("\"limits\":{\"contxt\":1}"), "m.json:3: contxt is not a known key here"},
    {MODEL("\"limits\":{\"source\":1}"), "m.json:3: source must be a string"},
    {MODEL("\"thinking\":{\"style\":\"hard\"}"),
     "m.json:3: style must be \"none\", \"adaptive\", \"budget\", \"level\" or \"effort\""},
    {MODEL("\"thinking\":\"effort\""), "m.json:3: thinking must be an object"},
    {MODEL("\"prices\":{}"), "m.json:3: prices must be an array"},
    {MODEL("\"prices\":[1]"), "m.json:3: each of prices must be an object"},
    {PRICE("\"input\":\"2\""), "m.json:4: input must be a number that is not negative"},
    {PRICE("\"output\":-2"), "m.json:4: output must be a number that is not negative"},
    {PRICE("\"from\":\"soon\""), "m.json:4: from must be a day, \"YYYY-MM-DD\""},
    {PRICE("\"from\":\"2026-01-1x\""), "m.json:4: from must be a day, \"YYYY-MM-DD\""},
    {PRICE("\"from\":\"2026/01/19\""), "m.json:4: from must be a day, \"YYYY-MM-DD\""},
    {PRICE("\"from\":\"2026-01-190\""), "m.json:4: from must be a day, \"YYYY-MM-DD\""},
    {PRICE("\"long\":{\"over\":true}"), "m.json:4: over must be a whole number"},
    {MODEL("\"a\\u001bb\":1"), "m.json:3: a?b is not a known key here"},
};

START_TEST(complaints_name_file_and_line)
{
    res_t result = parse(complaints[_i].text);
    ck_assert_int_eq(result.code, IK_ERR_INVALID);
    ck_assert_str_eq(result.message, complaints[_i].message);
}
END_TEST

START_TEST(the_first_complaint_counts_and_the_rest_is_read)
{
    res_t result = parse("{\"models\":{\"p/a\":{\"limits\":{\"context\":\"x\",\"max_output\":5}},\n"
                         "\"nope\":{},\n\"p/b\":{\"limits\":{\"context\":7}}}}");
    ck_assert_str_eq(result.message, "m.json:1: context must be a whole number");
    ck_assert_int_eq(ik_models_find(models, "p/a")->max_output, 5);
    ck_assert_int_eq(ik_models_find(models, "p/b")->context, 7);
}
END_TEST

/* --- files ------------------------------------------------------------------------------- */

static res_t load(ik_models_t **out)
{
    ik_paths_t paths = {.models = scratch_path("prefix/share/ikigai/models.json"),
                        .user_models = scratch_path("home/models.json")};
    return ik_models_load(models, &paths, out);
}

static void make_folders(void)
{
    scratch_make_folder("prefix");
    scratch_make_folder("prefix/share");
    scratch_make_folder("prefix/share/ikigai");
    scratch_make_folder("home");
}

START_TEST(missing_files_are_no_error)
{
    ik_models_t *loaded;
    res_t result = load(&loaded);
    ck_assert_msg(is_ok(&result), "%s", result.message);
    ck_assert_str_eq(ik_models_find(loaded, "p/a")->name, "");
}
END_TEST

START_TEST(the_users_file_beats_the_shipped_one)
{
    ik_models_t *loaded;
    make_folders();
    scratch_write("prefix/share/ikigai/models.json",
                  "{\"models\":{\"p/a\":{\"limits\":{\"context\":1,\"max_output\":2}}}}");
    scratch_write("home/models.json", "{\"models\":{\"p/a\":{\"limits\":{\"context\":3}}}}");
    res_t result = load(&loaded);
    ck_assert_msg(is_ok(&result), "%s", result.message);
    ck_assert_int_eq(ik_models_find(loaded, "p/a")->context, 3);
    ck_assert_int_eq(ik_models_find(loaded, "p/a")->max_output, 2);
}
END_TEST

START_TEST(a_broken_file_leaves_the_other)
{
    ik_models_t *loaded;
    char expected[256];
    make_folders();
    scratch_write("prefix/share/ikigai/models.json",
                  "{\"models\":{\"p/a\":{\"limits\":{\"context\":1}}}}");
    const char *own = scratch_write("home/models.json", "{\n\"models\":");
    res_t result = load(&loaded);
    snprintf(expected, sizeof(expected), "%s:2: broken JSON: value expected", own);
    ck_assert_str_eq(result.message, expected);
    ck_assert_int_eq(ik_models_find(loaded, "p/a")->context, 1);
}
END_TEST

START_TEST(a_file_that_others_may_write_is_refused)
{
    ik_models_t *loaded;
    make_folders();
    const char *own =
        scratch_write("home/models.json", "{\"models\":{\"p/a\":{\"default\":true}}}");
    ck_assert_int_eq(chmod(own, 0666), 0);
    res_t result = load(&loaded);
    ck_assert_int_eq(result.code, IK_ERR_DENIED);
    const char *expected = ik_sprintf(loaded, "refused: %s can be changed by everyone", own);
    ck_assert_msg(strncmp(result.message, expected, strlen(expected)) == 0, "%s", result.message);
    ck_assert_ptr_null(ik_models_default(loaded, "p"));
}
END_TEST

/* --- cost -------------------------------------------------------------------------------- */

typedef struct {
    const char *model;
    ik_usage_t usage;
    double cost;
} cost_t;

static const cost_t costs[] = {
    {"openai/gpt-6.1-sol", {1000000, -1, -1, 100000, -1}, 2 * 2 + 1.5},
    {"openai/gpt-6.1-sol", {100000, 80000, 15000, 1000, 500}, 0.01 + 0.008 + 0.0375 + 0.01},
    {"openai/gpt-6.1-sol", {272000, 0, 0, 0, 0}, 0.544},
    {"openai/gpt-6.1-sol", {272001, 0, 0, 0, 0}, 1.088004},
    {"anthropic/claude-haiku-5-5", {200000, 0, 100000, 1000, 0}, 0.05 + 0.0625 + 0.0025},
    {"anthropic/claude-opus-5-5", {2312, 2000, 300, 57, 20}, 0.000048 + 0.0004 + 0.0015 + 0.00114},
    /* a needed price is unknown */
    {"openai/gpt-6-astra", {1000, 0, 0, 100, 0}, 0.015},
    {"openai/gpt-6-astra", {1000, 10, 0, 100, 0}, -1},
    {"openai/gpt-5.6-terra", {1000, 0, 10, 100, 0}, -1},
    {"p/unknown", {1000, 0, 0, 100, 0}, -1},
    {"p/unknown", {0, 0, 0, 0, 0}, 0},
    /* a count is unknown */
    {"openai/gpt-6.1-sol", {-1, -1, -1, 100, -1}, -1},
    {"openai/gpt-6.1-sol", {100, -1, -1, -1, -1}, -1},
    /* counts that do not add up */
    {"openai/gpt-6.1-sol", {100, 200, 0, 0, 0}, 0.00002},
};

START_TEST(cost_of_an_answer)
{
    ik_models_t *shipped = load_shipped("2026-11-15");
    const ik_model_t *model = ik_models_find(shipped, costs[_i].model);
    assert_near(ik_model_cost(model, &costs[_i].usage), costs[_i].cost);
    talloc_free(shipped);
}
END_TEST

#define LENGTH(table) (int)(sizeof(table) / sizeof((table)[0]))

int main(void)
{
    Suite *suite = suite_create("models");
    TCase *tests = tcase_create("models");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_loop_test(tests, the_shipped_file_has_the_published_figures, 0, LENGTH(rows));
    tcase_add_test(tests, the_shipped_defaults);
    tcase_add_test(tests, every_shipped_figure_has_a_source_and_a_date);
    tcase_add_test(tests, prices_change_on_their_day);
    tcase_add_test(tests, prices_in_any_order_and_none_yet);
    tcase_add_test(tests, names_and_their_stems);
    tcase_add_test(tests, unknown_models_have_no_figures);
    tcase_add_test(tests, many_models_stay_sorted);
    tcase_add_test(tests, a_later_file_overlays_figure_by_figure);
    tcase_add_test(tests, a_default_is_one_per_provider);
    tcase_add_test(tests, notes_and_sources_stand_anywhere);
    tcase_add_test(tests, what_is_free_costs_nothing);
    tcase_add_loop_test(tests, complaints_name_file_and_line, 0, LENGTH(complaints));
    tcase_add_test(tests, the_first_complaint_counts_and_the_rest_is_read);
    tcase_add_test(tests, missing_files_are_no_error);
    tcase_add_test(tests, the_users_file_beats_the_shipped_one);
    tcase_add_test(tests, a_broken_file_leaves_the_other);
    tcase_add_test(tests, a_file_that_others_may_write_is_refused);
    tcase_add_loop_test(tests, cost_of_an_answer, 0, LENGTH(costs));
    suite_add_tcase(suite, tests);
    return scratch_run(suite);
}
