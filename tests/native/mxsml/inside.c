#include "inside.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static atomic_uint inside, most_inside, calls;

int call_begins(void) {
    unsigned now = atomic_fetch_add(&inside, 1) + 1, most = atomic_load(&most_inside);
    while (now > most && !atomic_compare_exchange_weak(&most_inside, &most, now)) {}
    atomic_fetch_add(&calls, 1);
    return 0;
}

void call_ends(int *ignored) {
    (void)ignored;
    atomic_fetch_sub(&inside, 1);
}

u32 twin_most_inside(void) { return atomic_load(&most_inside); }
u32 twin_calls(void) { return atomic_load(&calls); }

u32 usable_cards(int physical) {
    u32 found = 0;
    for (int at = 0; at < card_count; at++) found += !cards[at].limited && cards[at].physical == physical;
    return found;
}

void hand_over(void *to, const void *from, size_t size) {
    memcpy(to, from, size);
    if (quirks.grown) memset((char *)to + size, 0xEE, 256);
}

void put_text(char *to, size_t size, const char *text) {
    if (quirks.unterminated) memset(to, 'A', size);
    else snprintf(to, size, "%s", text);
}

u32 answer_text(char *to, u32 *size, const char *text) {
    u32 length = (u32)strlen(text) + 1;
    if (*size < length) return TOO_SMALL;
    if (quirks.unterminated) memset(to, 'A', *size);
    else memcpy(to, text, length);
    if (quirks.huge_counts) *size = 0xFFFFFFFFu;
    return DONE;
}

u32 counted(u32 honest) { return quirks.huge_counts ? 0xFFFFFFFFu : honest; }

int numbers_in(const char *text, int base, long *to, int most) {
    char line[256];
    int found = 0;
    for (; found < most && line_of(text, found, line, sizeof line); found++)
        if (!number_in(line, base, &to[found])) break;
    return found;
}
