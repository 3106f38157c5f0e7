/* Processes: of one card, and of the node. */
#define _GNU_SOURCE
#include "inside.h"

#include <dirent.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PROCESSES 512
/* The number that processes on a card without one have it under. */
#define LIMITED_CARD 9999

static int is_number(const struct dirent *entry) { return entry->d_name[0] >= '0' && entry->d_name[0] <= '9'; }

/* The slice with that layout number of its own; -1 for a card, -2 for neither. One that was made since the library last
 * looked at the bus is not known to it, and processes in it are not listed. */
static int slice_with(long gid, Seen **card) {
    for (int at = 0; at < card_count; at++)
        if (cards[at].gid == gid && cards[at].node >= 0) return *card = &cards[at], -1;
    for (int at = 0; at < slice_count; at++)
        if (slices[at].gid == gid) return *card = &cards[slices[at].card], slices[at].number;
    return -2;
}

/* One process, of a card or of all; whether it is to be listed. */
static int read_process(const char *pid, const Seen *only, int hidden, ProcessRecord3 *out) {
    char folder[PATH_SIZE / 2], name[64] = "";
    struct dirent **rings;
    snprintf(folder, sizeof folder, "%s/proc/%s", class_folder(), pid);
    long nspid = read_number(0, "%s/nspid", folder);
    if (!nspid && !hidden) return 0;
    memset(out, 0, sizeof *out);
    for (int at = 0; at < 64; at++) out->cards[at].slice_id = -1;
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/ringbuf", folder);
    int count = scandir(path, &rings, is_number, alphasort);
    for (int at = 0; at < count; at++) {
        Seen *card = NULL;
        long gid = read_number(-1, "%s/%s/gpuid", path, rings[at]->d_name);
        int work = read_number(1, "%s/%s/type", path, rings[at]->d_name) != 1;
        free(rings[at]);
        if (!work || !is_there("%s/vram_%ld", folder, gid)) continue;
        if (only && only->gid != gid) continue;
        int slice = slice_with(gid, &card);
        if (!card || slice < -1 || out->count == 64) continue;
        ProcessOnCard3 *here = &out->cards[out->count++];
        put_text(here->bdf, sizeof here->bdf, card->bdf);
        here->gpu_id = card->limited ? LIMITED_CARD : card->number;
        here->memory = (unsigned long)read_number(0, "%s/vram_%ld", folder, gid);
        here->slice_id = slice;
    }
    if (count >= 0) free(rings);
    if (!out->count) return 0;
    out->pid = (u32)nspid;
    read_text(name, sizeof name, "%s/name", folder);
    name[strcspn(name, "\n")] = 0;
    put_text(out->name, sizeof out->name, name);
    return 1;
}

/* As many as there is room for, without a word about the rest; with no room, how many there are. */
static u32 list_processes(const Seen *only, u32 room, void *to, size_t size, int second, u32 *found) {
    static ProcessRecord3 all[MOST_PROCESSES];
    struct dirent **entries;
    char folder[PATH_SIZE];
    u32 there = 0;
    /* The second form alone tells of those that are not seen from here. */
    int hidden = size == sizeof(ProcessRecord2) && second;
    snprintf(folder, sizeof folder, "%s/proc", class_folder());
    int count = scandir(folder, &entries, is_number, versionsort);
    for (int at = 0; at < count; at++) {
        if (there < MOST_PROCESSES) there += (u32)read_process(entries[at]->d_name, only, hidden, &all[there]);
        free(entries[at]);
    }
    if (count >= 0) free(entries);
    *found = there;
    u32 given = there < room ? there : room;
    for (u32 at = 0; at < room && size == sizeof(ProcessRecord3) && !second; at++) {
        /* The newest form clears all of the room. */
        ProcessRecord3 *record = (ProcessRecord3 *)to + at;
        memset(record, 0, sizeof *record);
        for (int each = 0; each < 64; each++) record->cards[each].slice_id = -1;
    }
    for (u32 at = 0; at < given; at++) {
        ProcessRecord3 *record = &all[at], *there_at = (ProcessRecord3 *)((char *)to + at * size);
        size_t width = size == sizeof(ProcessRecord1) ? sizeof(ProcessOnCard1) : sizeof(ProcessOnCard3);
        memcpy(there_at, record, offsetof(ProcessRecord3, cards));
        for (u32 each = 0; each < record->count; each++)
            memcpy((char *)there_at->cards + each * width, &record->cards[each], second ? offsetof(ProcessOnCard3, slice_id) : width);
        if (quirks.huge_counts) there_at->count = 0xFFFFFFFFu;
    }
    return given;
}

#define PROCESSES(second)                                                    \
    NEED(count && out);                                                   \
    if (card_of(id) && card_of(id)->limited) FATAL_WITHOUT_CARDS;         \
    Seen *card = card_of(id);                                             \
    /* A limited card that has a node has its list too. */                \
    if (!card || card->physical || card->node < 0) return GONE;           \
    u32 there, given = list_processes(card, *count, out, sizeof *out, second, &there); \
    *count = counted(*count ? given : there);                             \
    return DONE

u32 mxSmlGetSingleGpuProcess(u32 id, u32 *count, ProcessRecord1 *out) { ENTER(id); PROCESSES(0); }

u32 mxSmlGetSingleGpuProcess_v2(u32 id, u32 *count, ProcessRecord2 *out) {
    ENTER(id);
    PROCESSES(1);
}

u32 mxSmlGetSingleGpuProcess_v3(u32 id, u32 *count, ProcessRecord3 *out) { ENTER(id); PROCESSES(0); }

u32 mxSmlGetNumberOfProcess(u32 *out) {
    ENTER(-1);
    FATAL_WITHOUT_CARDS;
    NEED(out);
    u32 there;
    list_processes(NULL, 0, NULL, 0, 0, &there);
    *out = counted(there);
    return DONE;
}

u32 mxSmlGetProcessInfo_v3(u32 count, ProcessRecord3 *out) {
    ENTER(-1);
    FATAL_WITHOUT_CARDS;
    NEED(out);
    u32 there;
    list_processes(NULL, count, out, sizeof *out, 0, &there);
    return DONE;
}
