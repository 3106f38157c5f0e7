#define _GNU_SOURCE
#include "world.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct {
    const char *key;
    size_t offset;
    enum { WORDS, NUMBER, LARGE } kind;
} Property;

static const Property PROPERTIES[] = {
    {"uuid", offsetof(Card, uuid), WORDS},
    {"name", offsetof(Card, name), WORDS},
    {"serial", offsetof(Card, serial), WORDS},
    {"sbdf", offsetof(Card, sbdf), WORDS},
    {"bios", offsetof(Card, bios), WORDS},
    {"control", offsetof(Card, control), WORDS},
    {"primary", offsetof(Card, primary), WORDS},
    {"render", offsetof(Card, render), WORDS},
    {"memory", offsetof(Card, memory), LARGE},
    {"used", offsetof(Card, used), LARGE},
    {"corrected", offsetof(Card, corrected), LARGE},
    {"uncorrected", offsetof(Card, uncorrected), LARGE},
    {"utilisation", offsetof(Card, utilisation), NUMBER},
    {"temperature", offsetof(Card, temperature), NUMBER},
    {"power", offsetof(Card, power), NUMBER},
    {"clock", offsetof(Card, clock), NUMBER},
    {"memory-clock", offsetof(Card, memory_clock), NUMBER},
    {"brand", offsetof(Card, brand), NUMBER},
    {"cores", offsetof(Card, cores), NUMBER},
    {"numa", offsetof(Card, numa), NUMBER},
    {"ecc", offsetof(Card, ecc), NUMBER},
    {"pending", offsetof(Card, pending), NUMBER},
    {"retired", offsetof(Card, retired), NUMBER},
    {"ports", offsetof(Card, ports), NUMBER},
    {"mpc", offsetof(Card, mpc), NUMBER},
    {"hidden", offsetof(Card, hidden), NUMBER},
};

static int is_card(int number) { return number >= 0 && number < MOST_CARDS; }
static int is_port(int number) { return number >= 0 && number < MOST_PORTS; }

static void clear(World *world) {
    memset(world, 0, sizeof *world);
    for (int at = 0; at < MOST_CARDS; at++) {
        Card *card = &world->cards[at];
        card->ecc = card->numa = -1;
        for (int port = 0; port < MOST_PORTS; port++) card->remote_card[port] = -1;
        for (int other = 0; other < MOST_CARDS; other++) card->level[other] = -1;
    }
}

static void set_property(Card *card, const char *key, const char *rest) {
    for (size_t at = 0; at < sizeof PROPERTIES / sizeof *PROPERTIES; at++) {
        if (strcmp(PROPERTIES[at].key, key) != 0) continue;
        char *field = (char *)card + PROPERTIES[at].offset;
        if (PROPERTIES[at].kind == WORDS) snprintf(field, TEXT, "%s", rest);
        else if (PROPERTIES[at].kind == LARGE) *(long long *)field = atoll(rest);
        else *(int *)field = atoi(rest);
    }
}

static void join(World *world, const char *rest) {
    int a, p, b, q;
    if (sscanf(rest, "%d %d %d %d", &a, &p, &b, &q) != 4) return;
    if (!is_card(a) || !is_card(b) || !is_port(p) || !is_port(q)) return;
    Card *one = &world->cards[a], *other = &world->cards[b];
    one->remote_card[p] = b, one->remote_port[p] = q, one->state[p] = 1;
    other->remote_card[q] = a, other->remote_port[q] = p, other->state[q] = 1;
}

static void add_rule(Rule *rules, int *known, const char *rest, int with_file) {
    if (*known == MOST_RULES) return;
    Rule *rule = &rules[*known];
    rule->card = -1;
    int read = with_file ? sscanf(rest, "%159s %319s %d", rule->function, rule->file, &rule->card)
                         : sscanf(rest, "%159s %d %d", rule->function, &rule->code, &rule->card);
    if (read >= 2) (*known)++;
}

static void add_process(World *world, const char *rest) {
    if (world->processes_known == MOST_PROCESSES) return;
    Process *each = &world->processes[world->processes_known];
    if (sscanf(rest, "%d %d %lld", &each->card, &each->pid, &each->memory) == 3) world->processes_known++;
}

static void statement(World *world, Card **card, const char *key, const char *rest) {
    int a, b, c;
    if (strcmp(key, "card") == 0) {
        int number = atoi(rest);
        if (!is_card(number)) return;
        *card = &world->cards[number];
        (*card)->present = 1;
    } else if (strcmp(key, "driver") == 0) snprintf(world->driver, TEXT, "%s", rest);
    else if (strcmp(key, "library") == 0) {
        snprintf(world->library, TEXT, "%s", rest);
        world->is_oldest = strcmp(rest, "1.5.0") == 0;
    }
    else if (strcmp(key, "generation") == 0) world->generation = atoi(rest);
    else if (strcmp(key, "handles") == 0) world->handles = atoi(rest);
    else if (strcmp(key, "process") == 0) add_process(world, rest);
    else if (strcmp(key, "link") == 0) join(world, rest);
    else if (strcmp(key, "state") == 0) {
        if (sscanf(rest, "%d %d %d", &a, &b, &c) == 3 && is_card(a) && is_port(b)) world->cards[a].state[b] = c;
    } else if (strcmp(key, "level") == 0) {
        if (sscanf(rest, "%d %d %d", &a, &b, &c) == 3 && is_card(a) && is_card(b))
            world->cards[a].level[b] = world->cards[b].level[a] = c;
    } else if (strcmp(key, "fault") == 0) add_rule(world->faults, &world->faults_known, rest, 0);
    else if (strcmp(key, "block") == 0) add_rule(world->blocks, &world->blocks_known, rest, 1);
    else if (*card) set_property(*card, key, rest);
}

static void parse(World *world, FILE *file) {
    char line[1024];
    Card *card = NULL;
    clear(world);
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\r\n")] = 0;
        char *rest = strchr(line, ' ');
        if (rest) *rest++ = 0;
        statement(world, &card, line, rest ? rest : "");
    }
}

int world_refresh(World *world) {
    static struct stat seen;
    const char *path = getenv("TANGRAM_MTML_WORLD");
    struct stat now;
    if (!path || stat(path, &now) != 0) return 0;
    if (now.st_ino == seen.st_ino && now.st_dev == seen.st_dev && now.st_mtim.tv_sec == seen.st_mtim.tv_sec &&
        now.st_mtim.tv_nsec == seen.st_mtim.tv_nsec && now.st_size == seen.st_size)
        return 1;
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    parse(world, file);
    fclose(file);
    seen = now;
    return 1;
}
