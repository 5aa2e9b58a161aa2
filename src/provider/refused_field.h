/*
 * Which optional field of a request a server refuses, told from the field or the sentence it
 * complains with: servers spell one field in many ways, and complain in as many.
 */
#pragma once

#include "provider/error_body.h"

/* ik_field_t bits; 0 when no such field is refused. Reasoning refused as a whole has the bits of
 * all its parts. */
unsigned ik_refused_field_find(const ik_error_body_t *body);
