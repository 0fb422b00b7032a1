// The event log of a simulated run. Unlike that of a real master it has no calendar time: equal runs write equal files.
#pragma once

#include <string>

#include "base/named_file.hpp"
#include "base/result.hpp"
#include "engine/master/core/events.hpp"

namespace weft::simulator::experiment {

class EventLogFile {
 public:
  /// close() puts the file in place, or replaces the one that is there. Without close() no file remains.
  static Result<EventLogFile> create(const std::string& path, const std::string& scheduler);

  /// close() returns the errors.
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
