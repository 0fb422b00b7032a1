// Every app on 1 GiB with little, some and plenty of memory: none takes more than its budget and 64 MiB.
#include <cstdio>
#include <filesystem>
#include <vector>

#include "benchmarks/e2e/input.hpp"
#include "benchmarks/e2e/sections.hpp"

namespace weft::bench {

namespace {

constexpr double kRoomMib = 64;

/// `app` is the program and its options but for the output and the memory.
void hold_budgets(const Setting& setting, const std::string& name, const Command& app) {
  const std::string output = setting.data + "/output";
  for (const int budget : {64, 256, 2048}) {
    if (setting.quick && budget != 64) continue;
    Command command = app;
    command.insert(command.end(), {"--output", output, "--overwrite", "--quiet", "--memory", std::to_string(budget) + "MiB"});
    const Timing timing = time_command(command);
    std::filesystem::remove_all(output);
    row(text("%s, --memory %d MiB", name.c_str(), budget), text("peak %.0f MiB, %.1f s", timing.peak_mib, timing.seconds),
        at_most(timing.peak_mib, budget + kRoomMib, " MiB"));
  }
}

}  // namespace

void memory(const Setting& setting) {
  const std::string bytes = std::to_string(setting.scaled(kGiB));
  std::printf("Memory of the apps on %.0f MiB of input\n", static_cast<double>(setting.scaled(kGiB)) / 0x1p20);
  {
    const Input text(setting, "source.txt", "source_text", {bytes, "FILE", "/usr/include"});
    hold_budgets(setting, "wordcount", {setting.program("wordcount"), "--input", text.path()});
    hold_budgets(setting, "invertedindex", {setting.program("invertedindex"), "--input", text.path()});
    hold_budgets(setting, "grep", {setting.program("grep"), "--pattern", "struct", "--fixed", "--input", text.path()});
  }
  {
    const Input records(setting, "tera.bin", "tera_records", {std::to_string(setting.scaled(kGiB) / 100), "FILE"});
    hold_budgets(setting, "terasort", {setting.program("terasort"), "sort", "--input", records.path()});
  }
  {
    const std::string left_rows = std::to_string(setting.scaled(10'000'000)),
                      right_rows = std::to_string(setting.scaled(1'000'000));
    const Input right(setting, "right.bin", "join_rows", {"100", "right", right_rows, "FILE"});
    const Input left(setting, "left.bin", "join_rows", {"100", "left", right_rows, "FILE", left_rows, "0"});
    hold_budgets(setting, "join",
                 {setting.program("join"), "--left", left.path(), "--right", right.path(), "--aggregate", "count", "--record-bytes",
                  "100", "--key-bytes", "8"});
  }
  const Input edges(setting, "edges.tsv", "graph_edges", {bytes, "FILE", std::to_string(setting.scaled(4'000'000))});
  hold_budgets(setting, "pagerank, 1 iteration", {setting.program("pagerank"), "--iterations", "1", "--input", edges.path()});
}

}  // namespace weft::bench
