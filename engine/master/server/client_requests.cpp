#include "engine/master/server/client_requests.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "schedulers/view/points_of_time.hpp"

namespace weft::master {
namespace {

constexpr Duration kLongestPoll = std::chrono::seconds(30);
constexpr Duration kLogDeadline = std::chrono::seconds(10);
constexpr std::size_t kMostCapacityText = 256;
constexpr std::uint64_t kMostValueBytes = 256u << 20;  // of one job

}  // namespace

bool ClientRequests::answer_later(const rpc::Message& message, rpc::Responder& responder) {
  if (message.type == client::kPoll) {
    on_poll(message, std::move(responder));
  } else if (message.type == client::kJobLogs) {
    on_job_logs(message, std::move(responder));
  } else {
    return false;
  }
  return true;
}

Result<rpc::Payload> ClientRequests::answer(const rpc::ConnectionPtr& connection, const rpc::Message& message) {
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
      WEFT_TRY(parts_.shell.apply(JobClosed{request.job}));
      return rpc::Payload{};
    }
    case client::kKillJob: {
      WEFT_ASSIGN(client::KillRequest request, client::decode<client::KillRequest>(message));
      WEFT_TRY(parts_.shell.apply(JobKilled{request.job, std::move(request.reason)}));
      return rpc::Payload{};
    }
    case client::kListJobs:
      return on_list_jobs();
    case client::kJobStatus:
      return on_job_status(message);
    case client::kExplainJob:
      return on_explain(message);
    case client::kListNodes:
      return on_list_nodes();
    case client::kSetNode: {
      WEFT_ASSIGN(const client::NodeCapacity wanted, client::decode<client::NodeCapacity>(message));
      if (std::max(wanted.capacity.size(), wanted.reason.size()) > kMostCapacityText)
        return fail(Code::invalid_argument, fmt::format("capacity and reason have at most {} bytes", kMostCapacityText));
      WEFT_TRY(parts_.workers.set_capacity(wanted.name, wanted.capacity, wanted.reason));
      return rpc::Payload{};
    }
    default:
      return fail(Code::invalid_argument, fmt::format("the master does not know message {}", message.type));
  }
}

rpc::Payload ClientRequests::on_list_jobs() {
  client::JobList list{parts_.shell.core().jobs(), parts_.shell.now()};
  for (JobStatus& status : list.jobs) expectations_.add(parts_.shell.core(), list.now, status, log_);
  return client::encode(std::move(list));
}

Result<rpc::Payload> ClientRequests::on_job_status(const rpc::Message& message) {
  WEFT_ASSIGN(const client::JobRequest request, client::decode<client::JobRequest>(message));
  WEFT_ASSIGN(JobStatus status, status_of(request.job, true));
  expectations_.add(parts_.shell.core(), parts_.shell.now(), status, log_);
  client::JobList list;
  list.jobs.push_back(std::move(status));
  list.now = parts_.shell.now();
  return client::encode(std::move(list));
}

Result<rpc::Payload> ClientRequests::on_explain(const rpc::Message& message) {
  WEFT_ASSIGN(const client::JobRequest request, client::decode<client::JobRequest>(message));
  WEFT_ASSIGN(JobExplanation explanation, parts_.shell.core().explain(request.job));
  explanation.now = parts_.shell.now();
  const auto clock = std::chrono::system_clock::now();
  for (WaitingTasks& waiting : explanation.waiting)
    waiting.reason = schedulers::with_times_of_day(waiting.reason, explanation.now, clock);
  if (auto status = status_of(request.job, false); status && status->state == JobState::running && status->deadline) {
    expectations_.add(parts_.shell.core(), parts_.shell.now(), *status, log_);
    explanation.summary += "; " + outlook_text(*status);
  }
  return client::encode(std::move(explanation));
}

Result<rpc::Payload> ClientRequests::on_submit(const rpc::ConnectionPtr& connection, const rpc::Message& message) {
  WEFT_ASSIGN(client::Submit submit, client::decode<client::Submit>(message));
  const JobId id = parts_.recorder.new_job();
  JobOptions& options = submit.options;
  if (!options.shuffle_mode) options.shuffle_mode = parts_.options.shuffle_mode;
  if (!options.shuffle_replicas) options.shuffle_replicas = parts_.options.shuffle_replicas;
  if (!options.slow_start) options.slow_start = parts_.options.core.slow_start;
  WEFT_ASSIGN(auto event, submission(id, submit.name, options, parts_.shell.now()));
  WEFT_TRY(parts_.shell.apply(std::move(event)));
  parts_.recorder.record(id);
  const bool known = submit.same_binary || parts_.binaries.knows(submit.binary);
  log_.info("job {}: {} of {}", id.value(), submit.name, options.user.empty() ? "somebody" : options.user);
  RunningJob& job = parts_.jobs[id];
  job.submit = std::move(submit);
  job.driver = connection;
  return client::encode(client::Submitted{id, known, static_cast<std::uint32_t>(parts_.shell.core().view().capacity().cpu)});
}

Result<rpc::Payload> ClientRequests::on_upload(const rpc::Message& message) {
  WEFT_ASSIGN(const client::Upload upload, client::decode<client::Upload>(message));
  WEFT_TRY(parts_.binaries.write(upload.binary, upload.offset, upload.total, message.bulk.view()));
  return rpc::Payload{};
}

Result<RunningJob*> ClientRequests::running_job(JobId id) {
  if (auto job = parts_.jobs.find(id); job != parts_.jobs.end()) return &job->second;
  WEFT_ASSIGN(const JobStatus status, parts_.shell.core().job(id));
  return fail(Code::cancelled, status.error.empty() ? fmt::format("job {} is over", id.value()) : status.error);
}

Result<rpc::Payload> ClientRequests::on_run_part(const rpc::Message& message) {
  WEFT_ASSIGN(const client::JobRequest request, client::decode<client::JobRequest>(message));
  WEFT_ASSIGN(const RunningJob* job, running_job(request.job));
  if (!job->submit.same_binary && !parts_.binaries.knows(job->submit.binary))
    return fail(Code::invalid_argument, "the job's program was not uploaded");
  WEFT_ASSIGN(plan::PlanPart part, plan::decode_part(message.bulk.view()));
  place_splits(part);
  WEFT_TRY(parts_.shell.apply(PlanExtended{request.job, std::move(part)}));
  return rpc::Payload{};
}

/// Notes the hosts of files that lie in directories that workers hold.
void ClientRequests::place_splits(plan::PlanPart& part) const {
  std::map<std::string, std::set<std::string>> holders;  // hosts by directory
  for (const auto& [id, node] : parts_.workers.nodes())
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

Result<rpc::Payload> ClientRequests::on_record_value(const rpc::Message& message) {
  WEFT_ASSIGN(const client::ValueRecord record, client::decode<client::ValueRecord>(message));
  WEFT_ASSIGN(RunningJob * job, running_job(record.job));
  job->value_bytes += message.bulk.size();
  if (job->value_bytes > kMostValueBytes)
    return fail(Code::resource_exhausted, "the values of a job's actions and broadcasts together exceed 256 MiB; join instead");
  SharedBytes value(Buffer::copy_of(message.bulk.view()));
  job->values[record.action] = value;
  parts_.workers.send_value(record.job, record.action, value);
  return rpc::Payload{};
}

Result<JobStatus> ClientRequests::status_of(JobId id, bool predict) const {
  WEFT_ASSIGN(JobStatus status, parts_.shell.core().job(id, predict));
  status.prefetch += parts_.prefetched.of(id);  // a restored job has some of before
  return status;
}

Result<rpc::Payload> ClientRequests::on_list_nodes() {
  client::NodeList list;
  std::vector<client::NodeStatus>& nodes = list.nodes;
  for (const auto& [id, node] : parts_.workers.nodes()) {
    client::NodeStatus& status = nodes.emplace_back();
    status.id = id;
    status.name = node.info.name;
    status.host = node.info.host;
    status.address = node.info.data_address;
    status.slots = node.info.slots;
    status.heard = parts_.shell.now() - node.heard;
    status.clock_ahead = node.clock.ahead();
    status.store_memory_bytes = node.heartbeat.store_memory_bytes;
    status.store_disk_bytes = node.heartbeat.store_disk_bytes;
    status.prefetch_memory_bytes = node.heartbeat.prefetch_memory_bytes;
    status.prefetch_file_bytes = node.heartbeat.prefetch_file_bytes;
    status.prefetch = node.heartbeat.prefetch;
    if (const schedulers::NodeInfo* info = parts_.shell.core().view().node(id)) {
      status.running = static_cast<std::uint32_t>(info->running.size());
      status.excluded = info->excluded_until.has_value();
      if (status.excluded) status.cause = parts_.shell.core().why_excluded(id);
      if (status.excluded) status.excluded_for = std::max(*info->excluded_until - parts_.shell.now(), Duration(0));
      status.standing.leaving = info->leaving;
      status.capacity = info->capacity;
      status.standing.nominal = info->nominal;
      status.standing.capacity_why = info->capacity_why;
      status.standing.speed = info->speed;
      status.used = info->used;
      status.measured = {info->measured, info->machine_measured, info->cross_rack};
      status.attributes = info->attributes;
      const schedulers::RackInfo& rack = *parts_.shell.core().view().rack(info->rack);
      status.rack = rack.name;
      status.standing.uplink = rack.uplink;
      status.standing.most_cross_rack = rack.most_cross_rack;
    } else {
      status.lost = true;
      status.rack = node.info.rack;
      status.attributes = node.info.attributes;
    }
  }
  for (const LostWorker& lost : parts_.workers.recently_lost()) {
    if (parts_.workers.nodes().contains(lost.node)) {  // silent, and listed as lost
      const auto silent = std::find_if(nodes.begin(), nodes.end(), [&](const auto& node) { return node.id == lost.node; });
      silent->cause = lost.reason;
      continue;
    }
    client::NodeStatus& status = nodes.emplace_back();
    status.id = lost.node;
    status.name = lost.name;
    status.host = lost.host;
    status.rack = lost.rack;
    status.address = lost.address;
    status.dead = true;
    status.cause = lost.reason;
    status.heard = parts_.shell.now() - lost.at;
  }
  return client::encode(std::move(list));
}

/// What a poll can be answered now: the action's results, or how the job stands. Nothing when it is worth waiting for more.
std::optional<Result<rpc::Payload>> ClientRequests::poll_answer(const client::Poll& poll, bool final) {
  auto status = parts_.shell.core().job(poll.job);
  if (!status) return Result<rpc::Payload>(fail(std::move(status).error()));
  client::PollReply reply;
  if (auto job = parts_.jobs.find(poll.job); job != parts_.jobs.end())
    if (auto finished = job->second.finished.extract(poll.action); !finished.empty()) {
      reply.finished = true;
      reply.results = std::move(finished.mapped());
    }
  if (!reply.finished && !final && status->state == JobState::running) return std::nullopt;
  reply.status = std::move(*status);
  expectations_.add(parts_.shell.core(), parts_.shell.now(), reply.status, log_);
  return Result<rpc::Payload>(client::encode(std::move(reply)));
}

void ClientRequests::on_poll(const rpc::Message& message, rpc::Responder responder) {
  auto poll = client::decode<client::Poll>(message);
  if (!poll) return responder.fail(poll.error());
  const Duration wait = std::clamp(poll->wait, Duration(0), kLongestPoll);
  auto job = parts_.jobs.find(poll->job);
  auto answered = poll_answer(*poll, wait == Duration(0) || job == parts_.jobs.end());
  auto to = std::make_shared<rpc::Responder>(std::move(responder));
  if (answered) return parts_.recorder.answer(std::move(to), std::move(*answered));
  WaitingPoll waiting;
  waiting.id = next_poll_++;
  waiting.poll = *poll;
  waiting.responder = std::move(to);
  waiting.timer = parts_.reactor.after(wait, [this, id = waiting.id, job_id = poll->job] { end_poll(job_id, id); });
  job->second.waiting.push_back(std::move(waiting));
}

void ClientRequests::end_poll(JobId job, std::uint64_t poll) {
  const auto found = parts_.jobs.find(job);
  if (found == parts_.jobs.end()) return;
  auto& list = found->second.waiting;
  const auto at = std::find_if(list.begin(), list.end(), [poll](const WaitingPoll& item) { return item.id == poll; });
  if (at == list.end()) return;
  const WaitingPoll over = std::move(*at);
  list.erase(at);
  parts_.recorder.answer(over.responder, *poll_answer(over.poll, true));
}

void ClientRequests::answer_polls(JobId id, bool final) {
  auto job = parts_.jobs.find(id);
  if (job == parts_.jobs.end()) return;
  std::vector<WaitingPoll> still;
  for (WaitingPoll& waiting : std::exchange(job->second.waiting, {})) {
    if (auto answered = poll_answer(waiting.poll, final))
      parts_.recorder.answer(waiting.responder, std::move(*answered));
    else
      still.push_back(std::move(waiting));
  }
  job->second.waiting = std::move(still);
}

void ClientRequests::on_job_logs(const rpc::Message& message, rpc::Responder responder) {
  auto wanted = client::decode<client::LogsWanted>(message);
  if (!wanted) return responder.fail(wanted.error());
  if (auto status = parts_.shell.core().job(wanted->job); !status) return responder.fail(status.error());
  struct Gathering {
    std::vector<client::JobLog> logs;
    std::size_t missing = 0;
    rpc::Responder responder;
  };
  auto gathering = std::make_shared<Gathering>(Gathering{{}, parts_.workers.nodes().size(), std::move(responder)});
  if (parts_.workers.nodes().empty()) return gathering->responder.reply(client::encode(client::JobLogs{}));
  for (const auto& [id, node] : parts_.workers.nodes())
    node.connection->request(protocol::kReadLog, protocol::encode(protocol::LogRequest{wanted->job, wanted->max_bytes}),
                             kLogDeadline, [gathering, name = node.info.name](Result<rpc::Message> answer) {
                               client::JobLog log{name, {}, answer ? "" : answer.error().to_string()};
                               if (answer) log.text = std::move(answer->bulk);
                               if (!log.error.empty() || !log.text.empty()) gathering->logs.push_back(std::move(log));
                               if (--gathering->missing == 0)
                                 gathering->responder.reply(client::encode(client::JobLogs{std::move(gathering->logs)}));
                             });
}

void ClientRequests::on_close(const rpc::ConnectionPtr& connection) {
  std::vector<JobId> orphans;
  for (const auto& [id, job] : parts_.jobs)
    if (job.driver == connection) orphans.push_back(id);
  for (JobId id : orphans) (void)parts_.shell.apply(JobKilled{id, "its driver was lost"});
}

void ClientRequests::carry_out(ActionFinished& action) {
  const auto job = parts_.jobs.find(action.job);
  if (job == parts_.jobs.end()) return;
  job->second.finished[action.action] = std::move(action.results);
  answer_polls(action.job, false);
}

void ClientRequests::carry_out(JobFailed& failure) {
  log_.info("job {}: {}", failure.job.value(), failure.error.to_string());
  end_job(failure.job);
}

void ClientRequests::end_job(JobId id) {
  answer_polls(id, true);
  parts_.jobs.erase(id);
}

void ClientRequests::give_up(const Error& why) {
  for (auto& [id, job] : parts_.jobs)
    for (WaitingPoll& waiting : std::exchange(job.waiting, {})) waiting.responder->fail(why);
}

}  // namespace weft::master
