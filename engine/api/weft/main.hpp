// The main function of job programs: parses the command line, runs the definition where the options say, reports.
//
//   int main(int argc, char** argv) { return weft::main<Options>(argc, argv, "Counts words", declare, define); }
//
// with `void declare(CLI::App&, Options&)` and `void define(weft::Flow&, const Options&)`. The exit code is 0 on success, 1 when
// the job fails, 2 when the command line is wrong.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "weft/flow.hpp"

namespace weft {

/// A program of several jobs, each a subcommand with options of its own.
class Programs {
 public:
  explicit Programs(std::string description) : description_(std::move(description)) {}

  template <class Options, class Declare, class Define>
  requires std::invocable<const Declare&, CLI::App&, Options&> && std::invocable<const Define&, Flow&, const Options&>
  void add(std::string name, std::string description, Declare declare, Define define) {
    auto options = std::make_shared<Options>();
    jobs_.push_back({std::move(name), std::move(description), [options, declare](CLI::App& app) { declare(app, *options); },
                     [options, define](Flow& flow) { define(flow, std::as_const(*options)); }});
  }

  int main(int argc, char** argv) const;

 private:
  struct Job {
    std::string name;  // empty: the program is this one job
    std::string description;
    std::function<void(CLI::App&)> declare;
    std::function<void(Flow&)> define;
  };

  std::string description_;
  std::vector<Job> jobs_;
};

template <class Options, class Declare, class Define>
requires std::invocable<const Declare&, CLI::App&, Options&> && std::invocable<const Define&, Flow&, const Options&>
int main(int argc, char** argv, std::string description, Declare declare, Define define) {
  Programs program(description);
  program.add<Options>("", std::move(description), std::move(declare), std::move(define));
  return program.main(argc, argv);
}

}  // namespace weft
