// The name of a worker that was given none. The master knows the replicas of tables by their workers' names, so one that keeps some
// has to have the same name whenever it is started.
#pragma once

#include <string>
#include <vector>

namespace weft::runtime {

/// Returns the name that the first of these chunk directories has, or draws one of that host if none has any. Those without a name
/// get it, durably, in their `tables/WORKER`. Missing directories are made. One that cannot be read or written is passed over with
/// a warning: if none can be written, the name lasts as long as this process. To be called before others use the directories;
/// blocks.
std::string kept_name(const std::vector<std::string>& directories, const std::string& host);

}  // namespace weft::runtime
