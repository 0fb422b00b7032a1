// The main function of job programs: parses the command line, runs the definition where the options say, reports.
//
//   int main(int argc, char** argv) { return weft::main<Options>(argc, argv, "Counts words", declare, define); }
//
// with `void declare(weft::Arguments&, Options&)` and `void define(weft::Flow&, const Options&)`; or, for a job that takes --input
// and --output and nothing else, `weft::main(argc, argv, "Counts words", define)` with `void define(weft::Flow&, const
// weft::InputOutput&)`. The exit code is 0 on success, 1 when the job fails, 2 when the command line is wrong.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/arguments.hpp"
#include "weft/flow.hpp"

namespace weft {

namespace detail {
// Of the file that includes this. Sanitizers count as optimised: nobody expects speed of them.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WEFT_SANITIZED 1
#endif
#endif
#if defined(__OPTIMIZE__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(WEFT_SANITIZED)
constexpr bool kOptimized = true;
#else
constexpr bool kOptimized = false;
#endif
}  // namespace detail

/// declare(Arguments&, Options&) declares the options of a job. CLI11's own App in place of Arguments will do.
template <class F, class Options>
concept DeclareFunction = std::invocable<const F&, Arguments&, Options&> || std::invocable<const F&, CLI::App&, Options&>;

/// define(Flow&, const Options&) is the job.
template <class F, class Options>
concept DefineFunction = std::invocable<const F&, Flow&, const Options&>;

/// A program of several jobs, each a subcommand with options of its own.
class Programs {
 public:
  explicit Programs(std::string description) : description_(std::move(description)) {}

  template <class Options, DeclareFunction<Options> Declare, DefineFunction<Options> Define>
  void add(std::string name, std::string description, Declare declare, Define define) {
    auto options = std::make_shared<Options>();
    const auto declared = [options, declare](Arguments& arguments) {
      if constexpr (std::invocable<const Declare&, Arguments&, Options&>) {
        declare(arguments, *options);
      } else {
        declare(arguments.parser(), *options);
      }
    };
    jobs_.push_back({std::move(name), std::move(description), declared,
                     [options, define](Flow& flow) { define(flow, std::as_const(*options)); }});
  }

  /// What is not `optimized` says so once, unless it is to be quiet: its loops are templates and take eight times as long.
  int main(int argc, char** argv, bool optimized = detail::kOptimized) const;

 private:
  struct Job {
    std::string name;  // empty: the program is this one job
    std::string description;
    std::function<void(Arguments&)> declare;
    std::function<void(Flow&)> define;
  };

  std::string description_;
  std::vector<Job> jobs_;
};

template <class Options, DeclareFunction<Options> Declare, DefineFunction<Options> Define>
int main(int argc, char** argv, std::string description, Declare declare, Define define) {
  Programs program(description);
  program.add<Options>("", std::move(description), std::move(declare), std::move(define));
  return program.main(argc, argv);
}

template <DefineFunction<InputOutput> Define>
int main(int argc, char** argv, std::string description, Define define) {
  return main<InputOutput>(
      argc, argv, std::move(description), [](Arguments& arguments, InputOutput& options) { declare(arguments, options); },
      std::move(define));
}

}  // namespace weft
