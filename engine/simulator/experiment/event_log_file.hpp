// The event log of a simulated run. Unlike that of a real master it tells no calendar time: equal runs write equal files.
#pragma once

#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "engine/master/events.hpp"

namespace weft::simulator::experiment {

class EventLogFile {
 public:
  /// Replaces the file when it exists.
  static Result<EventLogFile> create(const std::string& path, const std::string& scheduler);

  /// Errors are told by close().
  void add(master::Time at, const master::Event& event);
  void add(master::Time at, const master::Command& command);
  Result<void> close();

 private:
  EventLogFile(Fd file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  void add_line(const std::string& line);
  void write();

  Fd file_;
  std::string path_;
  std::string text_;
  Result<void> written_;
};

}  // namespace weft::simulator::experiment
