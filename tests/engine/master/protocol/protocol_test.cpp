// Client messages: every member comes back, what other releases send is read as far as it is known, and damage is noticed.
#include "engine/master/protocol/protocol.hpp"

#include <map>
#include <random>

#include <gtest/gtest.h>

#include "base/crc32c.hpp"
#include "base/fields.hpp"

namespace weft::client {
namespace {

using std::chrono::nanoseconds;

rpc::Message received(const rpc::Payload& payload) {
  rpc::Message message;
  message.header = Buffer::copy_of(payload.header.view());
  std::string bulk;
  for (const SharedBytes& piece : payload.bulk) bulk += as_chars(piece.bytes);
  message.bulk = Buffer::copy_of(as_bytes(bulk));
  return message;
}

template <class M>
M sent(M message) {
  auto read = decode<M>(received(encode(std::move(message))));
  EXPECT_TRUE(read) << read.error().to_string();
  return read ? std::move(*read) : M{};
}

template <class M>
std::string bytes_of(M message) {
  const rpc::Payload payload = encode(std::move(message));
  std::string bytes(as_chars(payload.header.view()));
  for (const SharedBytes& piece : payload.bulk) bytes += as_chars(piece.bytes);
  return bytes;
}

/// Every number another one, so that two fields that change places are seen.
class Numbers {
 public:
  template <class... T>
  void fill(T&... members) {
    ((members = static_cast<T>(++last_)), ...);
  }

 private:
  int last_ = 0;
};

master::JobStatus status() {
  master::JobStatus job;
  Numbers numbers;
  job.id = JobId(900);
  job.name = "name", job.user = "user", job.pool = "pool", job.error = "error";
  job.state = master::JobState::failed;
  job.submitted = nanoseconds(901), job.ended = nanoseconds(902), job.deadline = nanoseconds(903);
  numbers.fill(job.priority, job.shuffle_replicas, job.shuffle_bytes, job.input_bytes, job.input_records, job.workers_lost);
  job.weight = 2.5;
  job.expected = {.end = std::chrono::seconds(9), .alone = std::chrono::seconds(8), .slots = 7, .needed = 6.5, .cluster = 5};
  job.counters = {{"a", -1}, {"b", 2}};
  job.lost_workers = {"w1", "w2 (SIGBUS)"};
  shuffle::PrefetchStats& prefetch = job.prefetch;
  numbers.fill(prefetch.prefetched_bytes, prefetch.read_bytes, prefetch.wasted_bytes, prefetch.evicted_bytes,
               prefetch.evicted_file_bytes, prefetch.returned_bytes);
  master::StageStatus& stage = job.stages.emplace_back();
  stage.id = StageId(904);
  stage.name = "stage", stage.reason = "reason", stage.waiting = true;
  numbers.fill(stage.tasks, stage.finished, stage.running, stage.failed_attempts, stage.input_bytes, stage.shuffle_bytes,
               stage.speculative, stage.speculative_won, stage.predicted_shuffle_bytes, stage.predicted_largest_partition,
               stage.rounds_evicted, stage.rounds_returned);
  stage.usage = {{nanoseconds(905), nanoseconds(906), nanoseconds(907), nanoseconds(908)}, nanoseconds(909), 910, 913};
  master::StageAttempts& attempts = stage.usage.attempts;
  numbers.fill(attempts.first, attempts.retried, attempts.finished, attempts.failed, attempts.killed, attempts.lost);
  stage.usage.began = nanoseconds(914), stage.usage.ended = nanoseconds(915);
  std::apply([&](auto&... figure) { (numbers.fill(figure.total, figure.min, figure.median, figure.p95, figure.max), ...); },
             fields_of(stage.usage.figures));
  stage.estimate = {nanoseconds(911), schedulers::EstimateSource::history, nanoseconds(912)};
  return job;
}

void expect_same(const master::JobStatus& a, const master::JobStatus& b) {
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(std::tie(a.name, a.user, a.pool, a.error, a.state), std::tie(b.name, b.user, b.pool, b.error, b.state));
  ASSERT_EQ(a.expected.has_value(), b.expected.has_value());
  if (a.expected) {
    EXPECT_EQ(std::tie(a.expected->end, a.expected->alone, a.expected->slots, a.expected->needed, a.expected->cluster),
              std::tie(b.expected->end, b.expected->alone, b.expected->slots, b.expected->needed, b.expected->cluster));
  }
  EXPECT_EQ(std::tie(a.submitted, a.ended, a.deadline, a.priority, a.weight),
            std::tie(b.submitted, b.ended, b.deadline, b.priority, b.weight));
  EXPECT_EQ(std::tie(a.shuffle_replicas, a.shuffle_bytes, a.input_bytes, a.input_records),
            std::tie(b.shuffle_replicas, b.shuffle_bytes, b.input_bytes, b.input_records));
  EXPECT_EQ(std::tie(a.counters, a.lost_workers, a.workers_lost), std::tie(b.counters, b.lost_workers, b.workers_lost));
  EXPECT_EQ(a.prefetch.prefetched_bytes, b.prefetch.prefetched_bytes);
  EXPECT_EQ(a.prefetch.wasted_bytes, b.prefetch.wasted_bytes);
  EXPECT_EQ(a.prefetch.returned_bytes, b.prefetch.returned_bytes);
  ASSERT_EQ(a.stages.size(), b.stages.size());
  for (std::size_t i = 0; i < a.stages.size(); ++i) {
    const master::StageStatus &one = a.stages[i], &two = b.stages[i];
    EXPECT_EQ(std::tie(one.id, one.name, one.reason, one.waiting), std::tie(two.id, two.name, two.reason, two.waiting));
    EXPECT_EQ(std::tie(one.tasks, one.finished, one.running, one.failed_attempts),
              std::tie(two.tasks, two.finished, two.running, two.failed_attempts));
    EXPECT_EQ(std::tie(one.input_bytes, one.shuffle_bytes, one.speculative, one.speculative_won),
              std::tie(two.input_bytes, two.shuffle_bytes, two.speculative, two.speculative_won));
    EXPECT_EQ(std::tie(one.predicted_shuffle_bytes, one.predicted_largest_partition, one.rounds_evicted, one.rounds_returned),
              std::tie(two.predicted_shuffle_bytes, two.predicted_largest_partition, two.rounds_evicted, two.rounds_returned));
    EXPECT_EQ(one.usage.phases, two.usage.phases);
    EXPECT_EQ(std::tie(one.usage.cpu, one.usage.peak_memory, one.usage.accelerated),
              std::tie(two.usage.cpu, two.usage.peak_memory, two.usage.accelerated));
    EXPECT_EQ(fields_of(one.usage.attempts), fields_of(two.usage.attempts));
    EXPECT_EQ(std::tie(one.usage.began, one.usage.ended), std::tie(two.usage.began, two.usage.ended));
    EXPECT_EQ(fields_of(one.usage.figures), fields_of(two.usage.figures));
    EXPECT_EQ(std::tie(one.estimate.predicted, one.estimate.source, one.estimate.mean),
              std::tie(two.estimate.predicted, two.estimate.source, two.estimate.mean));
  }
}

TEST(ClientProtocol, AJobsStatusAndItsResultsComeBack) {
  PollReply reply;
  reply.status = status();
  reply.finished = true;
  reply.results.resize(2);
  for (const char* text : {"one", "", "three"}) reply.results[1].push_back(Buffer::copy_of(as_bytes(text)));
  const PollReply back = sent(std::move(reply));
  expect_same(back.status, status());
  EXPECT_TRUE(back.finished);
  ASSERT_EQ(back.results.size(), 2u);
  EXPECT_TRUE(back.results[0].empty());
  ASSERT_EQ(back.results[1].size(), 3u);
  EXPECT_EQ(as_chars(back.results[1][0].view()), "one");
  EXPECT_TRUE(back.results[1][1].empty());
  EXPECT_EQ(as_chars(back.results[1][2].view()), "three");
}

Submit submission() {
  Submit submit;
  submit.name = "name", submit.program = "program", submit.directory = "/d", submit.options.user = "u", submit.options.pool = "p";
  submit.arguments = {"a", "", "c d"};
  submit.same_binary = true;
  submit.binary = {1, 2};
  submit.memory_bytes = 3, submit.options.priority = -4, submit.options.max_attempts = 5;
  submit.options.task_timeout = nanoseconds(6), submit.options.deadline = nanoseconds(7);
  submit.options.demand.cpu = 2, submit.options.demand.memory = 1 << 20;
  submit.options.shuffle_mode = shuffle::Mode::pull;
  submit.options.shuffle_replicas = 2;
  submit.options.weight = 2.5;
  submit.options.slow_start = 0.25;
  submit.options.hints = {{"shuffle_ratio", "0.4"}};
  submit.options.speculate = master::Switch::off;
  submit.options.request_id = "nightly", submit.options.on_disconnect = master::OnDisconnect::go_on;
  return submit;
}

TEST(ClientProtocol, ASubmissionComesBack) {
  const Submit submit = submission();
  const Submit back = sent(submit);
  EXPECT_EQ(bytes_of(back), bytes_of(submit));
  EXPECT_EQ(back.options.demand, submit.options.demand);
  EXPECT_EQ(back.options.shuffle_mode, submit.options.shuffle_mode);
  EXPECT_EQ(back.options.shuffle_replicas, 2u);
  EXPECT_EQ(back.options.hints, submit.options.hints);
  EXPECT_EQ(back.options.weight, 2.5);
  EXPECT_EQ(back.options, submit.options);
  EXPECT_EQ(back.arguments, submit.arguments);
  const Submit plain = sent(Submit{});
  EXPECT_FALSE(plain.options.shuffle_mode);
  EXPECT_FALSE(plain.options.weight);
  EXPECT_FALSE(plain.options.slow_start);
  EXPECT_FALSE(plain.options.shuffle_replicas);
}

NodeList node_list() {
  NodeList nodes;
  NodeStatus& node = nodes.nodes.emplace_back();
  node.id = NodeId(1);
  node.name = "n", node.host = "h", node.rack = "r", node.address = "a", node.cause = "SIGBUS";
  node.slots = 2, node.running = 3, node.store_memory_bytes = 4, node.store_disk_bytes = 5;
  node.prefetch_memory_bytes = 6, node.prefetch_file_bytes = 7;
  node.heard = nanoseconds(8), node.excluded_for = nanoseconds(9), node.clock_ahead = nanoseconds(-10);
  node.capacity.cpu = 11, node.used.cpu = 12;
  node.attributes = {{"gpu", "1"}};
  node.excluded = node.lost = node.dead = true;
  node.measured.worker.cpu = 0.5, node.measured.machine.memory = 2e9, node.measured.cross_rack = {13, 14};
  node.standing.nominal.cpu = 15, node.standing.capacity_why = "an operator", node.standing.speed = 0.5;
  return nodes;
}

TEST(ClientProtocol, WhatTheClusterIsComesBack) {
  const NodeList nodes = node_list();
  const NodeList back = sent(nodes);
  EXPECT_EQ(bytes_of(back), bytes_of(nodes));
  EXPECT_EQ(back.nodes.at(0).clock_ahead, nanoseconds(-10));
  EXPECT_EQ(back.nodes.at(0).used.cpu, 12);
  EXPECT_EQ(back.nodes.at(0).measured.worker.cpu, 0.5);
  EXPECT_EQ(back.nodes.at(0).measured.machine.memory, 2e9);
  EXPECT_EQ(back.nodes.at(0).measured.cross_rack, (schedulers::UplinkRate{13, 14}));
  EXPECT_EQ(back.nodes.at(0).attributes, nodes.nodes.at(0).attributes);
  EXPECT_EQ(back.nodes.at(0).standing.nominal.cpu, 15);
  EXPECT_EQ(back.nodes.at(0).standing.capacity_why, "an operator");
  EXPECT_EQ(back.nodes.at(0).standing.speed, 0.5);

  JobLogs logs;
  logs.logs.push_back({"n1", Buffer::copy_of(as_bytes("text")), ""});
  logs.logs.push_back({"n2", {}, "gone"});
  const JobLogs read = sent(std::move(logs));
  EXPECT_EQ(as_chars(read.logs.at(0).text.view()), "text");
  EXPECT_EQ(read.logs.at(1).error, "gone");
}

GroupList group_list() {
  GroupList groups;
  GroupInfo& group = groups.groups.emplace_back();
  group.status.name = "g", group.status.parent = "p";
  group.status.weight = 1, group.status.guaranteed = 2, group.status.fair_share = 3, group.status.limit = 0;
  group.status.used = 4, group.status.demand = 5, group.status.jobs = 6;
  group.pending = 7, group.running = 8, group.used.cpu = 9, group.unknown = true;
  return groups;
}

master::JobExplanation explanation_of_a_job() {
  master::JobExplanation explanation;
  explanation.now = nanoseconds(1);
  explanation.id = JobId(2);
  explanation.name = "n", explanation.summary = "s";
  explanation.running = 3, explanation.finished = 4, explanation.straggling = 5;
  explanation.waiting.push_back({StageId(6), "stage", 7, master::WaitingTasks::Why::placed, "reason", nanoseconds(0)});
  explanation.estimates.push_back({StageId(6), "stage", nanoseconds(8), schedulers::EstimateSource::observed, "basis"});
  return explanation;
}

TEST(ClientProtocol, WhatTheSchedulerSaysComesBack) {
  GroupList groups = group_list();
  groups.groups.emplace_back();
  const GroupList back = sent(groups);
  EXPECT_EQ(bytes_of(back), bytes_of(groups));
  EXPECT_EQ(back.groups.at(0).status.limit, 0.0) << "a limit of nothing is a limit";
  EXPECT_FALSE(back.groups.at(1).status.limit);

  master::JobExplanation explanation = explanation_of_a_job();
  explanation.waiting.emplace_back();
  const master::JobExplanation again = sent(explanation);
  EXPECT_EQ(bytes_of(again), bytes_of(explanation));
  EXPECT_EQ(again.waiting.at(0).since, nanoseconds(0));
  EXPECT_FALSE(again.waiting.at(1).since);
}

/// A message of a release that knew none of the fields: a root that is no struct at all.
TEST(ClientProtocol, WhatAnOlderReleaseDoesNotSayHasItsDefault) {
  rpc::Message message;
  message.header = Buffer::copy_of(as_bytes(std::string_view("\0\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0", 16)));
  const auto submit = decode<Submit>(message);
  ASSERT_TRUE(submit) << submit.error().to_string();
  EXPECT_TRUE(submit->name.empty());
  EXPECT_FALSE(submit->options.shuffle_mode);
  const auto list = decode<JobList>(message);
  ASSERT_TRUE(list);
  EXPECT_TRUE(list->jobs.empty());
}

TEST(ClientProtocol, RequestsAboutProfilesComeBack) {
  const ProfileRequest request = sent(ProfileRequest{ProfileRequest::What::import, "words", Buffer::copy_of(as_bytes("lines\n"))});
  EXPECT_EQ(request.what, ProfileRequest::What::import);
  EXPECT_EQ(request.program, "words");
  EXPECT_EQ(as_chars(request.records.view()), "lines\n");
  const ProfileReply reply = sent(ProfileReply{3, Buffer::copy_of(as_bytes("a"))});
  EXPECT_EQ(reply.stages, 3u);
  EXPECT_EQ(as_chars(reply.records.view()), "a");
}

TEST(ClientProtocol, ValuesWithoutANameAreRefused) {
  JobList list;
  list.jobs.push_back(status());
  list.jobs[0].state = static_cast<master::JobState>(9);
  const auto read = decode<JobList>(received(encode(std::move(list))));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code(), Code::corrupt);
  EXPECT_NE(read.error().to_string().find("list of jobs"), std::string::npos) << read.error().to_string();
}

/// Length and CRC32C of messages with every text and list filled. A field that is added to the end of a struct may change them;
/// a field that has moved does, and must not.
TEST(ClientProtocol, BytesAreThoseOfEarlierReleases) {
  PollReply reply;
  reply.status = status();
  reply.finished = true;
  reply.results.resize(1);
  for (const char* text : {"one", "", "three"}) reply.results[0].push_back(Buffer::copy_of(as_bytes(text)));
  JobList list;
  list.jobs = {status(), status()};
  list.now = nanoseconds(1);
  JobLogs logs;
  JobLog& log = logs.logs.emplace_back();
  log.node = "n1", log.error = "cut", log.text = Buffer::copy_of(as_bytes("text"));
  SchedulerInfo scheduler;
  scheduler.spec = "fair:a=b", scheduler.files = {"f", "g"}, scheduler.known = {{"fair", "shares"}, {"fifo", "a queue"}};
  scheduler.trouble = {1, 2, "fault", nanoseconds(3)};
  scheduler.now = nanoseconds(4);
  const std::map<std::string, std::pair<std::string, std::string>> messages{
      {"Submit", {bytes_of(submission()), "376 2178260834"}},
      {"Submitted", {bytes_of(Submitted{JobId(1), true, 2}), "40 1595921808"}},
      {"Upload", {bytes_of(Upload{{1, 2}, 3, 4}), "56 1789179637"}},
      {"JobRequest", {bytes_of(JobRequest{JobId(1)}), "24 2452728451"}},
      {"ValueRecord", {bytes_of(ValueRecord{JobId(1), ActionId(2)}), "32 1739638221"}},
      {"Poll", {bytes_of(Poll{JobId(1), ActionId(2), nanoseconds(3)}), "40 4114651754"}},
      {"PollReply", {bytes_of(std::move(reply)), "1120 4241963029"}},
      {"JobList", {bytes_of(std::move(list)), "2104 1197365642"}},
      {"KillRequest", {bytes_of(KillRequest{JobId(1), "reason"}), "40 3460412723"}},
      {"LogsWanted", {bytes_of(LogsWanted{JobId(1), 2}), "32 1739638221"}},
      {"JobLogs", {bytes_of(std::move(logs)), "84 371196972"}},
      {"NodeList", {bytes_of(node_list()), "480 407201323"}},
      {"Explanation", {bytes_of(explanation_of_a_job()), "240 1469966961"}},
      {"GroupList", {bytes_of(group_list()), "160 17220075"}},
      {"SchedulerInfo", {bytes_of(std::move(scheduler)), "208 2943416417"}},
  };
  for (const auto& [name, message] : messages)
    EXPECT_EQ(std::to_string(message.first.size()) + " " + std::to_string(crc32c(as_bytes(message.first))), message.second) << name;
}

/// A job without texts, as weft 0.1 encoded it: texts and lists without content were there, not left out.
TEST(ClientProtocol, EmptyTextsOfEarlierReleasesAreRead) {
  constexpr std::string_view kHex =
      "000000002100000000000000010001000000000000000000010000008f0000000400000009000800070000000000000000000000"
      "00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
      "01000000000000001d0000000a0000001d0000000a0000001d0000000a0000001d0000000a0000001d000000070000001d000000"
      "070000001c0000000600000031000000060000000000000000000000000000000000000000000000000000000000000000000000"
      "000000000d0002000000000001000100000000000000000000000000000000000000000000000000000000000000000000000000"
      "000000000000000000000000";
  std::string bytes;
  for (std::size_t i = 0; i < kHex.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(std::string(kHex.substr(i, 2)), nullptr, 16)));
  rpc::Message message;
  message.header = Buffer::copy_of(as_bytes(bytes));
  const auto list = decode<JobList>(message);
  ASSERT_TRUE(list) << list.error().to_string();
  ASSERT_EQ(list->jobs.size(), 1u);
  master::JobStatus expected;
  expected.id = JobId(7);
  expect_same(list->jobs[0], expected);
}

TEST(ClientProtocol, FewerBulkBytesThanAnnouncedAreRefused) {
  PollReply reply;
  reply.results.resize(1);
  reply.results[0].push_back(Buffer::copy_of(as_bytes("result")));
  rpc::Message message = received(encode(std::move(reply)));
  message.bulk.truncate(5);
  EXPECT_EQ(decode<PollReply>(message).error().code(), Code::corrupt);
}

TEST(ClientProtocol, DamageIsReadOrRefused) {
  JobList list;
  list.jobs.push_back(status());
  const std::string whole = bytes_of(std::move(list));
  std::mt19937 random(5);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = whole;
    for (int changes = 1 + static_cast<int>(random() % 4); changes > 0; --changes)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (round % 5 == 0) bytes.resize(random() % (bytes.size() + 1));
    rpc::Message message;
    message.header = Buffer::copy_of(as_bytes(bytes));
    if (const auto read = decode<JobList>(message); !read) {
      EXPECT_EQ(read.error().code(), Code::corrupt) << round;
    }
  }
}

}  // namespace
}  // namespace weft::client
