// A job of many tasks that do nothing: what a task costs.   noop [--tasks N]
#include <cstdint>

#include <weft/weft.h>

namespace {

struct Options {
  std::uint32_t tasks = 1;
};

void declare(weft::Arguments& arguments, Options& options) {
  arguments.option("--tasks", options.tasks, "Tasks to run").show_default();
}

void define(weft::Flow& flow, const Options& options) {
  flow.generate(
          options.tasks, [](std::uint64_t index) { return index; }, options.tasks)
      .count();
}

}  // namespace

int main(int argc, char** argv) { return weft::main<Options>(argc, argv, "Runs tasks that do nothing", declare, define); }
