// Every message whose two sides may be of different processes, by name: for those who read what others write, or could write.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/rpc/rpc.hpp"

namespace weft::releases {

/// A kind of message: examples of it with all fields set, and what is read of one, as text.
struct Kind {
  std::vector<std::shared_ptr<const rpc::Message>> examples;
  std::function<Result<std::string>(const rpc::Message&)> describe;
};

/// By name. Made at the first call.
const std::map<std::string, Kind>& kinds();

}  // namespace weft::releases
