/* The number of elements of an array; wrong for a pointer. */
#pragma once

#define IK_LENGTH(array) (sizeof(array) / sizeof((array)[0]))
