// Running and timing whole programs.
#pragma once

#include <string>
#include <vector>

namespace weft::bench {

struct Timing {
  double seconds = 0;
  double peak_mib = 0;  // largest resident set of the process or of one it waited for
};

using Command = std::vector<std::string>;

/// Runs to the end; prints the program's errors and exits when it fails.
Timing time_command(const Command& command);

/// Runs `set-up, command` for each command in turn, `rounds` times, and returns the timings of each: alternating, so that a drift
/// of the machine touches all alike. `before` runs ahead of each.
std::vector<std::vector<Timing>> alternate(const std::vector<Command>& commands, int rounds, const Command& before);

double median_seconds(std::vector<Timing> timings);
double max_mib(const std::vector<Timing>& timings);

/// A program that runs until the object goes.
class Background {
 public:
  explicit Background(const Command& command);
  ~Background();  // SIGTERM, then waits
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

 private:
  int pid_;
};

}  // namespace weft::bench
