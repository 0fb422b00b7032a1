// The main function of job programs: parses the command line, runs the definition where the options say, reports.
//
//   int main(int argc, char** argv) { return weft::main<Options>(argc, argv, "Counts words", declare, define); }
//
// with `void declare(weft::Arguments&, Options&)` and `void define(weft::Flow&, const Options&)`; or, for a job that takes --input
// and --output and nothing else, `WEFT_JOB(define)` with `void define(weft::Flow&, const weft::InputOutput&)`, and for one without
// options of its own with `void define(weft::Flow&)`. The exit code is 0 on success, 1 when the job fails, 2 when the command line
// is wrong.
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
// Whether the including file is optimised. Builds with sanitizers count as such, since they are not meant to be fast.
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

/// declare(Arguments&, Options&) declares the options of a job. It may take CLI11's App instead of Arguments.
template <class F, class Options>
concept DeclareFunction = std::invocable<const F&, Arguments&, Options&> || std::invocable<const F&, CLI::App&, Options&>;

/// define(Flow&, const Options&) is the job.
template <class F, class Options>
concept DefineFunction = std::invocable<const F&, Flow&, const Options&>;

namespace detail {
/// The options that a definition takes. InputOutput where it does not say: a function object with a template.
template <class F>
struct OptionsOf {
  using type = InputOutput;
};
template <class Options>
struct OptionsOf<void (*)(Flow&, const Options&)> {
  using type = Options;
};
template <class F, class Options>
struct OptionsOf<void (F::*)(Flow&, const Options&) const> {
  using type = Options;
};
template <class F>
requires requires { &F::operator(); }
struct OptionsOf<F> : OptionsOf<decltype(&F::operator())> {};

struct NoOptions {};
inline void declare(Arguments&, NoOptions&) {}

/// A definition that takes no options as one that takes some that say nothing.
template <class Define>
auto with_options(Define define) {
  if constexpr (std::invocable<const Define&, Flow&>) {
    return [define = std::move(define)](Flow& flow, const NoOptions&) { define(flow); };
  } else {
    return define;
  }
}
}  // namespace detail

/// A program of several jobs, each a subcommand with its own options.
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

  /// The options are those of the definition's second parameter, declared by declare(Arguments&, Options&) beside their type;
  /// without one there are none.
  template <class Define>
  void add(std::string name, std::string description, Define define) {
    auto defined = detail::with_options(std::move(define));
    using Options = typename detail::OptionsOf<decltype(defined)>::type;
    const auto declared = [](Arguments& arguments, Options& options) { declare(arguments, options); };
    add<Options>(std::move(name), std::move(description), declared, std::move(defined));
  }

  /// A program that is not `optimized` warns once, unless it is quiet: its loops are templates and take eight times as long.
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

template <class Options, class Declare, class Define>
int main(int argc, char** argv, std::string description, Declare declare, Define define) {
  static_assert(DeclareFunction<Declare, Options>, "weft main: declare must be callable as declare(weft::Arguments&, Options&)");
  static_assert(DefineFunction<Define, Options>,
                "weft main: define must be callable as define(weft::Flow&) or define(weft::Flow&, const Options&)");
  if constexpr (DeclareFunction<Declare, Options> && DefineFunction<Define, Options>) {
    Programs program(description);
    program.add<Options>("", std::move(description), std::move(declare), std::move(define));
    return program.main(argc, argv);
  }
}

/// The main function of a program with one job. The job's options are the type of the definition's second parameter: InputOutput,
/// or a struct with a declare(Arguments&, Options&) beside it. A struct that only derives from InputOutput needs no declare. A
/// definition without that parameter has no options of its own.
template <class Define>
int main(int argc, char** argv, std::string description, Define define) {
  auto defined = detail::with_options(std::move(define));
  using Options = typename detail::OptionsOf<decltype(defined)>::type;
  return main<Options>(
      argc, argv, std::move(description), [](Arguments& arguments, Options& options) { declare(arguments, options); },
      std::move(defined));
}

}  // namespace weft

/// The main function of a program that is one job: `WEFT_JOB(define)`, or with its description for --help, `WEFT_JOB(define,
/// "Counts words")`.
#define WEFT_JOB(...) \
  int main(int argc, char** argv) { return ::weft::detail::run_job(argc, argv, __VA_ARGS__); }

namespace weft::detail {
template <class Define>
int run_job(int argc, char** argv, Define define, std::string description = "A weft job") {
  return weft::main(argc, argv, std::move(description), define);
}
}  // namespace weft::detail
