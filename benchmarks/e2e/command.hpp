// Running and timing whole programs.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace weft::bench {

struct Timing {
  double seconds = 0;
  double peak_mib = 0;  // see MemoryProbe
};

using Command = std::vector<std::string>;

/// Runs to the end; prints the program's errors and exits when it fails, or when a process of its died of a fatal signal.
Timing time_command(const Command& command);

/// Runs each command in turn, `rounds` times, and returns the timings of each: alternating, so that a drift of the machine touches
/// all alike. `around(i)` is called before and after each run of command i.
std::vector<std::vector<Timing>> alternate(const std::vector<Command>& commands, int rounds,
                                           const std::function<void(std::size_t)>& around = {});

double median_seconds(std::vector<Timing> timings);
double max_mib(const std::vector<Timing>& timings);

/// A program that runs until the object goes.
class Background {
 public:
  explicit Background(const Command& command);
  /// SIGTERM, then waits. One that has ended before, or died, ends the benchmark with a line.
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

 private:
  Command command_;
  int pid_;
};

}  // namespace weft::bench
