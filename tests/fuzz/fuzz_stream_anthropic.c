/* The stream of Anthropic's Messages; stream_fuzz.h says what must hold. */
#include "stream_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    return stream_fuzz(&ik_provider_anthropic, bytes, len);
}
