#include "engine/master/replication/changes.hpp"

#include "base/rpc/versioned.hpp"
#include "engine/master/replication/replication.capnp.h"

namespace weft::master {

SharedBytes to_bytes(const Changes& changes) { return SharedBytes(rpc::encode_versioned<wire::Changes>(changes)); }

Result<Changes> parse_changes(ByteView bytes) { return rpc::decode_versioned<wire::Changes, Changes>(bytes, "changes of a store"); }

}  // namespace weft::master
