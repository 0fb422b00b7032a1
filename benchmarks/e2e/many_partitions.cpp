// One line of words in thousands of partitions: what is empty costs nothing, however many maps and reduces there are.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "benchmarks/e2e/command.hpp"
#include "benchmarks/e2e/sections.hpp"

namespace weft::bench {

void many_partitions(const Setting& setting) {
  std::printf("A line of words, counted and sorted in many partitions\n");
  const std::string input = setting.data + "/line.txt", output = setting.data + "/output";
  std::ofstream(input) << "the quick brown fox jumps over the lazy dog\n";
  const auto milliseconds = [&](std::uint32_t partitions, const Command& where, const std::string& limit) {
    std::string line = limit + "exec \"$@\"";
    Command command{
        "/bin/sh", "-c",       line,   "sh",           setting.program("few_words"), "--quiet", "--overwrite", "--input",
        input,     "--output", output, "--partitions", std::to_string(partitions)};
    command.insert(command.end(), where.begin(), where.end());
    return median_seconds(alternate({command}, partitions > 5'000 ? 1 : 3)[0]) * 1e3;
  };
  for (const auto& [name, where] : {std::pair<std::string, Command>{"embedded", {}}, {"3 workers", {"--workers", "3"}}}) {
    double of_thousand = 0;
    for (const std::uint32_t partitions : {1'000u, 1'200u, 2'000u, 5'000u, 10'000u, 20'000u}) {
      if (setting.quick && partitions > 5'000) continue;
      const double time = milliseconds(partitions, where, ""), each = time / (partitions / 1e3);
      if (partitions == 1'000) of_thousand = each;
      row(text("%u partitions, %s", partitions, name.c_str()), text("%.0f ms, %.0f ms per 1,000", time, each),
          partitions == 1'000 ? "" : at_most(each / of_thousand, 2, " x that of 1,000"));
      if (partitions != 2'000) continue;
      const double bounded = milliseconds(partitions, where, "ulimit -n 1024; ");
      row("the same, at most 1,024 descriptors a process", text("%.0f ms", bounded), at_most(bounded / time, 1.5, " x"));
    }
  }
  std::filesystem::remove_all(output);
  std::filesystem::remove(input);
}

}  // namespace weft::bench
