// Which rack a host is in, and what that rack's uplink carries: from a file, or from a program that is asked.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "schedulers/view/resources.hpp"

namespace weft::master {

struct Rack {
  std::string name;
  schedulers::UplinkRate uplink{};  // 0: not said
};

/// A text file has lines of HOST, RACK and perhaps UPLINK, blanks between; "*" stands for every other host; # begins a comment. The
/// uplink is bytes per second, as a size, or two of them: "60MB", "60MB/30MB" (out of the rack, into it). An executable file is a
/// program: run with the host as its only argument, it prints RACK and perhaps UPLINK on the first line of its standard output. Any
/// thread.
class Topology {
 public:
  /// Errors: no such file; a line that is wrong, by number; a host given twice.
  static Result<std::unique_ptr<Topology>> open(const std::string& path, Duration timeout = std::chrono::seconds(5));

  /// Nothing when a file does not know the host. A program's answers are remembered. Blocks for as long as a program takes, at most
  /// the timeout; the error says what it did instead of naming a rack.
  Result<std::optional<Rack>> rack_of(const std::string& host);
  /// Reads the file again, forgets what the program said. On an error everything stays as it was.
  Result<void> reload();

 private:
  Topology(std::string path, Duration timeout) : path_(std::move(path)), timeout_(timeout) {}
  Result<Rack> ask(const std::string& host) const;

  const std::string path_;
  const Duration timeout_;
  std::mutex mutex_;  // everything below
  bool program_ = false;
  std::map<std::string, Rack> racks_;
};

}  // namespace weft::master
