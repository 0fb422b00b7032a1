// A job program for tests of executors: what a task does is said by the number of its stage.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <thread>

#include <sys/resource.h>
#include <unistd.h>

#include "runtime/executor/process.hpp"
#include "shuffle/store/task_shuffle.hpp"

namespace weft::runtime {
namespace {

struct Body final : StageBody {
  explicit Body(std::uint32_t number) : stage(number) {}
  Buffer run(TaskContext& context) const override {
    switch (stage) {
      case 1:
        throw std::runtime_error("as it was told to");
      case 2:
        std::printf("the last line before the end\n");
        std::abort();
      case 3:
        while (true) {
          context.check_stop();
          std::this_thread::yield();
        }
      case 4:
        std::fclose(std::fopen("hanging", "w"));
        while (true) std::this_thread::sleep_for(std::chrono::hours(1));
      case 5:
        std::exit(0);
      case 6: {  // has no descriptor left for what the worker sends
        rlimit limit{};
        getrlimit(RLIMIT_NOFILE, &limit);
        limit.rlim_cur = 0;
        setrlimit(RLIMIT_NOFILE, &limit);
        (void)context.shuffle->read(ShuffleId(1), {0, 1}, {}, [](const shuffle::Block&) { return Result<void>(); });
        while (true) std::this_thread::sleep_for(std::chrono::hours(1));  // its process is about to end
      }
      case 7:  // commits an output, and ends when it is allowed to
        commit(context);
        std::fclose(std::fopen("committed", "w"));
        while (access("go", F_OK) != 0) {
          context.check_stop();
          std::this_thread::yield();
        }
        return process_id();
      case 8:
        return process_id();
      case 9: {  // reads what another worker has
        const auto done = context.shuffle->read(ShuffleId(1), {0, 1}, {}, [](const shuffle::Block&) { return Result<void>(); });
        if (!done) throw TaskError{done.error()};
        return process_id();
      }
      default:
        return Buffer::copy_of(as_bytes("done"));
    }
  }
  static void commit(TaskContext& context) {
    auto writer = context.shuffle->create_segment(1).value();
    (void)writer->append(0, as_bytes("a record"), 1);
    if (!context.shuffle->commit(writer->seal().value())) throw std::runtime_error("the output is refused");
  }
  static Buffer process_id() { return Buffer::copy_of(as_bytes(std::to_string(getpid()))); }
  const std::uint32_t stage;
};

struct Program final : JobProgram {
  Result<const StageBody*> stage(StageId id, std::uint64_t fingerprint) override {
    if (fingerprint != 42) return fail(Code::plan_mismatch, "another program");
    return bodies.at(id.value()).get();
  }
  void provide(ActionId action, Buffer) override { std::printf("value %llu\n", static_cast<unsigned long long>(action.value())); }
  std::vector<std::unique_ptr<Body>> bodies = [] {
    std::vector<std::unique_ptr<Body>> all;
    for (std::uint32_t number = 0; number < 10; ++number) all.push_back(std::make_unique<Body>(number));
    return all;
  }();
};

}  // namespace
}  // namespace weft::runtime

int main() {
  return weft::runtime::run_if_executor([] { return std::make_unique<weft::runtime::Program>(); }).value_or(7);
}
