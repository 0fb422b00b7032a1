// Jobs in the order in which they would end if users, and the jobs of each, shared the cluster all the time: the Fair Sojourn
// Protocol (parts/virtual_sharing.hpp). So small jobs end early, and large ones about when they would end with their fair share.
// The default.
#pragma once

#include "schedulers/parts/registry.hpp"

namespace weft::schedulers {

Result<Composition> make_fsp(Options& options, const Registry& registry);

}  // namespace weft::schedulers
