// A job of many tasks that do nothing, or wait: what a task costs.   noop [--tasks N] [--milliseconds N]
#include <chrono>
#include <cstdint>
#include <thread>

#include <weft/weft.h>

namespace {

struct Options {
  std::uint32_t tasks = 1;
  std::uint32_t milliseconds = 0;
};

void declare(weft::Arguments& arguments, Options& options) {
  arguments.option("--tasks", options.tasks, "Tasks to run").show_default();
  arguments.option("--milliseconds", options.milliseconds, "How long each waits").show_default();
}

void define(weft::Flow& flow, const Options& options) {
  flow.generate(
          options.tasks,
          [wait = options.milliseconds](std::uint64_t index) {
            if (wait > 0) std::this_thread::sleep_for(std::chrono::milliseconds(wait));
            return index;
          },
          options.tasks)
      .count();
}

}  // namespace

int main(int argc, char** argv) { return weft::main<Options>(argc, argv, "Runs tasks that do nothing", declare, define); }
