#include "engine/master/server/worker_admission.hpp"

#include <memory>
#include <utility>

#include <fmt/core.h>

#include "base/text.hpp"
#include "engine/master/nodes/capacity_words.hpp"
#include "shuffle/transfer/job_keys.hpp"

namespace weft::master {
namespace {

constexpr Duration kPresenceDeadline = std::chrono::seconds(3);

/// Slots are its cpu; its tasks' memory counts unless it says otherwise.
Result<schedulers::Resources> capacity_of(const protocol::Register& worker) {
  schedulers::Resources capacity;
  if (!worker.capacity.empty()) {
    WEFT_ASSIGN(capacity, parse_offer(worker.capacity));
  }
  capacity.cpu = worker.slots;
  if (capacity.memory == 0) capacity.memory = static_cast<double>(worker.memory_bytes);
  return capacity;
}

/// No answer came, of whatever kind.
bool is_silence(const Error& error) { return error.code() == Code::deadline_exceeded || error.code() == Code::unavailable; }

}  // namespace

void WorkerAdmission::on_register(const rpc::ConnectionPtr& connection, const rpc::Message& message, rpc::Responder responder) {
  if (connection->context) return responder.fail(Error(Code::invalid_argument, "this worker is registered already"));
  if (auto common = connection->protocol(); !common) {
    log_.warn("{}: registration refused: {}", connection->peer(), common.error().to_string());
    return responder.fail(common.error());
  }
  auto info = protocol::decode<protocol::Register>(message);
  if (!info) return responder.fail(info.error());
  if (const std::uint64_t own = epoch(); own != 0 && info->seen_epoch > own) {
    const Error deposed(Code::unavailable, fmt::format("this master is of epoch {} and does not lead any more: worker {} at {} was "
                                                       "registered in epoch {}",
                                                       own, escaped(info->name), connection->peer(), info->seen_epoch));
    log_.error("{}", deposed.to_string());
    return responder.fail(deposed);
  }
  const auto tag = std::make_shared<WorkerTag>();
  connection->context = tag;
  const auto to = std::make_shared<rpc::Responder>(std::move(responder));
  if (const auto id = returning(*info)) {
    auto back = rejoin(connection, *tag, *id, std::move(*info));
    if (back) return to->reply(std::move(*back));
    log_.warn("{}: {}", connection->peer(), back.error().to_string());
    connection->context.reset();
    return to->fail(back.error());
  }
  lose_predecessor(*info);
  auto take_in = [this, connection, tag, to](protocol::Register worker, Result<std::optional<Rack>> rack) {
    schedulers::UplinkRate uplink;
    if (rack && *rack) {
      worker.rack = (*rack)->name;
      uplink = (*rack)->uplink;
    }
    const NodeId id = context_.recorder.new_node();
    context_.recorder.when_durable_or_full(
        [this, connection, tag, to, id, worker, uplink, refused = rack ? Result<void>() : fail(rack.error())](Result<void> kept) {
          if (connection->context != tag) return;  // it is gone
          if (kept) kept = refused;
          auto joined = kept ? join(connection, *tag, id, worker, uplink) : fail(std::move(kept).error());
          if (joined) return to->reply(std::move(*joined));
          log_.warn("{}: registration refused: {}", connection->peer(), joined.error().to_string());
          connection->context.reset();
          to->fail(joined.error());
        });
  };
  auto find_rack = [this, take_in](const protocol::Register& worker) {
    if (context_.topology == nullptr) return take_in(worker, std::nullopt);
    context_.background.post([this, take_in, worker] {
      context_.reactor.post([take_in, worker, rack = context_.topology->rack_of(worker.host)] { take_in(worker, rack); });
    });
  };
  const auto rival = info->named ? rival_of(*info) : std::nullopt;
  if (!rival) return find_rack(*info);
  // Its machine may be gone without notice. A worker that does not answer is lost; missing heartbeats would show that later.
  context_.table.at(*rival).connection->request(
      protocol::kPresence, {}, kPresenceDeadline,
      [this, connection, tag, find_rack, rival = *rival, info = std::move(*info)](const Result<rpc::Message>& answer) {
        if (connection->context != tag) return;  // it is gone
        if (!answer && is_silence(answer.error()) && context_.table.contains(rival))
          losses_.expel(rival, "it did not answer when another worker came under its name");
        find_rack(info);
      });
}

std::optional<NodeId> WorkerAdmission::rival_of(const protocol::Register& info) const {
  for (const auto& [id, worker] : context_.table.all())
    if (worker.info.name == info.name && (info.process == 0 || worker.info.process != info.process)) return id;
  return std::nullopt;
}

Result<void> WorkerAdmission::settle_name(protocol::Register& info) {
  const WorkerTable::Workers& workers = context_.table.all();
  for (auto at = workers.begin(); at != workers.end();) {
    const auto& [id, worker] = *at++;
    if (info.process != 0 && worker.info.process == info.process) losses_.expel(id, "it has come back on another connection");
  }
  const auto rival = rival_of(info);
  if (!rival) return {};
  if (info.named) {
    const RegisteredWorker& other = context_.table.at(*rival);
    return fail(Code::already_exists,
                fmt::format("the worker {} is there already, on {} at {}, and alive: give this one another --name, or end that one",
                            info.name, other.info.host, other.connection->peer()));
  }
  const std::string wanted = info.name;
  for (int number = 2; rival_of(info); ++number) info.name = fmt::format("{}-{}", wanted, number);
  return {};
}

std::optional<NodeId> WorkerAdmission::returning(const protocol::Register& info) const {
  if (!info.held) return std::nullopt;
  const auto waited = context_.away.find(info.held->node);
  const schedulers::NodeInfo* const node = context_.shell.core().view().node(info.held->node);
  const bool same = waited != context_.away.end() && waited->second.process == info.process && node != nullptr && node->away;
  return same ? std::optional(info.held->node) : std::nullopt;
}

void WorkerAdmission::lose_predecessor(const protocol::Register& info) {
  std::vector<NodeId> gone;
  for (const auto& [id, worker] : context_.away)
    if (worker.name == info.name) gone.push_back(id);
  for (const NodeId id : gone) (void)context_.shell.apply(WorkerLost{id, "it was started again while the master was away"});
}

/// A worker that is back has the job. It may lack values of actions, and has to have them before the first launch; of a job that is
/// over it ends everything.
void WorkerAdmission::resume_job(NodeId id, RegisteredWorker& worker, JobId job) {
  const auto running = context_.jobs.find(job);
  if (running == context_.jobs.end()) return context_.table.send(id, protocol::ReleaseJob{id, job});
  worker.prepared.insert(job);
  context_.table.send_key(id, job, running->second.block_key);
  for (const auto& [action, value] : running->second.values) context_.table.send(id, protocol::ActionValue{job, action, value});
}

/// It goes on with what it runs and holds.
Result<rpc::Payload> WorkerAdmission::rejoin(const rpc::ConnectionPtr& connection, WorkerTag& tag, NodeId id,
                                             protocol::Register info) {
  const schedulers::NodeInfo& node = *context_.shell.core().view().node(id);
  const schedulers::Resources nominal = node.nominal;
  info.name = node.name;
  info.rack = context_.shell.core().view().rack(node.rack)->name;
  const protocol::Held held = std::move(*std::exchange(info.held, std::nullopt));
  RegisteredWorker& worker = context_.table.add(id, connection);
  worker.info = std::move(info);
  worker.heard = context_.shell.now();
  for (const JobId job : held.jobs) resume_job(id, worker, job);
  if (auto back =
          context_.shell.apply(WorkerRejoined{id, held.running, held.outputs, {held.with_device.begin(), held.with_device.end()}});
      !back) {
    context_.table.erase(id);
    return fail(std::move(back).error());
  }
  context_.away.erase(id);
  context_.table.wait_for_others(!context_.away.empty());
  tag.node = id;
  log_.info("worker {} at {} is back as node {} with {} attempts and {} map outputs", worker.info.name, connection->peer(),
            id.value(), held.running.size(), held.outputs.size());
  warn_without_keys(worker);
  capacities_.joined(id, worker.info, nominal);
  if (context_.resumed) context_.resumed(id, held.drivers);
  return protocol::encode(answer_to(id, worker, true));
}

void WorkerAdmission::warn_without_keys(const RegisteredWorker& worker) const {
  if (worker.protocol >= shuffle::kKeysSince) return;
  log_.warn(
      "worker {} is of an earlier release, which knows no keys of jobs: until it is upgraded, workers give map outputs without "
      "them",
      worker.info.name);
}

protocol::Registered WorkerAdmission::answer_to(NodeId id, const RegisteredWorker& worker, bool resumed) const {
  const JobRecorder& recorder = context_.recorder;
  return {id,      context_.options.heartbeat, worker.info.rack, worker.info.name,
          resumed, recorder.keeps_jobs(),      epoch(),          recorder.numbering()};
}

std::uint64_t WorkerAdmission::epoch() const {
  return context_.options.leadership == nullptr ? 0 : context_.options.leadership->epoch();
}

Result<rpc::Payload> WorkerAdmission::join(const rpc::ConnectionPtr& connection, WorkerTag& tag, NodeId id, protocol::Register info,
                                           const schedulers::UplinkRate& uplink) {
  WorkerJoined joined;
  joined.node = id;
  joined.host = info.host;
  joined.rack = info.rack;
  joined.data_address = info.data_address;
  WEFT_ASSIGN(const schedulers::Resources capacity, capacity_of(info));
  WEFT_TRY(settle_name(info));
  joined.name = info.name;
  joined.capacity = capacity;
  joined.attributes = info.attributes;
  joined.prefetch_bytes = info.prefetch_bytes;
  joined.rack_uplink = uplink;
  joined.processors = info.usable_processors;
  log_.info("worker {} at {} joined as node {} with {}", info.name, connection->peer(), id.value(), to_string(joined.capacity));
  RegisteredWorker& worker = context_.table.add(id, connection);
  worker.info = std::move(info);
  worker.heard = context_.shell.now();
  const NodeFact fact = fact_of(joined, worker.heard, worker.info.process);
  if (auto applied = context_.shell.apply(std::move(joined)); !applied) {
    context_.table.erase(id);
    return fail(std::move(applied).error());
  }
  context_.recorder.record(fact);
  tag.node = id;
  if (const std::string why = context_.shell.core().why_excluded(id); !why.empty())
    log_.error("worker {} gets no tasks for {}: {}; see the end of its log on {}", worker.info.name,
               human_duration(*context_.shell.core().view().node(id)->excluded_until - context_.shell.now()), why,
               worker.info.host);
  warn_without_keys(worker);
  capacities_.joined(id, worker.info, capacity);
  return protocol::encode(answer_to(id, worker, false));
}

}  // namespace weft::master
