// The event log of a simulated run. Unlike that of a real master it tells no calendar time: equal runs write equal files.
#pragma once

#include <string>

#include "base/named_file.hpp"
#include "base/result.hpp"
#include "engine/master/core/events.hpp"

namespace weft::simulator::experiment {

class EventLogFile {
 public:
  /// It is there, or replaced when it was there before, with close(); without, nothing of it stays.
  static Result<EventLogFile> create(const std::string& path, const std::string& scheduler);

  /// Errors are told by close().
  void add(master::Time at, const master::Event& event);
  void add(master::Time at, const master::Command& command);
  Result<void> close();

 private:
  explicit EventLogFile(NamedFile file) : file_(std::move(file)) {}
  void add_line(const std::string& line);
  void write();

  NamedFile file_;
  std::string text_;
  Result<void> written_;
};

}  // namespace weft::simulator::experiment
