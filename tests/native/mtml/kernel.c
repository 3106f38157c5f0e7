/*
 * Put before the vendor's libmtml by LD_PRELOAD: the kernel driver's half of its questions about a card. It answers what
 * world.h describes for the card whose control node the descriptor is of. Which bytes carry what was found by asking
 * libmtml 1.5.0 and looking at what it made of each answer. A question that is not known here fails, as it does on a
 * driver that lacks it.
 */
#define _GNU_SOURCE
#include "world.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CARD_QUESTIONS = 'M', DISPLAY_QUESTIONS = 'd' };
/* Numbers of questions, and of the messages that go through the first of them. */
enum { MESSAGE = 0x01, LOAD = 0x05, MEMORY_HELD = 0xa6, PROCESSES = 0xa7, PCI_SPACE = 0xa9 };
enum {
    CHIP = 0x42000100,
    FIRMWARE = 0x42000160,
    MOST_CLOCK = 0x420008c0,
    CLOCK = 0x420008e0,
    POWER = 0x42000a60,
    MEMORY_CLOCKS = 0x55,
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static World world;

static void put(unsigned char *answer, size_t at, uint64_t value, size_t size) { memcpy(answer + at, &value, size); }

static int number_of(int file) {
    char link[64], path[256];
    int number;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return -1;
    path[length] = 0;
    return sscanf(path, "/dev/mtgpu.%d", &number) == 1 && number >= 0 && number < MOST_CARDS ? number : -1;
}

static uint64_t firmware(const char *text) {
    unsigned major = 0, minor = 0, patch = 0;
    sscanf(text, "%u.%u.%u", &major, &minor, &patch);
    return major * 10000 + minor * 100 + patch;
}

static int message(const Card *card, int number, unsigned char *said) {
    uint32_t kind, about;
    memcpy(&kind, said, sizeof kind);
    memcpy(&about, said + 8, sizeof about);
    switch (kind) {
    case CHIP: put(said, 0x30, 0x5eed0000u + (unsigned)number, 4); break;
    case FIRMWARE: put(said, 0x58, firmware(card->bios), 4); break;
    case POWER: put(said, 0x0c, (unsigned)card->power, 4); break;
    case CLOCK:
    case MOST_CLOCK: {
        /* Memory is clocked at half of what is told. */
        uint64_t megahertz = about >= MEMORY_CLOCKS ? (unsigned)card->memory_clock / 2 : (unsigned)card->clock;
        put(said, 0x10, megahertz * 1000000, 8);
        break;
    }
    default: errno = ENOTTY; return -1;
    }
    return 0;
}

/* The first 256 bytes of the PCI configuration: who the card is, and the one capability that tells of its link. */
static void pci_space(unsigned char *space, uint32_t device_id) {
    memset(space, 0, 256);
    put(space, 0x00, device_id, 4);
    put(space, 0x06, 0x10, 2);
    put(space, 0x2c, SUBSYSTEM, 4);
    put(space, 0x34, 0x40, 1);
    put(space, 0x40, 0x10, 2);
    put(space, 0x4c, 0x105, 4);
    put(space, 0x52, 0x105, 2);
}

/* Entries of 184 bytes behind the count, as many as there is room for: the size of the question says 80. Those beyond are
 * counted; libmtml 1.5.0 makes no difference of that. A process that has no number where the library runs has number 0. */
static void processes(const World *seen, int number, size_t room, unsigned char *list) {
    uint32_t known = 0, all = 0;
    for (int at = 0; at < seen->processes_known; at++) {
        const Process *each = &seen->processes[at];
        if (each->card != number) continue;
        all++;
        if (8 + (known + 1) * 184 > room) continue;
        put(list, 8 + known * 184 + 0x08, (uint64_t)each->pid, 4);
        put(list, 8 + known * 184 + 0x5c, (uint64_t)each->memory, 8);
        known++;
    }
    put(list, 4, all, 4);
}

static int answer(int number, unsigned long question, unsigned char *said) {
    const Card *card = &world.cards[number];
    if (!world_refresh(&world) || !card->present || card->hidden) {
        errno = ENODEV;
        return -1;
    }
    switch (question & 0xff) {
    case MESSAGE: return message(card, number, said);
    case LOAD: put(said, 0x0c, 1, 4), put(said, 0x44, (unsigned)card->utilisation, 4); return 0;
    case MEMORY_HELD: put(said, 0, (uint64_t)card->used, 8); return 0;
    case PROCESSES: processes(&world, number, (question >> 16) & 0x3fff, said); return 0;
    case PCI_SPACE: pci_space(said, strcmp(card->name, "MTT S3000") == 0 ? S3000 : S4000); return 0;
    default: errno = ENOTTY; return -1;
    }
}

static int asked(int file, unsigned long question, void *said) {
    unsigned of = (question >> 8) & 0xff;
    int number = of == CARD_QUESTIONS ? number_of(file) : -1;
    if (number < 0 && of != DISPLAY_QUESTIONS) return (int)syscall(SYS_ioctl, file, question, said);
    if (number < 0) {
        errno = ENOTTY;
        return -1;
    }
    pthread_mutex_lock(&lock);
    int done = answer(number, question, said);
    pthread_mutex_unlock(&lock);
    return done;
}

int ioctl(int file, unsigned long question, ...) {
    va_list rest;
    va_start(rest, question);
    void *said = va_arg(rest, void *);
    va_end(rest);
    return asked(file, question, said);
}

int drmIoctl(int file, unsigned long question, void *said) { return asked(file, question, said); }
