/* A yardstick: the smallest program. Linked statically as noop, dynamically as empty. */
int main(void)
{
    return 0;
}
