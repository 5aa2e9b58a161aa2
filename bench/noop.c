/* The yardstick: the least a program can do. Linked statically. */
int main(void)
{
    return 0;
}
