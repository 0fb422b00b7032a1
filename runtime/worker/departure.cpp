#include "runtime/worker/departure.hpp"

#include <vector>

#include <fmt/core.h>

#include "base/text.hpp"

namespace weft::runtime {
namespace {

constexpr Duration kMasterAway = std::chrono::seconds(30);  // time for its pod or machine to come back

}  // namespace

std::string to_text(const protocol::Remains& remains) {
  std::vector<std::string> parts;
  if (remains.tasks > 0) parts.push_back(fmt::format("{} tasks run", remains.tasks));
  if (remains.outputs > 0) parts.push_back(fmt::format("{} map outputs to copy", remains.outputs));
  if (remains.chunks > 0) parts.push_back(fmt::format("{} chunks and partitions to copy", remains.chunks));
  return join(parts, ", ");
}

Departure::Departure(rpc::Reactor& reactor, Duration longest, bool is_registered, Steps steps)
    : reactor_(reactor), steps_(std::move(steps)) {
  log_.info("stopping: handing over what others need, for {} at most; a second signal ends it at once", format_duration(longest));
  longest_ = reactor_.after(longest, [this, longest] {
    const std::string left = remains_ ? to_text(*remains_) : "the master did not report what is left";
    end(fmt::format("not everything was handed over in {}: {}", format_duration(longest), left));
  });
  is_registered ? registered() : lost();
}

void Departure::registered() {
  away_.reset();
  remains_.reset();
  steps_.announce();
}

void Departure::lost() {
  if (away_ || ended_) return;
  away_ = reactor_.after(kMasterAway, [this] {
    end(fmt::format("there was no master for {} to hand anything over to", format_duration(kMasterAway)));
  });
}

void Departure::on_remains(const protocol::Remains& remains) {
  if (ended_) return;
  const std::string text = to_text(remains);
  if (text.empty())
    return end(remains.abandoned == 0
                   ? std::string("everything is handed over")
                   : fmt::format("everything is handed over except {} map outputs that no worker could copy: their tasks run again",
                                 remains.abandoned));
  if (remains_ != remains) log_.info("still {}", text);
  remains_ = remains;
}

void Departure::end(const std::string& why) {
  if (std::exchange(ended_, true)) return;
  log_.info("{}; leaving", why);
  steps_.end();
}

}  // namespace weft::runtime
