#include "engine/master/storage/table_barrier.hpp"

#include <fmt/core.h>

#include "base/clock.hpp"

namespace weft::master {
namespace {

using namespace storage::tables;
using namespace std::chrono_literals;
constexpr auto kDeadline = 5s;
constexpr auto kLater = 100ms;

}  // namespace

// Tickets of a master that was here before are never given again.
TableBarrier::TableBarrier(rpc::Reactor& reactor, Ask ask)
    : reactor_(reactor),
      ask_(std::move(ask)),
      ticket_(static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count())) {}

void TableBarrier::in_line(const std::string& table, Job job) {
  auto& line = lines_[table];
  line.push_back(std::move(job));
  if (line.size() == 1) next(table);
}

void TableBarrier::next(const std::string& table) {
  reactor_.post([this, alive = std::weak_ptr(alive_), table] {
    if (alive.expired()) return;
    const Job job = lines_.at(table).front();
    job([this, alive, table] {
      if (alive.expired()) return;
      const auto line = lines_.find(table);
      line->second.pop_front();
      if (line->second.empty())
        lines_.erase(line);
      else
        next(table);
    });
  });
}

void TableBarrier::later(std::function<void()> task) {
  const std::uint64_t id = ++next_timer_;
  timers_[id] = reactor_.after(kLater, [this, id, task = std::move(task)] {
    const auto timer = std::move(timers_.at(id));
    timers_.erase(id);
    task();
  });
}

void TableBarrier::each(const TableStatus& table, const PartitionOperation& operation, OnDone done) {
  struct All {
    std::size_t left;
    Result<void> result;
    OnDone done;
  };
  const auto all = std::make_shared<All>(All{table.partitions.size(), {}, std::move(done)});
  const auto arrived = [alive = std::weak_ptr(alive_), all](std::uint32_t partition, const Result<void>& one) {
    if (alive.expired()) return;
    if (!one && all->result) all->result = fail(Error(one.error()).wrap(fmt::format("partition {}", partition)));
    if (--all->left == 0) all->done(all->result);
  };
  for (std::uint32_t p = 0; p < table.partitions.size(); ++p) {
    const PartitionStatus& partition = table.partitions[p];
    std::string address;
    for (const MemberStatus& member : partition.members)
      if (member.name == partition.primary) address = member.address;
    const auto fails = [this, arrived, p](const Error& why) { reactor_.post([arrived, p, why] { arrived(p, fail(why)); }); };
    if (partition.primary.empty() || address.empty()) {
      fails(Error(Code::unavailable,
                  fmt::format("no worker can serve it{}{}", partition.fault.empty() ? "" : ": ", partition.fault)));
      continue;
    }
    ask_(address, {{table.id, p}, partition.epoch, operation}, kDeadline,
         [arrived, p](const Result<PartitionReply>& reply) { arrived(p, reply ? Result<void>() : fail(reply.error())); });
  }
}

}  // namespace weft::master
