/* Prints the size of every record and the offset of every field, for comparison with the binding's. */
#include "abi.h"

#include <stddef.h>
#include <stdio.h>

#define RECORD(type) printf("%s %zu\n", #type, sizeof(type))
#define FIELD(type, field) printf("%s.%s %zu %zu\n", #type, #field, offsetof(type, field), sizeof(((type *)0)->field))

int main(void) {
    RECORD(DeviceInfo); FIELD(DeviceInfo, device_id); FIELD(DeviceInfo, kind); FIELD(DeviceInfo, bdf);
    FIELD(DeviceInfo, gpu_id); FIELD(DeviceInfo, node_id); FIELD(DeviceInfo, uuid); FIELD(DeviceInfo, brand);
    FIELD(DeviceInfo, mode); FIELD(DeviceInfo, name);
    RECORD(DeviceIds); FIELD(DeviceIds, number); FIELD(DeviceIds, ids);
    RECORD(UnavailableReason); FIELD(UnavailableReason, code); FIELD(UnavailableReason, text);
    RECORD(MemoryInfo); FIELD(MemoryInfo, visible_total); FIELD(MemoryInfo, visible_used); FIELD(MemoryInfo, total);
    FIELD(MemoryInfo, used); FIELD(MemoryInfo, xtt_total); FIELD(MemoryInfo, xtt_used);
    RECORD(BoardWay); FIELD(BoardWay, voltage); FIELD(BoardWay, current); FIELD(BoardWay, power);
    RECORD(EccErrors); FIELD(EccErrors, sram_corrected); FIELD(EccErrors, sram_uncorrected);
    FIELD(EccErrors, dram_corrected); FIELD(EccErrors, dram_uncorrected); FIELD(EccErrors, retired_pages);
    RECORD(SliceInfo); FIELD(SliceInfo, parent); FIELD(SliceInfo, slice_id); FIELD(SliceInfo, memory_mb);
    FIELD(SliceInfo, queue_priority); FIELD(SliceInfo, compute); FIELD(SliceInfo, minor); FIELD(SliceInfo, online);
    FIELD(SliceInfo, uuid);
    RECORD(SliceQuota); FIELD(SliceQuota, total_mb); FIELD(SliceQuota, free_mb); FIELD(SliceQuota, free_compute);
    RECORD(SliceMemory); FIELD(SliceMemory, total); FIELD(SliceMemory, used); FIELD(SliceMemory, free);
    RECORD(LinkSpeed); FIELD(LinkSpeed, speed); FIELD(LinkSpeed, width);
    RECORD(LinkSpeeds); FIELD(LinkSpeeds, speed); FIELD(LinkSpeeds, width);
    RECORD(RemoteEnd); FIELD(RemoteEnd, device_id); FIELD(RemoteEnd, bdf);
    RECORD(ProcessOnCard1); FIELD(ProcessOnCard1, bdf); FIELD(ProcessOnCard1, gpu_id); FIELD(ProcessOnCard1, memory);
    RECORD(ProcessOnCard2); FIELD(ProcessOnCard2, bdf); FIELD(ProcessOnCard2, gpu_id); FIELD(ProcessOnCard2, memory);
    FIELD(ProcessOnCard2, die);
    RECORD(ProcessOnCard3); FIELD(ProcessOnCard3, bdf); FIELD(ProcessOnCard3, gpu_id); FIELD(ProcessOnCard3, memory);
    FIELD(ProcessOnCard3, die); FIELD(ProcessOnCard3, slice_id);
    RECORD(ProcessRecord1); FIELD(ProcessRecord1, pid); FIELD(ProcessRecord1, name); FIELD(ProcessRecord1, count);
    FIELD(ProcessRecord1, cards);
    RECORD(ProcessRecord2); FIELD(ProcessRecord2, pid); FIELD(ProcessRecord2, name); FIELD(ProcessRecord2, count);
    FIELD(ProcessRecord2, cards);
    RECORD(ProcessRecord3); FIELD(ProcessRecord3, pid); FIELD(ProcessRecord3, name); FIELD(ProcessRecord3, count);
    FIELD(ProcessRecord3, cards);
    return 0;
}
