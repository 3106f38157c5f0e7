/* Which cards there are, as the library finds them: once, and again only when it is told to. */
#ifndef TANGRAM_MXSML_SEEN_H
#define TANGRAM_MXSML_SEEN_H

#include "tree.h"

#define MOST_CARDS 64
#define FIRST_PHYSICAL 100
#define SLICES_OF_A_CARD 16

typedef struct {
    unsigned number, brand, mode;
    int node, limited, physical, dies;
    long gid;
    char bdf[32], uuid[96], name[32];
} Seen;

typedef struct { long gid; int card, number; } SeenSlice;

extern Seen cards[MOST_CARDS];
extern SeenSlice slices[MOST_CARDS * SLICES_OF_A_CARD];
extern int slice_count;
extern int card_count;

/* Looks at the bus. Whether there is a card that can be used. */
int look(int again);
Seen *card_of(unsigned number);
Seen *card_at(const char *bdf);
/* The folder of the kernel driver's own map. */
const char *class_folder(void);
/* The type of the layout link from one node to another; 0 for none. */
long link_type(int from, int to);
/* The node at the other end of the first link of that type; -1 for none. */
int linked_to(int from, long type);

#endif
