/*
 * What is known about models (context window, output limit, prices, how they think), from a data
 * file: PREFIX/share/ikigai/models.json, overlaid by ~/.ikigai/models.json. A model that is in
 * neither works all the same; its figures are then zero.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/paths.h"
#include "conversation/usage.h"

/* How a model is told to think. */
typedef enum {
    IK_MODEL_THINKING_UNKNOWN, /* send nothing about it */
    IK_MODEL_THINKING_NONE,
    IK_MODEL_THINKING_ADAPTIVE, /* anthropic: {"type":"adaptive"} */
    IK_MODEL_THINKING_BUDGET,   /* anthropic: budget_tokens; google: thinkingBudget */
    IK_MODEL_THINKING_LEVEL,    /* google: thinkingLevel */
    IK_MODEL_THINKING_EFFORT,   /* openai: reasoning.effort */
} ik_model_thinking_t;

typedef struct {
    /* USD per million tokens; negative: not known */
    double input;
    double cached;
    double cache_write;
    double output;
    /* Above this many input tokens the whole request costs this much more; 0: no such rule. */
    int64_t long_over;
    double long_input_factor;
    double long_output_factor;
} ik_model_price_t;

typedef struct {
    const char *name; /* provider/model */
    int64_t context;  /* tokens; 0: not known */
    int64_t max_output;
    ik_model_thinking_t thinking;
    bool is_default; /* of its provider */
    ik_model_price_t price;
} ik_model_t;

typedef struct ik_models ik_models_t;

/* From the two files; one that is missing is no error. On an error (unreadable, broken, wrong
 * type: with file and line) *out holds what could be read. */
res_t ik_models_load(const void *ctx, const ik_paths_t *paths, ik_models_t **out);
/* From the text of one file, for what is not there yet or is to be overlaid. */
res_t ik_models_parse(ik_models_t *models, const char *file, const char *text, size_t len);
/* Empty. Prices are those of the day it is made. */
ik_models_t *ik_models_create(const void *ctx);
/* The same with the prices of another day, YYYY-MM-DD. */
ik_models_t *ik_models_create_for_day(const void *ctx, const char *day);

/* Never NULL: an unknown model's figures are zero or negative. A dated or tagged name
 * (claude-haiku-4-5-20251001, gpt-6-sol-2026-08-01, gemini-3.8-flash-latest) is found by its stem.
 */
const ik_model_t *ik_models_find(const ik_models_t *models, const char *name);
/* The model of that provider marked as its default, or NULL. */
const ik_model_t *ik_models_default(const ik_models_t *models, const char *provider);
/* All of them, by name: start with position 0; NULL at the end. models may be NULL. */
const ik_model_t *ik_models_next(const ik_models_t *models, size_t *position);

/* What an answer cost in USD; negative when a needed price or count is not known. */
double ik_model_cost(const ik_model_t *model, const ik_usage_t *usage);
