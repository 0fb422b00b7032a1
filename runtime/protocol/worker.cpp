#include "runtime/protocol/worker.hpp"

#include <algorithm>

#include "runtime/protocol/messages.hpp"
#include "runtime/protocol/protocol.capnp.h"

namespace weft::runtime::protocol {

namespace {

bool possible(double amount) { return amount >= 0 && amount <= 1e300; }

bool possible(const Usage& usage) {
  return possible(usage.cpu) && possible(usage.memory) && possible(usage.disk_read) && possible(usage.disk_write) &&
         possible(usage.network_in) && possible(usage.network_out);
}

bool possible(const Measured& measured) {
  return possible(measured.worker) && possible(measured.machine) && possible(measured.cross_rack_in) &&
         possible(measured.cross_rack_out) && measured.racks.size() <= kMostRacks &&
         std::all_of(measured.racks.begin(), measured.racks.end(),
                     [](const RackTraffic& rack) { return possible(rack.in) && possible(rack.out); });
}

}  // namespace

Result<void> check(const Heartbeat& heartbeat) {
  if (heartbeat.clock < Duration(0)) return fail(Code::corrupt, "a heartbeat from before 1970");
  if (!possible(heartbeat.measured)) return fail(Code::corrupt, "a heartbeat with measurements that cannot be");
  return {};
}

WEFT_PROTOCOL_MESSAGE(Register);
WEFT_PROTOCOL_MESSAGE(Registered);
WEFT_PROTOCOL_MESSAGE(Heartbeat);
WEFT_PROTOCOL_MESSAGE(CapacityTexts);
WEFT_PROTOCOL_MESSAGE(Leaving);
WEFT_PROTOCOL_MESSAGE(Remains);
WEFT_PROTOCOL_MESSAGE(Dying);
WEFT_PROTOCOL_MESSAGE(Commands);
WEFT_PROTOCOL_MESSAGE(BinaryRequest);
WEFT_PROTOCOL_MESSAGE(BinaryChunk);
WEFT_PROTOCOL_MESSAGE(LogRequest);
WEFT_PROTOCOL_MESSAGE(ReplicaEnded);
WEFT_PROTOCOL_MESSAGE(PrefetchReport);
WEFT_PROTOCOL_MESSAGE(EventsKept);
WEFT_PROTOCOL_MESSAGE(DriverEnded);
WEFT_PROTOCOL_MESSAGE(FileQuery);
WEFT_PROTOCOL_MESSAGE(FileAnswer);

}  // namespace weft::runtime::protocol
