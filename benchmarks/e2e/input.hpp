// What the programs read: made by the generators, removed afterwards.
#pragma once

#include <filesystem>
#include <string>

#include "benchmarks/e2e/command.hpp"
#include "benchmarks/e2e/setting.hpp"

namespace weft::bench {

inline constexpr std::uint64_t kGiB = 1U << 30;

/// A generated file that goes with the object: at no time there are more than 2 GiB of them and of outputs.
class Input {
 public:
  Input(const Setting& setting, const std::string& name, const std::string& generator, Command arguments)
      : path_(setting.data + "/" + name) {
    for (std::string& argument : arguments)
      if (argument == "FILE") argument = path_;
    arguments.insert(arguments.begin(), setting.program(generator));
    time_command(arguments);
  }
  ~Input() { std::filesystem::remove(path_); }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace weft::bench
