/*
 * A twin of Moore Threads' libmtml for machines without a card. It answers what world.h describes, keeps the promises
 * the real one documents (counted starts, refused null pointers and short buffers) and fails on demand. As in libmtml
 * 1.5.0 every handle that is asked for is a new one, whose memory comes back only to those who free it.
 */
#define _GNU_SOURCE
#include "abi.h"
#include "world.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct Library { int unused; };
struct System { int unused; };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static World world;
static int started, generation;
static struct Library library_handle;
static struct System system_handle;
static struct Device devices[MOST_HANDLES];
static struct Gpu gpus[MOST_HANDLES];
static struct Memory memories[MOST_HANDLES];
static int first_start_done, first_start_code, listed[MOST_CARDS];

static void unlock(int *held) {
    if (*held) pthread_mutex_unlock(&lock);
}

static int there(int number) { return world.cards[number].present && !world.cards[number].hidden; }

/* Whether the library has the card in its list. */
static int shown(int number) { return world.is_oldest && first_start_done ? listed[number] : there(number); }

static int concerns(const Rule *rule, const char *function, int card) {
    int named = strcmp(rule->function, "*") == 0 ? card >= 0 : strcmp(rule->function, function) == 0;
    return named && (rule->card < 0 || rule->card == card);
}

static void say_reached(const char *file) {
    char beside[TEXT * 2 + sizeof ".reached"];
    snprintf(beside, sizeof beside, "%s.reached", file);
    int made = open(beside, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (made >= 0) close(made);
}

static void wait_where_told(const char *function, int card) {
    for (int at = 0; at < world.blocks_known; at++) {
        if (!concerns(&world.blocks[at], function, card)) continue;
        char file[sizeof world.blocks[at].file];
        strcpy(file, world.blocks[at].file);
        pthread_mutex_unlock(&lock);
        say_reached(file);
        while (access(file, F_OK) != 0) usleep(2000);
        pthread_mutex_lock(&lock);
        world_refresh(&world);
    }
}

/* Takes the lock, looks at the world, waits or fails where told. `card` is -1 for calls that concern none. */
static int enter(const char *function, int card) {
    pthread_mutex_lock(&lock);
    if (!world_refresh(&world)) return DRIVER_NOT_LOADED;
    wait_where_told(function, card);
    for (int at = 0; at < world.faults_known; at++)
        if (concerns(&world.faults[at], function, card)) return world.faults[at].code;
    if (card < 0) return OK;
    if (!started || generation != world.generation) return INVALID_ARGUMENT;
    return there(card) ? OK : DRIVER_FAILURE;
}

static int in_table(const void *pointer, const void *table, size_t size, int *card) {
    if ((const char *)pointer < (const char *)table) return 0;
    size_t offset = (size_t)((const char *)pointer - (const char *)table);
    if (offset % size != 0 || offset / size >= MOST_HANDLES) return 0;
    *card = *(const int *)pointer - 1;
    return *card >= 0;
}

static void *new_handle(void *table, size_t size, int card) {
    int most = world.handles ? world.handles : MOST_HANDLES;
    for (int at = 0; at < most; at++) {
        int *handle = (int *)((char *)table + (size_t)at * size);
        if (*handle) continue;
        *handle = card + 1;
        return handle;
    }
    return NULL;
}

#define NEW(out, table, card)                                            \
    do {                                                                 \
        void *made = new_handle(table, sizeof *(table), card);           \
        if (!made) return INSUFFICIENT_MEMORY;                           \
        *(out) = made;                                                   \
    } while (0)

#define ENTER(number)                                          \
    int held __attribute__((cleanup(unlock), unused)) = 1;     \
    int entered = enter(__func__, number);                     \
    if (entered != OK) return entered

#define CARD_OF(pointer, table)                                                                    \
    int number = -1;                                                                               \
    if (!in_table(pointer, table, sizeof *(table), &number)) return INVALID_ARGUMENT;              \
    ENTER(number);                                                                                 \
    Card *card __attribute__((unused)) = &world.cards[number]

#define NEEDS(pointer) \
    if (!(pointer)) return INVALID_ARGUMENT

static int give_text(const char *text, char *out, uint32_t length) {
    NEEDS(out);
    if (strlen(text) + 1 > length) return INSUFFICIENT_SIZE;
    strcpy(out, text);
    return OK;
}

#define GIVES_TEXT(function, field)                                   \
    int function(Device *device, char *out, uint32_t length) {        \
        CARD_OF(device, devices);                                     \
        return give_text(card->field, out, length);                   \
    }

#define GIVES(function, Part, table, type, value)  \
    int function(Part *part, type *out) {          \
        CARD_OF(part, table);                      \
        NEEDS(out);                                \
        *out = (type)(value);                      \
        return OK;                                 \
    }

/* ---- the library ---- */

int mtmlLibraryInit(Library **out) {
    NEEDS(out);
    ENTER(-1);
    if (!first_start_done || !world.is_oldest) {
        for (int at = 0; at < MOST_CARDS; at++) listed[at] = there(at);
        first_start_code = world.is_oldest ? DRIVER_FAILURE : OK;
        for (int at = 0; at < MOST_CARDS; at++)
            if (listed[at]) first_start_code = OK;
        first_start_done = 1;
    }
    if (first_start_code != OK) return first_start_code;
    if (started++ == 0) generation = world.generation;
    *out = &library_handle;
    return OK;
}

int mtmlLibraryShutDown(Library *library) {
    ENTER(-1);
    if (library != &library_handle || !started) return INVALID_ARGUMENT;
    started--;
    return OK;
}

#define LIBRARY(library) \
    ENTER(-1);           \
    if ((library) != &library_handle || !started) return INVALID_ARGUMENT

int mtmlLibraryGetVersion(Library *library, char *out, uint32_t length) {
    LIBRARY(library);
    return give_text(world.library, out, length);
}

int mtmlLibraryInitSystem(Library *library, System **out) {
    LIBRARY(library);
    NEEDS(out);
    *out = &system_handle;
    return OK;
}

int mtmlLibraryFreeSystem(System *system) {
    ENTER(-1);
    return system == &system_handle ? OK : INVALID_ARGUMENT;
}

int mtmlSystemGetDriverVersion(System *system, char *out, uint32_t length) {
    ENTER(-1);
    if (system != &system_handle) return INVALID_ARGUMENT;
    return give_text(world.driver, out, length);
}

int mtmlLibraryCountDevice(Library *library, uint32_t *out) {
    LIBRARY(library);
    NEEDS(out);
    *out = 0;
    for (int at = 0; at < MOST_CARDS; at++) *out += (uint32_t)shown(at);
    return OK;
}

static int hand_out(int number, const char *function, Device **out) {
    for (int at = 0; at < world.faults_known; at++)
        if (world.faults[at].card == number && concerns(&world.faults[at], function, number))
            return world.faults[at].code;
    NEW(out, devices, number);
    return OK;
}

int mtmlLibraryInitDeviceByIndex(Library *library, uint32_t index, Device **out) {
    LIBRARY(library);
    NEEDS(out);
    for (int at = 0; at < MOST_CARDS; at++)
        if (shown(at) && index-- == 0) return hand_out(at, __func__, out);
    return NOT_FOUND;
}

int mtmlLibraryInitDeviceByUuid(Library *library, const char *uuid, Device **out) {
    LIBRARY(library);
    NEEDS(out && uuid);
    for (int at = 0; at < MOST_CARDS; at++)
        if (shown(at) && strcmp(world.cards[at].uuid, uuid) == 0) return hand_out(at, __func__, out);
    return NOT_FOUND;
}

int mtmlLibraryInitDeviceByPciSbdf(Library *library, const char *sbdf, Device **out) {
    LIBRARY(library);
    NEEDS(out && sbdf);
    unsigned segment, bus, device, function;
    if (sscanf(sbdf, "%x:%x:%x.%u", &segment, &bus, &device, &function) != 4) return INVALID_ARGUMENT;
    char written[TEXT];
    snprintf(written, sizeof written, "%08x:%02x:%02x.%u", segment, bus, device, function);
    for (int at = 0; at < MOST_CARDS; at++)
        if (shown(at) && strcmp(world.cards[at].sbdf, written) == 0) return hand_out(at, __func__, out);
    return NOT_FOUND;
}

int mtmlLibraryFreeDevice(Device *device) {
    CARD_OF(device, devices);
    device->card = 0;
    return OK;
}

const char *mtmlErrorString(int code) {
    static const char *const texts[] = {
        "success",           "driver not loaded", "driver failure",      "invalid argument", "not supported",
        "no permission",     "insufficient size", "not found",           "insufficient memory", "driver too old",
        "driver too new",    "timeout",           "resource is busy",
    };
    return code >= 0 && code < (int)(sizeof texts / sizeof *texts) ? texts[code] : "unknown error";
}

/* ---- one card ---- */

int mtmlDeviceInitGpu(Device *device, Gpu **out) {
    CARD_OF(device, devices);
    NEEDS(out);
    NEW(out, gpus, number);
    return OK;
}

int mtmlDeviceInitMemory(Device *device, Memory **out) {
    CARD_OF(device, devices);
    NEEDS(out);
    NEW(out, memories, number);
    return OK;
}

int mtmlDeviceFreeGpu(Gpu *gpu) {
    CARD_OF(gpu, gpus);
    gpu->card = 0;
    return OK;
}

int mtmlDeviceFreeMemory(Memory *memory) {
    CARD_OF(memory, memories);
    memory->card = 0;
    return OK;
}

static uint32_t index_of(int number) {
    uint32_t index = 0;
    for (int at = 0; at < number; at++) index += (uint32_t)shown(at);
    return index;
}

GIVES_TEXT(mtmlDeviceGetUUID, uuid)
GIVES_TEXT(mtmlDeviceGetName, name)
GIVES_TEXT(mtmlDeviceGetMtBiosVersion, bios)
GIVES_TEXT(mtmlDeviceGetGpuPath, control)
GIVES_TEXT(mtmlDeviceGetPrimaryPath, primary)
GIVES_TEXT(mtmlDeviceGetRenderPath, render)
GIVES(mtmlDeviceGetIndex, Device, devices, uint32_t, index_of(number))
GIVES(mtmlDeviceGetBrand, Device, devices, uint32_t, card->brand)
GIVES(mtmlDeviceCountGpuCores, Device, devices, uint32_t, card->cores)
GIVES(mtmlDeviceGetPowerUsage, Device, devices, uint32_t, card->power)
GIVES(mtmlGpuGetUtilization, Gpu, gpus, uint32_t, card->utilisation)
GIVES(mtmlGpuGetTemperature, Gpu, gpus, int32_t, card->temperature)
GIVES(mtmlGpuGetClock, Gpu, gpus, uint32_t, card->clock)
GIVES(mtmlGpuGetMaxClock, Gpu, gpus, uint32_t, card->clock)
GIVES(mtmlMemoryGetTotal, Memory, memories, uint64_t, card->memory)
GIVES(mtmlMemoryGetUsed, Memory, memories, uint64_t, card->used)
GIVES(mtmlMemoryGetUtilization, Memory, memories, uint32_t, card->memory ? card->used * 100 / card->memory : 0)
GIVES(mtmlMemoryGetClock, Memory, memories, uint32_t, card->memory_clock)
GIVES(mtmlMemoryGetMaxClock, Memory, memories, uint32_t, card->memory_clock)

int mtmlDeviceGetSerialNumber(Device *device, uint32_t length, char *out) {
    CARD_OF(device, devices);
    return give_text(card->serial, out, length);
}

int mtmlDeviceGetPciInfo(Device *device, MtmlPciInfo *out) {
    CARD_OF(device, devices);
    NEEDS(out);
    memset(out, 0, sizeof *out);
    memcpy(out->sbdf, card->sbdf, strnlen(card->sbdf, sizeof out->sbdf - 1));
    sscanf(card->sbdf, "%x:%x:%x", &out->segment, &out->bus, &out->device);
    out->pciDeviceId = strcmp(card->name, "MTT S3000") == 0 ? S3000 : S4000;
    out->pciSubsystemId = SUBSYSTEM;
    out->pciMaxSpeed = out->pciCurSpeed = 32.0f;
    out->pciMaxWidth = out->pciCurWidth = 16;
    out->pciMaxGen = out->pciCurGen = world.is_oldest ? 0 : 5;
    return OK;
}

int mtmlDeviceGetProperty(Device *device, MtmlDeviceProperty *out) {
    CARD_OF(device, devices);
    NEEDS(out);
    memset(out, 0, sizeof *out);
    if (world.is_oldest) return OK;
    out->mpcCap = 1;
    out->mpcType = (uint32_t)card->mpc & 7;
    out->mtLinkCap = card->ports > 0;
    return OK;
}

/* ---- processes: in libmtml 1.5.0 and in no header ---- */

/* For so many the original asks the kernel driver, those without a number among them. */
enum { MOST_TOLD = 80 };

static uint32_t processes_of(int number, ProcessRecord *out) {
    uint32_t known = 0, told = 0;
    for (int at = 0; at < world.processes_known && told < MOST_TOLD; at++) {
        const Process *each = &world.processes[at];
        if (each->card != number) continue;
        told++;
        if (each->pid == 0) continue;
        if (out) out[known].pid = (uint32_t)each->pid, out[known].memory = (uint64_t)each->memory;
        known++;
    }
    return known;
}

int mtmlDeviceCountRunningProcesses(Device *device, uint32_t *out) {
    CARD_OF(device, devices);
    NEEDS(out);
    *out = processes_of(number, NULL);
    return OK;
}

int mtmlDeviceGetRunningProcesses(Device *device, uint32_t count, ProcessRecord *out) {
    CARD_OF(device, devices);
    NEEDS(out);
    if (processes_of(number, NULL) > count) return INSUFFICIENT_SIZE;
    memset(out, 0, count * sizeof *out);
    processes_of(number, out);
    return OK;
}

/* ---- memory that counts its errors ---- */

#define NEEDS_ECC \
    if (card->ecc < 0) return NOT_SUPPORTED

int mtmlMemoryGetEccMode(Memory *memory, uint32_t *current, uint32_t *pending) {
    CARD_OF(memory, memories);
    NEEDS(current && pending);
    NEEDS_ECC;
    *current = *pending = (uint32_t)card->ecc;
    return OK;
}

int mtmlMemoryGetEccErrorCounter(Memory *memory, uint32_t error, uint32_t counter, uint32_t location, uint64_t *out) {
    CARD_OF(memory, memories);
    NEEDS(out && error < 2 && counter < 2 && location == 1);
    NEEDS_ECC;
    *out = (uint64_t)(error ? card->uncorrected : card->corrected);
    return OK;
}

int mtmlMemoryGetRetiredPagesCount(Memory *memory, MtmlPageRetirementCount *out) {
    CARD_OF(memory, memories);
    NEEDS(out);
    NEEDS_ECC;
    out->sbeCount = (uint32_t)card->retired;
    out->dbeCount = 0;
    return OK;
}

int mtmlMemoryGetRetiredPagesPendingStatus(Memory *memory, uint32_t *out) {
    CARD_OF(memory, memories);
    NEEDS(out);
    NEEDS_ECC;
    *out = (uint32_t)card->pending;
    return OK;
}

/* ---- between cards ---- */

#define PAIR(first, second)                                                                         \
    CARD_OF(first, devices);                                                                        \
    int peer = -1;                                                                                  \
    if (!in_table(second, devices, sizeof *devices, &peer) || !shown(peer)) return INVALID_ARGUMENT

static uint32_t level_between(int one, int other) {
    const Card *card = &world.cards[one];
    if (card->level[other] >= 0) return (uint32_t)card->level[other];
    return card->numa == world.cards[other].numa ? 4 : 5;
}

int mtmlDeviceGetTopologyLevel(Device *one, Device *other, uint32_t *out) {
    PAIR(one, other);
    NEEDS(out);
    if (number == peer && world.is_oldest) return NOT_SUPPORTED;
    *out = level_between(number, peer);
    return OK;
}

int mtmlDeviceGetP2PStatus(Device *one, Device *other, uint32_t capability, uint32_t *out) {
    PAIR(one, other);
    NEEDS(out && capability < 2);
    *out = 0;
    return world.is_oldest ? NOT_SUPPORTED : OK;
}

int mtmlDeviceCountDeviceByTopologyLevel(Device *device, uint32_t level, uint32_t *out) {
    CARD_OF(device, devices);
    NEEDS(out);
    *out = 0;
    for (int at = 0; at < MOST_CARDS; at++)
        *out += (uint32_t)(at != number && shown(at) && level_between(number, at) == level);
    return OK;
}

int mtmlDeviceGetDeviceByTopologyLevel(Device *device, uint32_t level, uint32_t count, Device **out) {
    CARD_OF(device, devices);
    NEEDS(out);
    uint32_t given = 0;
    for (int at = 0; at < MOST_CARDS; at++) {
        if (at == number || !shown(at) || level_between(number, at) != level) continue;
        if (given == count) return INSUFFICIENT_SIZE;
        NEW(&out[given], devices, at);
        given++;
    }
    return OK;
}

#define NEEDS_PORTS \
    if (card->ports <= 0) return NOT_SUPPORTED

#define NEEDS_PORT(port) \
    NEEDS_PORTS;         \
    if ((port) >= (uint32_t)card->ports || (port) >= MOST_PORTS) return INVALID_ARGUMENT

int mtmlDeviceGetMtLinkSpec(Device *device, MtmlMtLinkSpec *out) {
    CARD_OF(device, devices);
    NEEDS(out);
    NEEDS_PORTS;
    memset(out, 0, sizeof *out);
    out->version = 20000;
    out->bandWidth = 53;
    out->linkNum = (uint32_t)card->ports;
    return OK;
}

int mtmlDeviceGetMtLinkState(Device *device, uint32_t port, uint32_t *out) {
    CARD_OF(device, devices);
    NEEDS(out);
    NEEDS_PORT(port);
    *out = (uint32_t)card->state[port];
    return OK;
}

int mtmlDeviceGetMtLinkRemoteDevice(Device *device, uint32_t port, Device **out) {
    CARD_OF(device, devices);
    NEEDS(out);
    NEEDS_PORT(port);
    int peer = card->remote_card[port];
    if (peer < 0 || !shown(peer)) return NOT_FOUND;
    NEW(out, devices, peer);
    return OK;
}

static uint32_t layouts(const Card *card, int peer, uint32_t room, MtmlMtLinkLayout *out) {
    uint32_t found = 0;
    for (uint32_t port = 0; port < MOST_PORTS && port < (uint32_t)card->ports; port++) {
        if (card->remote_card[port] != peer) continue;
        if (out && found < room) {
            memset(&out[found], 0, sizeof *out);
            out[found].localLinkId = port;
            out[found].remoteLinkId = (uint32_t)card->remote_port[port];
        }
        found++;
    }
    return found;
}

int mtmlDeviceCountMtLinkLayouts(Device *one, Device *other, uint32_t *out) {
    PAIR(one, other);
    NEEDS(out);
    NEEDS_PORTS;
    *out = layouts(card, peer, 0, NULL);
    return OK;
}

int mtmlDeviceGetMtLinkLayouts(Device *one, Device *other, uint32_t count, MtmlMtLinkLayout *out) {
    PAIR(one, other);
    NEEDS(out);
    NEEDS_PORTS;
    return layouts(card, peer, count, out) > count ? INSUFFICIENT_SIZE : OK;
}

int mtmlDeviceCountMtLinkShortestPaths(Device *one, Device *other, uint32_t *count, uint32_t *length) {
    PAIR(one, other);
    NEEDS(count && length);
    NEEDS_PORTS;
    int distance[MOST_CARDS] = {0}, ways[MOST_CARDS] = {0};
    distance[number] = ways[number] = 1;
    for (int round = 1; round < MOST_CARDS; round++)
        for (int at = 0; at < MOST_CARDS; at++)
            for (int next = 0; distance[at] == round && next < MOST_CARDS; next++) {
                if (!shown(next) || !layouts(&world.cards[at], next, 0, NULL)) continue;
                if (distance[next] == 0) distance[next] = round + 1;
                if (distance[next] == round + 1) ways[next] += ways[at];
            }
    if (number == peer || distance[peer] == 0) return NOT_FOUND;
    *count = (uint32_t)ways[peer];
    *length = (uint32_t)distance[peer];
    return OK;
}

static int give_mask(int bit, uint32_t words, unsigned long *out) {
    NEEDS(out && words);
    memset(out, 0, words * sizeof *out);
    if (bit >= 0 && (uint32_t)bit < words * 64) out[bit / 64] = 1UL << (bit % 64);
    return OK;
}

int mtmlDeviceGetCpuAffinityWithinNode(Device *device, uint32_t words, unsigned long *out) {
    CARD_OF(device, devices);
    return give_mask(card->numa, words, out);
}

int mtmlDeviceGetMemoryAffinityWithinNode(Device *device, uint32_t words, unsigned long *out) {
    CARD_OF(device, devices);
    return give_mask(card->numa, words, out);
}
