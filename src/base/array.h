/* The number of elements of an array, never of a pointer to one. */
#pragma once

#define IK_LENGTH(array) (sizeof(array) / sizeof((array)[0]))
