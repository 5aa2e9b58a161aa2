/* The yardstick: the least a program can do. Linked statically as noop, dynamically as empty. */
int main(void)
{
    return 0;
}
