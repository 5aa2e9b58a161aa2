/*
 * Any bytes as models.json, over a good one. Complaints name the file; models stand in order, each
 * is found by its name, and no figure is out of bounds.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "pieces.h"
#include "provider/models.h"

static const char good[] = "{\"models\":{\"a/one\":{\"limits\":{\"context\":1000},"
                           "\"default\":true},\"b/two\":{}}}";

static void check_price(const ik_model_t *model)
{
    ik_usage_t usage = {.in = 1000, .out = 10, .cached = 100, .cache_write = 5};
    REQUIRE(!isnan(ik_model_cost(model, &usage)));
}

static void check_models(const ik_models_t *models)
{
    const ik_model_t *before = NULL;
    const ik_model_t *model;
    for (size_t position = 0; (model = ik_models_next(models, &position)) != NULL; before = model) {
        REQUIRE(before == NULL || strcmp(before->name, model->name) < 0);
        REQUIRE(ik_models_find(models, model->name) == model);
        REQUIRE(model->context >= 0 && model->max_output >= 0);
        REQUIRE(model->thinking <= IK_MODEL_THINKING_EFFORT);
        check_price(model);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    void *ctx = talloc_new(NULL);
    char *text = pieces_copy(bytes, len);
    ik_models_t *models = ik_models_create_for_day(ctx, "2026-01-01");
    res_t parsed = ik_models_parse(models, "good", good, strlen(good));
    REQUIRE(is_ok(&parsed));
    parsed = ik_models_parse(models, "FILE", text, len);
    REQUIRE(is_ok(&parsed) || strncmp(parsed.message, "FILE", 4) == 0);
    check_models(models);
    char *name = ik_strndup(ctx, text, len);
    REQUIRE(ik_models_find(models, name) != NULL);
    const ik_model_t *chosen = ik_models_default(models, name);
    REQUIRE(chosen == NULL || chosen->is_default);
    free(text);
    talloc_free(ctx);
    return 0;
}
