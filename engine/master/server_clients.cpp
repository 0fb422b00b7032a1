// The server's side of its clients: drivers and the command line.
#include <algorithm>

#include <fmt/core.h>

#include "engine/master/server_impl.hpp"

namespace weft::master {
namespace {

constexpr Duration kLongestPoll = std::chrono::seconds(30);
constexpr Duration kLogDeadline = std::chrono::seconds(10);
constexpr std::uint64_t kMostValueBytes = 256u << 20;  // of one job

}  // namespace

Result<rpc::Payload> ServerImpl::on_client_request(const rpc::ConnectionPtr& connection, const rpc::Message& message) {
  switch (message.type) {
    case client::kSubmitJob:
      return on_submit(connection, message);
    case client::kUploadBinary:
      return on_upload(message);
    case client::kRunPart:
      return on_run_part(message);
    case client::kRecordValue:
      return on_record_value(message);
    case client::kCloseJob: {
      WEFT_ASSIGN(const client::JobRequest request, client::decode<client::JobRequest>(message));
      WEFT_TRY(apply(JobClosed{request.job}));
      return rpc::Payload{};
    }
    case client::kListJobs:
      return client::encode(client::JobList{(*core_)->jobs(), now()});
    case client::kJobStatus: {
      WEFT_ASSIGN(const client::JobRequest request, client::decode<client::JobRequest>(message));
      client::JobList list;
      WEFT_ASSIGN(JobStatus status, status_of(request.job, true));
      list.jobs.push_back(std::move(status));
      list.now = now();
      return client::encode(std::move(list));
    }
    case client::kKillJob: {
      WEFT_ASSIGN(client::KillRequest request, client::decode<client::KillRequest>(message));
      WEFT_TRY(apply(JobKilled{request.job, std::move(request.reason)}));
      return rpc::Payload{};
    }
    case client::kExplainJob: {
      WEFT_ASSIGN(const client::JobRequest request, client::decode<client::JobRequest>(message));
      WEFT_ASSIGN(JobExplanation explanation, (*core_)->explain(request.job));
      explanation.now = now();
      return client::encode(std::move(explanation));
    }
    case client::kListNodes:
      return on_list_nodes();
    case client::kListGroups:
      return on_list_groups();
    case client::kConfigureScheduler:
      return on_configure(message);
    case client::kShowScheduler:
      return on_show_scheduler();
    default:
      return fail(Code::invalid_argument, fmt::format("the master does not know message {}", message.type));
  }
}

Result<rpc::Payload> ServerImpl::on_submit(const rpc::ConnectionPtr& connection, const rpc::Message& message) {
  WEFT_ASSIGN(client::Submit submit, client::decode<client::Submit>(message));
  JobSubmitted event;
  event.job = JobId(next_job_);
  event.name = submit.name;
  event.user = submit.user;
  event.pool = submit.pool;
  event.priority = submit.priority;
  event.hints.weight = submit.weight.value_or(1);
  event.max_attempts = submit.max_attempts;
  event.task_timeout = submit.task_timeout;
  event.demand = submit.demand;
  if (!submit.shuffle_mode) submit.shuffle_mode = options_.shuffle_mode;
  event.shuffle_mode = *submit.shuffle_mode;
  event.shuffle_replicas = submit.shuffle_replicas.value_or(options_.shuffle_replicas);
  if (submit.deadline > Duration(0)) event.deadline = now() + submit.deadline;
  const JobId id(next_job_++);
  WEFT_TRY(apply(std::move(event)));
  record_job(id);
  const bool known = submit.same_binary || binaries_->knows(submit.binary);
  log_.info("job {}: {} of {}", id.value(), submit.name, submit.user.empty() ? "somebody" : submit.user);
  Job& job = jobs_[id];
  job.submit = std::move(submit);
  job.driver = connection;
  return client::encode(client::Submitted{id, known, static_cast<std::uint32_t>((*core_)->view().capacity().cpu)});
}

Result<rpc::Payload> ServerImpl::on_upload(const rpc::Message& message) {
  WEFT_ASSIGN(const client::Upload upload, client::decode<client::Upload>(message));
  WEFT_TRY(binaries_->write(upload.binary, upload.offset, upload.total, message.bulk.view()));
  return rpc::Payload{};
}

Result<ServerImpl::Job*> ServerImpl::running_job(JobId id) {
  if (auto job = jobs_.find(id); job != jobs_.end()) return &job->second;
  WEFT_ASSIGN(const JobStatus status, (*core_)->job(id));
  return fail(Code::cancelled, status.error.empty() ? fmt::format("job {} is over", id.value()) : status.error);
}

Result<rpc::Payload> ServerImpl::on_run_part(const rpc::Message& message) {
  WEFT_ASSIGN(const client::JobRequest request, client::decode<client::JobRequest>(message));
  WEFT_ASSIGN(const Job* job, running_job(request.job));
  if (!job->submit.same_binary && !binaries_->knows(job->submit.binary))
    return fail(Code::invalid_argument, "the job's program was not uploaded");
  WEFT_ASSIGN(plan::PlanPart part, plan::decode_part(message.bulk.view()));
  place_splits(part);
  WEFT_TRY(apply(PlanExtended{request.job, std::move(part)}));
  return rpc::Payload{};
}

/// Notes the hosts of files that lie in directories that workers hold.
void ServerImpl::place_splits(plan::PlanPart& part) const {
  std::map<std::string, std::set<std::string>> holders;  // hosts by directory
  for (const auto& [id, node] : nodes_)
    for (const std::string& directory : node.info.local_data) holders[directory].insert(node.info.host);
  if (holders.empty()) return;
  const auto hosts_of = [&holders](const std::string& path) {
    std::set<std::string> hosts;
    for (const auto& [directory, of_directory] : holders)
      if (path.starts_with(directory) && path.size() > directory.size() && path[directory.size()] == '/')
        hosts.insert(of_directory.begin(), of_directory.end());
    return std::vector<std::string>(hosts.begin(), hosts.end());
  };
  for (plan::Stage& stage : part.stages)
    for (plan::Branch& branch : stage.branches)
      for (storage::SplitGroup& group : branch.splits)
        for (storage::Split& split : group)
          if (split.hosts.empty()) split.hosts = hosts_of(split.path);
}

Result<rpc::Payload> ServerImpl::on_record_value(const rpc::Message& message) {
  WEFT_ASSIGN(const client::ValueRecord record, client::decode<client::ValueRecord>(message));
  WEFT_ASSIGN(Job * job, running_job(record.job));
  job->value_bytes += message.bulk.size();
  if (job->value_bytes > kMostValueBytes)
    return fail(Code::resource_exhausted, "the values of a job's actions and broadcasts together exceed 256 MiB; join instead");
  SharedBytes value(Buffer::copy_of(message.bulk.view()));
  job->values[record.action] = value;
  for (auto& [id, node] : nodes_)
    if (node.prepared.contains(record.job)) send(node, id, protocol::ActionValue{record.job, record.action, value});
  return rpc::Payload{};
}

Result<JobStatus> ServerImpl::status_of(JobId id, bool predict) const {
  WEFT_ASSIGN(JobStatus status, (*core_)->job(id, predict));
  if (const auto found = prefetched_.find(id); found != prefetched_.end())
    for (const auto& [node, bytes] : found->second) status.prefetch += bytes;
  return status;
}

Result<rpc::Payload> ServerImpl::on_list_nodes() {
  client::NodeList list;
  std::vector<client::NodeStatus>& nodes = list.nodes;
  for (const auto& [id, node] : nodes_) {
    client::NodeStatus& status = nodes.emplace_back();
    status.id = id;
    status.name = node.info.name;
    status.host = node.info.host;
    status.address = node.info.data_address;
    status.slots = node.info.slots;
    status.heard = now() - node.heard;
    status.clock_ahead = node.clock.ahead();
    status.store_memory_bytes = node.heartbeat.store_memory_bytes;
    status.store_disk_bytes = node.heartbeat.store_disk_bytes;
    status.prefetch_memory_bytes = node.heartbeat.prefetch_memory_bytes;
    status.prefetch_file_bytes = node.heartbeat.prefetch_file_bytes;
    status.prefetch = node.heartbeat.prefetch;
    if (const schedulers::NodeInfo* info = (*core_)->view().node(id)) {
      status.running = static_cast<std::uint32_t>(info->running.size());
      status.excluded = !info->usable();
      status.excluded_for = info->usable() ? Duration(0) : std::max(*info->excluded_until - now(), Duration(0));
      status.capacity = info->capacity;
      status.used = info->used;
      status.attributes = info->attributes;
      status.rack = (*core_)->view().rack(info->rack)->name;
    } else {
      status.lost = true;
      status.rack = node.info.rack;
      status.attributes = node.info.attributes;
    }
  }
  for (const LostWorker& lost : lost_.recent(now())) {
    if (nodes_.contains(lost.node)) continue;  // silent, and listed as such
    client::NodeStatus& status = nodes.emplace_back();
    status.id = lost.node;
    status.name = lost.name;
    status.host = lost.host;
    status.rack = lost.rack;
    status.address = lost.address;
    status.dead = true;
    status.cause = lost.reason;
    status.heard = now() - lost.at;
  }
  return client::encode(std::move(list));
}

/// What a poll can be answered now: the action's results, or how the job stands. Nothing when it is worth waiting for more.
std::optional<Result<rpc::Payload>> ServerImpl::poll_answer(const client::Poll& poll, bool final) {
  auto status = (*core_)->job(poll.job);
  if (!status) return Result<rpc::Payload>(fail(std::move(status).error()));
  client::PollReply reply;
  if (auto job = jobs_.find(poll.job); job != jobs_.end())
    if (auto finished = job->second.finished.extract(poll.action); !finished.empty()) {
      reply.finished = true;
      reply.results = std::move(finished.mapped());
    }
  if (!reply.finished && !final && status->state == JobState::running) return std::nullopt;
  reply.status = std::move(*status);
  return Result<rpc::Payload>(client::encode(std::move(reply)));
}

void ServerImpl::on_poll(const rpc::Message& message, rpc::Responder responder) {
  auto poll = client::decode<client::Poll>(message);
  if (!poll) return responder.fail(poll.error());
  const Duration wait = std::clamp(poll->wait, Duration(0), kLongestPoll);
  auto job = jobs_.find(poll->job);
  auto answered = poll_answer(*poll, wait == Duration(0) || job == jobs_.end());
  auto to = std::make_shared<rpc::Responder>(std::move(responder));
  if (answered) return answer(std::move(to), std::move(*answered));
  Waiting waiting;
  waiting.id = next_poll_++;
  waiting.poll = *poll;
  waiting.responder = std::move(to);
  waiting.timer = reactor_->after(wait, [this, id = waiting.id, job_id = poll->job] {
    auto found = jobs_.find(job_id);
    if (found == jobs_.end()) return;
    auto& list = found->second.waiting;
    auto at = std::find_if(list.begin(), list.end(), [id](const Waiting& item) { return item.id == id; });
    if (at == list.end()) return;
    const Waiting over = std::move(*at);
    list.erase(at);
    answer(over.responder, *poll_answer(over.poll, true));
  });
  job->second.waiting.push_back(std::move(waiting));
}

void ServerImpl::answer_polls(JobId id, bool final) {
  auto job = jobs_.find(id);
  if (job == jobs_.end()) return;
  std::vector<Waiting> still;
  for (Waiting& waiting : std::exchange(job->second.waiting, {})) {
    if (auto answered = poll_answer(waiting.poll, final))
      answer(waiting.responder, std::move(*answered));
    else
      still.push_back(std::move(waiting));
  }
  job->second.waiting = std::move(still);
}

void ServerImpl::on_job_logs(const rpc::Message& message, rpc::Responder responder) {
  auto wanted = client::decode<client::LogsWanted>(message);
  if (!wanted) return responder.fail(wanted.error());
  if (auto status = (*core_)->job(wanted->job); !status) return responder.fail(status.error());
  struct Gathering {
    std::vector<client::JobLog> logs;
    std::size_t missing = 0;
    rpc::Responder responder;
  };
  auto gathering = std::make_shared<Gathering>(Gathering{{}, nodes_.size(), std::move(responder)});
  if (nodes_.empty()) return gathering->responder.reply(client::encode(client::JobLogs{}));
  for (const auto& [id, node] : nodes_)
    node.connection->request(protocol::kReadLog, protocol::encode(protocol::LogRequest{wanted->job, wanted->max_bytes}),
                             kLogDeadline, [gathering, name = node.info.name](Result<rpc::Message> answer) {
                               client::JobLog log{name, {}, answer ? "" : answer.error().to_string()};
                               if (answer) log.text = std::move(answer->bulk);
                               if (!log.error.empty() || !log.text.empty()) gathering->logs.push_back(std::move(log));
                               if (--gathering->missing == 0)
                                 gathering->responder.reply(client::encode(client::JobLogs{std::move(gathering->logs)}));
                             });
}

}  // namespace weft::master
