/* How a test makes single calls of the twin fail, hang or answer like a careless library.
 *
 * Read from the file named by TANGRAM_MXSML_RULES, one rule per line, and again whenever the file is replaced:
 *   fault call=mxSmlInit code=5 [device=N] [times=N] [after=N]     answer with a code
 *   fault call=mxSmlGetClocks.2 code=3                             the same for one unit of GetClocks
 *   block call=mxSmlInit fifo=PATH [...]                           wait until the fifo is closed by its writer
 *   quirk name=huge-counts|unterminated|grown|rounds-memory|stays-offline
 *   fixed                                                          look no more, for measuring */
#ifndef TANGRAM_MXSML_RULES_H
#define TANGRAM_MXSML_RULES_H

typedef struct { int huge_counts, unterminated, grown, rounds_memory, stays_offline; } Quirks;

extern Quirks quirks;

/* -1 to go on, else the code to return. */
long check(const char *call, int device);

#endif
