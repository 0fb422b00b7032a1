#include "base/rpc/versioned.hpp"
#include "engine/master/plan/plan.capnp.h"
#include "engine/master/plan/plan.hpp"

namespace weft::plan {

Buffer encode(const PlanPart& part) { return rpc::encode_versioned<wire::PlanPart>(part); }

Result<PlanPart> decode_part(ByteView bytes) { return rpc::decode_versioned<wire::PlanPart, PlanPart>(bytes, "plan"); }

}  // namespace weft::plan
