/*
 * The world a twin of libmtml shows: cards, links and faults, read from the text file that TANGRAM_MTML_WORLD names.
 * The file is looked at before every call, so a test changes the world by writing it anew.
 *
 * One statement per line. After "card N" come the properties of that card, until the next "card":
 *
 *   driver VERSION | library VERSION | generation N     N changed: handles made before are invalid until a new start
 *   library 1.5.0: the cards are those of the first start in this process, and what newer ones have is not there
 *   handles N       no more than N of each kind are made
 *   process CARD PID MEMORY     holds memory of the card, in bytes; PID 0: has no number where the library runs
 *   card N, then: uuid, name, serial, sbdf, bios, control, primary, render (texts to the end of the line),
 *       memory, used (bytes), utilisation, temperature, power (mW), clock, memory-clock, brand, cores, numa (-1 none),
 *       ecc (-1 not supported, 0 off, 1 on), corrected, uncorrected, pending, retired, ports, mpc, hidden (1: not shown)
 *   link A PORT B PORT | state CARD PORT STATE | level A B LEVEL
 *   fault FUNCTION CODE [CARD]      FUNCTION may be *; without a card, every call of that function
 *   block FUNCTION FILE [CARD]      the call makes FILE.reached and waits until the file exists
 */
#ifndef TANGRAM_MTML_WORLD_H
#define TANGRAM_MTML_WORLD_H

#include <stdint.h>

enum { MOST_CARDS = 32, MOST_PORTS = 32, MOST_RULES = 64, MOST_PROCESSES = 512, TEXT = 160 };
enum { S3000 = 0x02221ed5, S4000 = 0x03231ed5, SUBSYSTEM = 0x01001ed5 };

enum { MOST_HANDLES = 1 << 15 };
/* Handles: the number of the card and one, 0 for one that is free. */
struct Gpu { int card; };
struct Memory { int card; };
struct Device { int card; };

typedef struct {
    int present, hidden;
    char uuid[TEXT], name[TEXT], serial[TEXT], sbdf[TEXT], bios[TEXT], control[TEXT], primary[TEXT], render[TEXT];
    long long memory, used, corrected, uncorrected;
    int utilisation, temperature, power, clock, memory_clock, brand, cores, numa;
    int ecc, pending, retired, ports, mpc;
    int remote_card[MOST_PORTS], remote_port[MOST_PORTS], state[MOST_PORTS];
    int level[MOST_CARDS];
} Card;

typedef struct {
    char function[TEXT], file[TEXT * 2];
    int code, card;
} Rule;

typedef struct {
    int card, pid;
    long long memory;
} Process;

typedef struct {
    char driver[TEXT], library[TEXT];
    int generation, handles, is_oldest;
    Card cards[MOST_CARDS];
    Rule faults[MOST_RULES], blocks[MOST_RULES];
    int faults_known, blocks_known;
    Process processes[MOST_PROCESSES];
    int processes_known;
} World;

/* Reads the file if it changed since the last time. Returns 0 when there is no world to show. */
int world_refresh(World *world);

#endif
