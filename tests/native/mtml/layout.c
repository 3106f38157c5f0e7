/* Prints where the compiler puts every field of our declarations: "record field offset size", bits as masks. */
#include "abi.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Not a constant, so that the compiler cuts it to the field's width without a warning. */
static volatile uint32_t every_bit = ~0u;

#define RECORD(type) printf(#type " . 0 %zu\n", sizeof(type))
#define FIELD(type, field) printf(#type " " #field " %zu %zu\n", offsetof(type, field), sizeof(((type *)0)->field))
#define BITS(field)                                                          \
    do {                                                                     \
        MtmlDeviceProperty record;                                           \
        uint32_t word;                                                       \
        memset(&record, 0, sizeof record);                                   \
        record.field = every_bit;                                            \
        memcpy(&word, &record, sizeof word);                                 \
        printf("MtmlDeviceProperty " #field " mask %u\n", word);             \
    } while (0)

int main(void) {
    RECORD(MtmlPciInfo);
    FIELD(MtmlPciInfo, sbdf);
    FIELD(MtmlPciInfo, segment);
    FIELD(MtmlPciInfo, bus);
    FIELD(MtmlPciInfo, device);
    FIELD(MtmlPciInfo, pciDeviceId);
    FIELD(MtmlPciInfo, pciSubsystemId);
    FIELD(MtmlPciInfo, busWidth);
    FIELD(MtmlPciInfo, pciMaxSpeed);
    FIELD(MtmlPciInfo, pciCurSpeed);
    FIELD(MtmlPciInfo, pciMaxWidth);
    FIELD(MtmlPciInfo, pciCurWidth);
    FIELD(MtmlPciInfo, pciMaxGen);
    FIELD(MtmlPciInfo, pciCurGen);
    FIELD(MtmlPciInfo, rsvd);
    RECORD(MtmlDeviceProperty);
    BITS(virtCap);
    BITS(virtRole);
    BITS(mpcCap);
    BITS(mpcType);
    BITS(mtLinkCap);
    RECORD(MtmlMtLinkSpec);
    FIELD(MtmlMtLinkSpec, version);
    FIELD(MtmlMtLinkSpec, bandWidth);
    FIELD(MtmlMtLinkSpec, linkNum);
    FIELD(MtmlMtLinkSpec, rsvd);
    RECORD(MtmlMtLinkLayout);
    FIELD(MtmlMtLinkLayout, localLinkId);
    FIELD(MtmlMtLinkLayout, remoteLinkId);
    FIELD(MtmlMtLinkLayout, rsvd);
    RECORD(MtmlPageRetirementCount);
    FIELD(MtmlPageRetirementCount, sbeCount);
    FIELD(MtmlPageRetirementCount, dbeCount);
    return 0;
}
