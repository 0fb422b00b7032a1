#include "engine/master/server/client_requests.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "base/unguessable.hpp"
#include "engine/master/server/job_bounds.hpp"
#include "engine/master/server/node_reports.hpp"
#include "schedulers/view/points_of_time.hpp"

namespace weft::master {
namespace {

constexpr Duration kLogDeadline = std::chrono::seconds(10);
constexpr std::uint64_t kMostLogBytes = 128u << 20;  // of all workers, for one request
constexpr std::size_t kMostCapacityText = 256;
constexpr std::uint64_t kMostValueBytes = 256u << 20;  // of one job
// For a driver to attach again: after a restart of the master, and after its connection broke.
constexpr Duration kDriverReturns = std::chrono::seconds(30), kDriverReconnects = std::chrono::seconds(2);

/// Answers requests that hold an M.
template <class M, class F>
RequestTable::Answer with(F answer) {
  return [answer = std::move(answer)](const rpc::ConnectionPtr& connection, const rpc::Message& message) -> Result<rpc::Payload> {
    WEFT_ASSIGN(M request, client::decode<M>(message));
    return answer(connection, std::move(request), message.bulk.view());
  };
}

}  // namespace

void ClientRequests::add_to(RequestTable& table) {
  using rpc::ConnectionPtr;
  using Kind = RequestTable::Kind;
  const auto about_job = [](auto answer) {
    return with<client::JobRequest>(
        [answer](const ConnectionPtr&, client::JobRequest request, ByteView) { return answer(request.job); });
  };
  const auto apply = [this](Event event) { return parts_.shell.apply(std::move(event)).map([] { return rpc::Payload{}; }); };

  table.answer(client::kSubmitJob, Kind::promise,
               with<client::Submit>([this](const ConnectionPtr& connection, client::Submit submit, ByteView) {
                 return on_submit(connection, std::move(submit));
               }));
  table.answer(client::kUploadBinary, Kind::change,
               with<client::Upload>([this](const ConnectionPtr& from, const client::Upload& upload, ByteView bytes) {
                 return parts_.binaries
                     .write({user_of_upload(*from, upload.binary), from.get()}, upload.binary, upload.offset, upload.total, bytes)
                     .map([] { return rpc::Payload{}; });
               }));
  table.answer(client::kDetachJob, Kind::promise,
               with<client::Detach>([this](const ConnectionPtr& connection, client::Detach detach, ByteView) {
                 return on_detach(connection, std::move(detach));
               }));
  table.handle(client::kStartDriver,
               [this](const ConnectionPtr& connection, const rpc::Message& message, rpc::Responder responder) {
                 on_start_driver(connection, message, std::move(responder));
               });
  table.answer(client::kRunPart, Kind::change,
               with<client::JobRequest>([this](const ConnectionPtr&, client::JobRequest request, ByteView part) {
                 return on_run_part(request.job, part);
               }));
  table.answer(client::kRecordValue, Kind::change,
               with<client::ValueRecord>([this](const ConnectionPtr&, const client::ValueRecord& record, ByteView value) {
                 return on_record_value(record, value);
               }));
  table.answer(client::kCloseJob, Kind::change, about_job([this](JobId id) { return on_close_job(id); }));
  // The driver relies on nothing that this would have to write: what is lost with the master, it does again with the next one.
  table.answer(client::kAttachJob, Kind::question,
               with<client::Attach>([this](const ConnectionPtr& connection, const client::Attach& attach, ByteView) {
                 return on_attach(connection, attach);
               }));
  table.answer(client::kRecorded, Kind::question,
               with<client::ValueRecord>(
                   [this](const ConnectionPtr&, const client::ValueRecord& wanted, ByteView) { return on_recorded(wanted); }));
  table.answer(client::kKillJob, Kind::change,
               with<client::KillRequest>([apply](const ConnectionPtr&, client::KillRequest request, ByteView) {
                 return apply(JobKilled{request.job, bounded(std::move(request.reason))});
               }));
  table.answer(client::kListJobs, Kind::question,
               [this](const auto& connection, const auto&) { return on_list_jobs(*connection); });
  table.answer(client::kJobStatus, Kind::question, about_job([this](JobId id) { return on_job_status(id); }));
  table.answer(client::kExplainJob, Kind::question, about_job([this](JobId id) { return on_explain(id); }));
  table.answer(client::kListNodes, Kind::question, [this](const auto&, const auto&) {
    client::NodeList list = node_list(parts_.workers);
    list.insecure = parts_.options.security.insecure;
    return client::encode(std::move(list));
  });
  table.answer(client::kSetNode, Kind::promise,
               with<client::NodeCapacity>(
                   [this](const ConnectionPtr&, const client::NodeCapacity& wanted, ByteView) { return on_set_node(wanted); }));
  table.handle(client::kPoll, [this](const ConnectionPtr&, const rpc::Message& message, rpc::Responder responder) {
    polls_.on_poll(message, std::move(responder));
  });
  table.handle(client::kJobLogs, [this](const ConnectionPtr&, const rpc::Message& message, rpc::Responder responder) {
    on_job_logs(message, std::move(responder));
  });
}

/// Everybody sees which jobs there are; what they count, why they failed and how they were started is for those who may see more.
rpc::Payload ClientRequests::on_list_jobs(const rpc::Connection& connection) {
  const Caller caller = parts_.callers.of(connection);
  client::JobList list{parts_.shell.core().jobs(), parts_.shell.now()};
  for (JobStatus& status : list.jobs) {
    expectations_.add(parts_.shell.core(), list.now, status, log_);
    if (parts_.callers.may_see(caller, status.user)) continue;
    status.counters = {};
    status.error.clear();
    status.options.clear();
  }
  shorten(list.jobs);
  return client::encode(std::move(list));
}

Result<rpc::Payload> ClientRequests::on_job_status(JobId id) {
  WEFT_ASSIGN(JobStatus status, status_of(id, true));
  expectations_.add(parts_.shell.core(), parts_.shell.now(), status, log_);
  client::JobList list;
  list.jobs.push_back(std::move(status));
  list.now = parts_.shell.now();
  return client::encode(std::move(list));
}

Result<rpc::Payload> ClientRequests::on_explain(JobId id) {
  WEFT_ASSIGN(JobExplanation explanation, parts_.shell.core().explain(id));
  explanation.now = parts_.shell.now();
  const auto clock = std::chrono::system_clock::now();
  for (WaitingTasks& waiting : explanation.waiting)
    waiting.reason = schedulers::with_times_of_day(waiting.reason, explanation.now, clock);
  if (auto status = status_of(id, false); status && status->state == JobState::running && status->deadline) {
    expectations_.add(parts_.shell.core(), parts_.shell.now(), *status, log_);
    explanation.summary += "; " + outlook_text(*status);
  }
  if (const std::string why = parts_.drivers.why_not_started(id); !why.empty()) explanation.summary += "; " + why;
  return client::encode(std::move(explanation));
}

Result<JobId> ClientRequests::begin_job(const rpc::ConnectionPtr& connection, client::Submit submit) {
  WEFT_TRY(parts_.callers.may_submit(*connection, submit.options.user, submit.options.pool));
  WEFT_TRY(check_submission(submit));
  const JobId id = parts_.recorder.new_job();
  JobOptions& options = submit.options;
  if (!options.shuffle_mode && parts_.options.shuffle_mode != shuffle::Mode::memory)
    options.shuffle_mode = parts_.options.shuffle_mode;
  if (!options.shuffle_replicas && parts_.options.shuffle_replicas > 1) options.shuffle_replicas = parts_.options.shuffle_replicas;
  if (!options.slow_start) options.slow_start = parts_.options.core.slow_start;
  WEFT_ASSIGN(auto event, submission(id, submit.name, options, parts_.shell.now()));
  WEFT_TRY(parts_.shell.apply(std::move(event)));
  RunningJob& job = parts_.jobs[id];
  job.slots = static_cast<std::uint32_t>(parts_.shell.core().view().capacity().cpu);
  if (parts_.recorder.keeps_jobs() || options.on_disconnect == OnDisconnect::go_on) job.key = Drivers::new_key();
  job.block_key = unguessable_number();
  if (!submit.same_binary) parts_.binaries.mention(program_of(submit));
  if (parts_.recorder.keeps_jobs()) {
    const schedulers::JobInfo& info = *parts_.shell.core().view().job(id);
    parts_.recorder.record(id, SubmissionFact{.submit = std::string(as_chars(client::encode(submit).header.view())),
                                              .at = info.submitted,
                                              .slow_start = info.slow_start,
                                              .slots = job.slots,
                                              .key = job.key,
                                              .block_key = job.block_key});
  }
  parts_.recorder.record(id);
  log_.info("job {}: {} of {}", id.value(), submit.name, options.user.empty() ? "somebody" : options.user);
  job.submit = std::move(submit);
  job.driver = connection;
  return id;
}

std::optional<JobStatus> ClientRequests::known_job(const JobOptions& options) const {
  if (options.request_id.empty()) return std::nullopt;
  for (JobStatus& status : parts_.shell.core().jobs()) {
    const auto id = status.options.find("request-id");
    if (id != status.options.end() && id->second == options.request_id && status.user == options.user) return std::move(status);
  }
  return std::nullopt;
}

/// The job that whoever submits has submitted before: the answer was lost.
RunningJobs::iterator ClientRequests::job_of_submitter(const JobOptions& options) {
  if (options.submitter == 0) return parts_.jobs.end();
  return std::find_if(parts_.jobs.begin(), parts_.jobs.end(), [&options](const auto& running) {
    const JobOptions& first = running.second.submit.options;
    return first.submitter == options.submitter && first.user == options.user && first.request_id == options.request_id;
  });
}

client::Submitted ClientRequests::submitted(JobId id) {
  client::Submitted answer;
  answer.job = id;
  answer.binary_known = true;
  answer.kept = parts_.recorder.keeps_jobs();
  if (const auto job = parts_.jobs.find(id); job != parts_.jobs.end()) {
    answer.binary_known = job->second.submit.same_binary || parts_.binaries.knows(program_of(job->second.submit));
    answer.slots = job->second.slots;
    answer.key = job->second.key;
  }
  return answer;
}

/// The user of a job that the connection drives and that lacks the program: as whom that was submitted. Of a connection that drives
/// no job with it, the caller. By a user's certificate it is always that user (Callers::owner()).
std::string ClientRequests::user_of_upload(const rpc::Connection& connection, const Hash128& binary) const {
  std::string named;
  for (const auto& [id, job] : parts_.jobs) {
    if (job.driver.get() != &connection || job.submit.same_binary || job.submit.binary != binary) continue;
    named = job.submit.options.user;
    if (!parts_.binaries.knows(program_of(job.submit))) break;
  }
  return parts_.callers.owner(connection, named);
}

void ClientRequests::becomes_driver(const rpc::ConnectionPtr& connection, JobId id, RunningJob& job) {
  const rpc::ConnectionPtr before = std::exchange(job.driver, connection);
  if (before && before != connection) before->close();
  job.alone.reset();
  parts_.drivers.attached(id);
}

/// A driver whose submission is known and that is away is the job's driver from now on. So is the one that has submitted it, and
/// has not got the answer (a master may have hung with it, and another leads now), unless the cluster has started another.
Result<rpc::Payload> ClientRequests::on_submit(const rpc::ConnectionPtr& connection, client::Submit submit) {
  submit.options.user = parts_.callers.owner(*connection, submit.options.user);
  if (const auto own = job_of_submitter(submit.options); own != parts_.jobs.end()) {
    const bool has_another = own->second.driver || parts_.drivers.knows(own->first);
    if (has_another && !client::is_of_first_driver(own->second.key))
      return fail(Code::already_exists, fmt::format("job {} goes on with a driver in the cluster; weft job attach {} shows it",
                                                    own->first.value(), own->first.value()));
    becomes_driver(connection, own->first, own->second);
    return client::encode(submitted(own->first));
  }
  if (const auto known = known_job(submit.options)) {
    const auto job = parts_.jobs.find(known->id);
    const std::string id = escaped(submit.options.request_id);
    if (job == parts_.jobs.end())
      return fail(Code::already_exists,
                  fmt::format("job {} has the request id {} and is over ({}); give a new run another --request-id",
                              known->id.value(), id, name_of(known->state)));
    if (job->second.driver || parts_.drivers.knows(known->id))
      return fail(Code::already_exists, fmt::format("job {} has the request id {} and has a driver; weft job attach {} shows it",
                                                    known->id.value(), id, known->id.value()));
    becomes_driver(connection, known->id, job->second);
    return client::encode(submitted(known->id));
  }
  WEFT_ASSIGN(const JobId id, begin_job(connection, std::move(submit)));
  return client::encode(submitted(id));
}

/// Of a job that is known, by who submits it or by its request id, and whose driver was started, or that is over, the answer has no
/// key: there is nothing left to do.
Result<rpc::Payload> ClientRequests::on_detach(const rpc::ConnectionPtr& connection, client::Detach detach) {
  detach.submit.options.user = parts_.callers.owner(*connection, detach.submit.options.user);
  if (detach.submit.same_binary) return fail(Code::invalid_argument, "a detached job brings its own program");
  const auto too_long = [](const std::string& path) { return path.empty() || path.size() > protocol::kMostPathBytes; };
  if (detach.files.size() > protocol::kMostDriverFiles || std::any_of(detach.files.begin(), detach.files.end(), too_long))
    return fail(Code::invalid_argument, fmt::format("a detached job may name {} files, with paths of {} bytes",
                                                    protocol::kMostDriverFiles, protocol::kMostPathBytes));
  std::optional<JobId> known;
  if (const auto own = job_of_submitter(detach.submit.options); own != parts_.jobs.end())
    known = own->first;
  else if (const auto named = known_job(detach.submit.options))
    known = named->id;
  if (known) {
    client::Submitted answer = submitted(*known);
    const auto job = parts_.jobs.find(*known);
    const bool over = job == parts_.jobs.end(), in_cluster = parts_.drivers.knows(*known);
    if (over || (in_cluster ? parts_.drivers.wanted(*known) : job->second.driver != nullptr)) {
      answer.key = 0;
      return client::encode(answer);
    }
    // This completes the submission that another one began.
    job->second.driver = connection;
    job->second.alone.reset();
    in_cluster ? parts_.drivers.goes_on(*known) : parts_.drivers.add(*known, std::move(detach.files));
    return client::encode(submitted(*known));
  }
  WEFT_ASSIGN(const JobId id, begin_job(connection, std::move(detach.submit)));
  parts_.drivers.add(id, std::move(detach.files));
  return client::encode(submitted(id));
}

/// Again, when the answer was lost: that is no error, though the driver that was started has another key.
void ClientRequests::on_start_driver(const rpc::ConnectionPtr& connection, const rpc::Message& message, rpc::Responder responder) {
  const auto start = client::decode<client::Attach>(message);
  if (!start) return responder.fail(start.error());
  const auto job = running_job(start->job);
  if (!job) return responder.fail(job.error());
  if (!parts_.drivers.knows(start->job) || client::key_of_job((*job)->key) != client::key_of_job(start->key))
    return responder.fail(
        Error(Code::invalid_argument, fmt::format("job {} is not to be started with this key", start->job.value())));
  if (!parts_.drivers.wanted(start->job) && !parts_.binaries.knows(program_of((*job)->submit)))
    return responder.fail(Error(Code::invalid_argument, "the job's program was not uploaded"));
  if ((*job)->driver == connection) (*job)->driver = nullptr;
  parts_.drivers.start(start->job,
                       [this, to = std::make_shared<rpc::Responder>(std::move(responder))](const Result<void>& started) {
                         parts_.recorder.answer(to, started.map([] { return rpc::Payload{}; }));
                       });
}

/// On a full disk nobody hears that a job is over, since the end may not be there: the driver tries again until there is room.
Result<rpc::Payload> ClientRequests::on_attach(const rpc::ConnectionPtr& connection, const client::Attach& attach) {
  if (const auto full = parts_.recorder.full(); full && !parts_.jobs.contains(attach.job))
    return fail(Code::unavailable, full->to_string());
  WEFT_ASSIGN(RunningJob * job, running_job(attach.job));
  if (attach.key == 0 || attach.key != job->key)
    return fail(
        Code::cancelled,
        fmt::format("job {0} has another driver now, since this one was away; weft job attach {0} shows it", attach.job.value()));
  becomes_driver(connection, attach.job, *job);
  return client::encode(submitted(attach.job));
}

Result<rpc::Payload> ClientRequests::on_recorded(const client::ValueRecord& wanted) {
  WEFT_ASSIGN(const RunningJob* job, running_job(wanted.job));
  client::Recorded recorded;
  if (const auto value = job->values.find(wanted.action); value != job->values.end()) {
    recorded.has_value = true;
    recorded.value = Buffer::copy_of(value->second.bytes);
  }
  if (const auto part = job->parts.find(wanted.action); part != job->parts.end()) {
    recorded.has_part = true;
    recorded.part = Buffer::copy_of(part->second.view());
  }
  return client::encode(std::move(recorded));
}

/// Again, when the answer was lost: that is no error.
Result<rpc::Payload> ClientRequests::on_close_job(JobId id) {
  if (const auto status = parts_.shell.core().job(id); status && status->state == JobState::finished) return rpc::Payload{};
  return parts_.shell.apply(JobClosed{id}).map([] { return rpc::Payload{}; });
}

void ClientRequests::restore(JobId id, RunningJob job, std::optional<DriverState> driver) {
  const RunningJob& restored = parts_.jobs[id] = std::move(job);
  if (driver && parts_.drivers.restore(std::move(*driver))) return;
  if (may_be_taken_over(restored))
    parts_.drivers.take_over(id);
  else
    await_driver(id, kDriverReturns);
}

/// Another driver can be started in the cluster when the job's own is gone: the job is to go on, and its program is there.
bool ClientRequests::may_be_taken_over(const RunningJob& job) const {
  const client::Submit& submit = job.submit;
  return submit.options.on_disconnect == OnDisconnect::go_on && !submit.same_binary && has_program(job);
}

/// Its program is there, or was when the job began. A job that has begun does not end because the master's file was removed.
bool ClientRequests::has_program(const RunningJob& job) const {
  return job.submit.same_binary || job.had_program || parts_.binaries.knows(program_of(job.submit));
}

/// Its submission has a name, and was cut off before its program was there: it may be repeated.
bool ClientRequests::may_be_completed(const RunningJob& job) const {
  return !job.submit.options.request_id.empty() && !has_program(job);
}

void ClientRequests::await_driver(JobId id, Duration longest) {
  parts_.jobs.at(id).alone = parts_.reactor.after(longest, [this, id] {
    (void)parts_.shell.apply(JobKilled{id, "its driver was lost"});
  });
}

Result<RunningJob*> ClientRequests::running_job(JobId id) {
  if (auto job = parts_.jobs.find(id); job != parts_.jobs.end()) return &job->second;
  WEFT_ASSIGN(const JobStatus status, parts_.shell.core().job(id));
  return fail(Code::cancelled, status.error.empty() ? fmt::format("job {} is over", id.value()) : status.error);
}

Result<rpc::Payload> ClientRequests::on_run_part(JobId id, ByteView encoded) {
  WEFT_ASSIGN(RunningJob * job, running_job(id));
  job->had_program = has_program(*job);
  if (!job->had_program) return fail(Code::invalid_argument, "the job's program was not uploaded");
  WEFT_TRY(check_part(encoded.size(), *job));
  WEFT_ASSIGN(plan::PlanPart part, plan::decode_part(encoded));
  const ActionId action = part.action;
  if (const auto before = job->parts.find(action); before != job->parts.end()) {
    WEFT_ASSIGN(const plan::PlanPart same, plan::decode_part(before->second.view()));
    WEFT_TRY(plan::compare(same, part));
    return rpc::Payload{};  // its answer was lost
  }
  place_splits(part);
  if (job->key == 0) return parts_.shell.apply(PlanExtended{id, std::move(part)}).map([] { return rpc::Payload{}; });
  Buffer kept = plan::encode(part);
  WEFT_TRY(check_part(kept.size(), *job));
  WEFT_TRY(parts_.shell.apply(PlanExtended{id, std::move(part)}));
  if (const auto running = parts_.jobs.find(id); running != parts_.jobs.end()) {
    if (parts_.recorder.keeps_jobs()) parts_.recorder.record(id, PartFact{std::string(as_chars(kept.view()))});
    running->second.parts[action] = std::move(kept);
  }
  return rpc::Payload{};
}

/// Notes the hosts of files that lie in directories that workers hold.
void ClientRequests::place_splits(plan::PlanPart& part) const {
  std::map<std::string, std::set<std::string>> holders;  // hosts by directory
  for (const auto& [id, worker] : parts_.workers.context.table.all())
    for (const std::string& directory : worker.info.local_data) holders[directory].insert(worker.info.host);
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

Result<rpc::Payload> ClientRequests::on_record_value(const client::ValueRecord& record, ByteView bytes) {
  WEFT_ASSIGN(RunningJob * job, running_job(record.job));
  const auto before = job->values.find(record.action);
  const std::size_t replaced = before == job->values.end() ? 0 : before->second.bytes.size();
  if (before != job->values.end() && std::ranges::equal(ByteView(before->second.bytes), bytes))
    return rpc::Payload{};  // its answer was lost
  if (job->value_bytes - replaced + bytes.size() > kMostValueBytes)
    return fail(Code::resource_exhausted, "the values of a job's actions and broadcasts together exceed 256 MiB; join instead");
  job->value_bytes += bytes.size() - replaced;
  SharedBytes value(Buffer::copy_of(bytes));
  if (parts_.recorder.keeps_jobs()) parts_.recorder.record(record.job, ValueFact{record.action, std::string(as_chars(bytes))});
  job->finished.erase(record.action);
  job->values[record.action] = value;
  parts_.workers.commands.send_value(record.job, record.action, value);
  return rpc::Payload{};
}

Result<JobStatus> ClientRequests::status_of(JobId id, bool predict) const {
  WEFT_ASSIGN(JobStatus status, parts_.shell.core().job(id, predict));
  status.prefetch += parts_.prefetched.of(id);  // a restored job has some of before
  return status;
}

Result<rpc::Payload> ClientRequests::on_set_node(const client::NodeCapacity& wanted) {
  if (std::max(wanted.capacity.size(), wanted.reason.size()) > kMostCapacityText)
    return fail(Code::invalid_argument, fmt::format("capacity and reason have at most {} bytes", kMostCapacityText));
  WEFT_TRY(parts_.workers.capacities.set(wanted.name, wanted.capacity, wanted.reason));
  return rpc::Payload{};
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
  const auto& workers = parts_.workers.context.table.all();
  if (workers.empty()) return responder.reply(client::encode(client::JobLogs{}));
  auto gathering = std::make_shared<Gathering>(Gathering{{}, 2 * workers.size(), std::move(responder)});
  const std::uint64_t most = std::min(wanted->max_bytes, kMostLogBytes / gathering->missing);
  for (const bool of_driver : {true, false})
    for (const auto& [id, worker] : workers)
      worker.connection->request(protocol::kReadLog, protocol::encode(protocol::LogRequest{wanted->job, most, of_driver}),
                                 kLogDeadline, [gathering, of_driver, name = worker.info.name](Result<rpc::Message> answer) {
                                   client::JobLog log{name, {}, answer || of_driver ? "" : answer.error().to_string(), of_driver};
                                   if (answer) log.text = std::move(answer->bulk);
                                   if (!log.error.empty() || !log.text.empty()) gathering->logs.push_back(std::move(log));
                                   if (--gathering->missing == 0)
                                     gathering->responder.reply(client::encode(client::JobLogs{std::move(gathering->logs)}));
                                 });
}

/// A driver that says goodbye, or whose master would forget it, is not waited for.
void ClientRequests::on_close(const rpc::ConnectionPtr& connection, const Error& why) {
  std::vector<JobId> orphans;
  for (auto& [id, job] : parts_.jobs) {
    if (job.driver != connection) continue;
    orphans.push_back(id);
    job.driver = nullptr;
    job.waiting.clear();  // which nobody hears
  }
  for (const JobId id : orphans) {
    if (parts_.drivers.knows(id)) {
      parts_.drivers.disconnected(id);
    } else if (may_be_taken_over(parts_.jobs.at(id))) {
      parts_.drivers.take_over(id);
    } else if (may_be_completed(parts_.jobs.at(id))) {
      await_driver(id, kDriverReturns);
    } else if (parts_.recorder.keeps_jobs() && why.code() != Code::cancelled) {
      await_driver(id, kDriverReconnects);
    } else {
      (void)parts_.shell.apply(JobKilled{id, "its driver was lost"});
    }
  }
}

void ClientRequests::carry_out(ActionFinished& action) {
  const auto job = parts_.jobs.find(action.job);
  if (job == parts_.jobs.end() || job->second.values.contains(action.action)) return;  // known, of a job that was restored
  job->second.finished[action.action] = std::move(action.results);
  polls_.answer(action.job, false);
}

void ClientRequests::carry_out(JobFailed& failure) {
  log_.info("job {}: {}", failure.job.value(), failure.error.to_string());
  end_job(failure.job, true);
}

void ClientRequests::end_job(JobId id, bool failed) {
  parts_.drivers.job_ended(id, failed);
  polls_.answer(id, true);
  parts_.jobs.erase(id);
}

}  // namespace weft::master
