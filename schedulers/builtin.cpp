#include "schedulers/builtin.hpp"

#include "schedulers/parts/stage_orders.hpp"
#include "schedulers/policies/adaptive.hpp"
#include "schedulers/policies/capacity.hpp"
#include "schedulers/policies/carbyne.hpp"
#include "schedulers/policies/cogrs.hpp"
#include "schedulers/policies/delay.hpp"
#include "schedulers/policies/drf.hpp"
#include "schedulers/policies/fair.hpp"
#include "schedulers/policies/fifo.hpp"
#include "schedulers/policies/fsp.hpp"
#include "schedulers/policies/ras.hpp"
#include "schedulers/policies/reverse_adaptive.hpp"
#include "schedulers/policies/shortest.hpp"
#include "schedulers/policies/shufflewatcher.hpp"
#include "schedulers/policies/tetris.hpp"

namespace weft::schedulers {

Result<void> register_builtin_schedulers(Registry& registry) {
  WEFT_TRY(registry.add("fifo", "jobs by priority, then submit time; the nearest task first", make_fifo));
  WEFT_TRY(registry.add("fair", "pools with weights and minimum shares; may preempt", make_fair));
  WEFT_TRY(registry.add("capacity", "queues with a part of the cluster each, and user limits; never preempts", make_capacity));
  WEFT_TRY(registry.add("delay", "another scheduler, jobs wait a little for nodes that hold their input", make_delay));
  WEFT_TRY(registry.add("cogrs", "another scheduler, reduces at the centre of gravity of their input", make_cogrs));
  WEFT_TRY(registry.add("fsp", "jobs in the order in which they would end if all shared fairly (Fair Sojourn Protocol)", make_fsp));
  WEFT_TRY(registry.add("drf", "the smallest dominant share next (Dominant Resource Fairness)", make_drf));
  WEFT_TRY(registry.add("sjf", "the job with the shortest critical path first", make_sjf));
  WEFT_TRY(registry.add("srtf", "the job with the least remaining work first", make_srtf));
  WEFT_TRY(registry.add("cpm", "another scheduler, stages on the longest path first", make_cpm));
  WEFT_TRY(registry.add("bfs", "another scheduler, stages by depth", make_bfs));
  WEFT_TRY(registry.add("shufflewatcher",
                        "an order of users; shuffles are shaped, kept in racks and balanced by the load of uplinks",
                        make_shufflewatcher));
  WEFT_TRY(
      registry.add("adaptive", "jobs get the slots that they need to meet their deadlines, and share the rest", make_adaptive));
  WEFT_TRY(registry.add("dagps", "another scheduler, stages that are long or hard to pack first", make_dagps));
  WEFT_TRY(registry.add("carbyne", "jobs lend what they don't need to end as early as their share lets them", make_carbyne));
  WEFT_TRY(registry.add("tetris", "the task that packs best, weighed against short jobs", make_tetris));
  WEFT_TRY(registry.add("ras", "as many tasks on a node as fit it by what they use, by completion-time goals", make_ras));
  WEFT_TRY(registry.add("reverse_adaptive", "completion-time goals on nodes that others use, planned backwards from the goals",
                        make_reverse_adaptive));
  return {};
}

Result<std::unique_ptr<Scheduler>> make_scheduler(std::string_view text, const FileReader& reader) {
  Registry registry;
  WEFT_TRY(register_builtin_schedulers(registry));
  return registry.make(text, reader);
}

}  // namespace weft::schedulers
