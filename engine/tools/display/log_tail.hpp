// What a job's tasks have written since the last call, from logs of which only the end is given.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/master/protocol/protocol.hpp"

namespace weft::tools {

class LogTail {
 public:
  /// The whole lines that are new, each behind the name of its worker: "w1| line", "driver on w1| line". Where more was written
  /// than the logs show, a line says so. A line of more than 64 KiB comes in pieces. Workers that do not answer are left out until
  /// they do.
  std::string add(const std::vector<client::JobLog>& logs);
  /// The lines that have no end yet.
  std::string rest();

 private:
  struct SeenLog {
    std::string text;  // as last given
    std::string line;  // without its end yet
  };
  std::map<std::string, SeenLog> seen_;  // by worker
};

}  // namespace weft::tools
