/* The stream of OpenAI's Responses; stream_fuzz.h says what must hold. */
#include "stream_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    return stream_fuzz(&ik_provider_responses, bytes, len);
}
