// What tests read from a master's event log (docs/formats/journal.md#event-log).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace weft::test {

/// An event log as it grows: each look reads what was added since the last one.
class EventLines {
 public:
  explicit EventLines(std::string path) : path_(std::move(path)) {}

  /// Reads on; whole lines only.
  const std::vector<std::string>& read() {
    std::ifstream file(path_, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset_));
    for (std::string line; std::getline(file, line);) {
      if (file.eof()) break;  // half a line
      offset_ += line.size() + 1;
      lines_.push_back(std::move(line));
    }
    return lines_;
  }

  /// Lines of that event from line `from` on, all of whose text parts are in them.
  std::size_t count(const std::string& event, const std::vector<std::string>& parts = {}, std::size_t from = 0) {
    read();
    return static_cast<std::size_t>(std::count_if(lines_.begin() + static_cast<std::ptrdiff_t>(from), lines_.end(),
                                                  [&](const std::string& line) { return is(line, event, parts); }));
  }
  /// Lines about jobs from line `from` on: how many there are of heartbeats depends on the machine.
  std::size_t of_jobs(std::size_t from) {
    read();
    return static_cast<std::size_t>(
        std::count_if(lines_.begin() + static_cast<std::ptrdiff_t>(from), lines_.end(),
                      [](const std::string& line) { return line.find("\"job\":") != std::string::npos; }));
  }
  /// Ends of tasks of stages that write shuffles, beyond the first of each: what ran again, from line `from` on.
  std::size_t maps_again(std::size_t from = 0) {
    std::map<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>, std::size_t> ends;
    read();
    for (std::size_t i = from; i < lines_.size(); ++i) {
      if (!is(lines_[i], "task_finished", {}) || lines_[i].find("\"partition_bytes\":[") == std::string::npos) continue;
      ++ends[{number(lines_[i], "job"), number(lines_[i], "stage"), number(lines_[i], "task")}];
    }
    std::size_t again = 0;
    for (const auto& [task, count] : ends) again += count - 1;
    return again;
  }

 private:
  static bool is(const std::string& line, const std::string& event, const std::vector<std::string>& parts) {
    if (line.find("\"event\":\"" + event + "\"") == std::string::npos) return false;
    return std::all_of(parts.begin(), parts.end(), [&](const std::string& part) { return line.find(part) != std::string::npos; });
  }
  static std::uint64_t number(const std::string& line, const std::string& member) {
    const std::string key = "\"" + member + "\":";
    const auto at = line.find(key);
    return at == std::string::npos ? 0 : std::strtoull(line.c_str() + at + key.size(), nullptr, 10);
  }

  const std::string path_;
  std::uint64_t offset_ = 0;
  std::vector<std::string> lines_;
};

}  // namespace weft::test
