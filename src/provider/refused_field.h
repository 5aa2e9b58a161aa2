/*
 * Finds out which optional field of a request a server refuses, from the parameter it names or from
 * its message. Servers spell the same field in different ways and phrase refusals differently.
 */
#pragma once

#include "provider/error_body.h"

/* Returns ik_field_t bits; 0 when no optional field is refused. When reasoning as a whole is
 * refused, the bits of all its fields are set. */
unsigned ik_refused_field_find(const ik_error_body_t *body);
