/*
 * Facts about models (context window, output limit, prices, style of thinking), read from
 * PREFIX/share/ikigai/models.json and overlaid by ~/.ikigai/models.json. A model in neither file
 * can be used too; its figures are then unknown.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/paths.h"
#include "conversation/usage.h"

/* The field that controls how a model thinks. */
typedef enum {
    IK_MODEL_THINKING_UNKNOWN, /* no field is sent */
    IK_MODEL_THINKING_NONE,
    IK_MODEL_THINKING_ADAPTIVE, /* anthropic: {"type":"adaptive"} */
    IK_MODEL_THINKING_BUDGET,   /* anthropic: budget_tokens; google: thinkingBudget */
    IK_MODEL_THINKING_LEVEL,    /* google: thinkingLevel */
    IK_MODEL_THINKING_EFFORT,   /* openai: reasoning.effort */
} ik_model_thinking_t;

/* Whether a model sees images. */
typedef enum {
    IK_MODEL_IMAGES_UNKNOWN, /* tried */
    IK_MODEL_IMAGES_NO,
    IK_MODEL_IMAGES_YES,
} ik_model_images_t;

typedef struct {
    /* USD per million tokens; negative: unknown */
    double input;
    double cached;
    double cache_write;
    double output;
    /* With more input tokens than long_over, the whole request costs more by these factors; 0:
     * there is no such rule. */
    int64_t long_over;
    double long_input_factor;
    double long_output_factor;
} ik_model_price_t;

typedef struct {
    const char *name; /* provider/model */
    int64_t context;  /* tokens; 0: unknown */
    int64_t max_output;
    ik_model_thinking_t thinking;
    ik_model_images_t images;
    bool is_default; /* it is its provider's default model */
    ik_model_price_t price;
} ik_model_t;

typedef struct ik_models ik_models_t;

/* Reads the two files; a missing file is not an error. On an error (an unreadable file, broken JSON
 * or a value of the wrong type, reported with file and line) *out holds what could be read. */
res_t ik_models_load(const void *ctx, const ik_paths_t *paths, ik_models_t **out);
/* Reads the text of one file into models, over what is already there. */
res_t ik_models_parse(ik_models_t *models, const char *file, const char *text, size_t len);
/* Creates an empty list. Files parsed into it give the prices of the day, YYYY-MM-DD. */
ik_models_t *ik_models_create_for_day(const void *ctx, const char *day);

/* Never NULL: the figures of an unknown model are zero or negative. A dated or tagged name
 * (claude-haiku-4-5-20251001, gpt-6-sol-2026-08-01, gemini-3.8-flash-latest) finds the model
 * without the date or tag. */
const ik_model_t *ik_models_find(const ik_models_t *models, const char *name);
/* The provider's default model, or NULL. */
const ik_model_t *ik_models_default(const ik_models_t *models, const char *provider);
/* Walks all models in the order of their names: start with position 0; NULL at the end. models may
 * be NULL. */
const ik_model_t *ik_models_next(const ik_models_t *models, size_t *position);

/* The cost of an answer in USD; negative when a price or count it needs is unknown. */
double ik_model_cost(const ik_model_t *model, const ik_usage_t *usage);
