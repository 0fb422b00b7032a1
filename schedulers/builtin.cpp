#include "schedulers/policies/fifo.hpp"
#include "schedulers/scheduler.hpp"

namespace weft::sched {

Result<void> register_builtin_schedulers(Registry& registry) {
  WEFT_TRY(registry.add("fifo", "jobs by priority, then submit time; the nearest task first", make_fifo));
  return {};
}

Result<std::unique_ptr<Scheduler>> make_scheduler(std::string_view text) {
  Registry registry;
  WEFT_TRY(register_builtin_schedulers(registry));
  return registry.make(text);
}

}  // namespace weft::sched
