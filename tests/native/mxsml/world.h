/* The cards a twin of the library pretends to have, read from the file named by TANGRAM_MXSML_WORLD.
 *
 * One thing per line: a word, then key=value pairs; %20 stands for a blank. The file is read again whenever it is
 * replaced, so that a test can lose a card between two calls. Slices, modes and policies are kept across such changes:
 * they belong to the kernel, not to the description. A line `fixed` ends the looking, for measuring. */
#ifndef TANGRAM_MXSML_WORLD_H
#define TANGRAM_MXSML_WORLD_H

#include "abi.h"

#define MOST_CARDS 64
#define MOST_SLICES 16
#define MOST_RULES 64
#define MOST_PROCESSES 512
#define MOST_PORTS 8

typedef struct {
    int present, busy_pid;
    u32 megabytes, compute, minor, online, priority, usage;
    long used;
    char uuid[96], alias[32];
} Slice;

typedef struct {
    char bdf[32];
    u32 toggle, policy;
    Slice slices[MOST_SLICES];
} Kept;

typedef struct {
    u32 id, brand, mode, sriov, cap, sensor_speed, link_state, clock, next_minor;
    int parent, state, reason_code, usage, temperature, gone, limited, numa;
    long total, used;
    uint64_t throttle;
    u32 ways[3], ecc[5];
    u32 port_states[MOST_PORTS];
    int peers[MOST_PORTS];
    int has_links;
    char bdf[32], uuid[96], name[32], reason[64], driver[64], bios[64], serial[64], chip[64], link_text[64];
    Kept *kept;
} Card;

typedef struct { char call[64]; long code; int device, times, after; char fifo[256]; } Rule;
typedef struct { u32 pid, card; int slice; unsigned long memory; char name[64]; } Running;

typedef struct {
    Card cards[MOST_CARDS];
    int card_count;
    Rule rules[MOST_RULES];
    int rule_count;
    Running running[MOST_PROCESSES];
    int running_count;
    unsigned char levels[MOST_CARDS][MOST_CARDS];
    int fixed, huge_counts, unterminated, grown, ports_from_one, rounds_memory, stays_offline;
} World;

extern World world;

/* Reads the world if it changed, obeys the rules for this call: -1 to go on, else the code to return. */
long check(const char *call, int device);
Card *card_of(u32 id);

#endif
