/* What every part of the twin shares: the codes, how a call begins, and how an answer is handed over. */
#ifndef TANGRAM_MXSML_INSIDE_H
#define TANGRAM_MXSML_INSIDE_H

#include "abi.h"
#include "rules.h"
#include "seen.h"

enum { DONE, FAILURE, NO_DEVICE, UNSUPPORTED, SYSFS, SYSFS_WRITE, GONE, BAD_DIE, DENIED, BAD_INPUT, TOO_SMALL };

#define PORTS 7

int call_begins(void);
void call_ends(int *ignored);
/* How many usable cards there are, physical functions of split ones or others. */
u32 usable_cards(int physical);

#define ENTER(device)                                               \
    __attribute__((cleanup(call_ends))) int scope_ = call_begins(); \
    (void)scope_;                                                   \
    long rule_ = check(__func__, (int)(device));                    \
    if (rule_ >= 0) return (u32)rule_
#define NEED(address) \
    if (!(address)) return BAD_INPUT
#define CARD(id)              \
    Seen *card = card_of(id); \
    if (!card || card->limited) return GONE
/* Where there is no card that can be used, the original reads memory that is not its own in some calls. */
#define FATAL_WITHOUT_CARDS \
    if (usable_cards(0) + usable_cards(1) == 0) abort()
/* What a part of a card does not have. */
#define NOT_OF_PARTS \
    if (card->mode == 2) return UNSUPPORTED

#define FILE_TEXT(to, name) read_text(to, sizeof(to), "%s/bus/pci/devices/%s/%s", sysfs(), card->bdf, name)
/* A file of the first die, or of the second one. */
#define DIE_TEXT(to, die, name) \
    read_text(to, sizeof(to), "%s/bus/pci/devices/%s/smi%s/%s", sysfs(), card->bdf, (die) ? "1" : "", name)
#define SMI_TEXT(to, name) DIE_TEXT(to, 0, name)

/* Hands a record over; a "grown" library's record is longer than ours. */
void hand_over(void *to, const void *from, size_t size);
/* Behind its end a text leaves the room as it was. */
void put_text(char *to, size_t size, const char *text);
/* The text, or that there is no room for it. */
u32 answer_text(char *to, u32 *size, const char *text);
/* The count, unless a rule says otherwise. */
u32 counted(u32 honest);
/* The numbers of a file, one per line, behind any label. How many there were. */
int numbers_in(const char *text, int base, long *to, int most);

#endif
