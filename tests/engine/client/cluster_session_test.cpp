// A driver's session with a master that is a few lines long: what it says, what it waits for, and which errors it gives.
#include "engine/client/cluster_session.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/hash.hpp"
#include "engine/master/protocol/protocol.hpp"
#include "runtime/worker/driver_process.hpp"
#include "storage/acting_user.hpp"

namespace weft::client {
namespace {

using master::JobState;

class ClusterSessionTest : public testing::Test {
 protected:
  ClusterSessionTest() {
    answers[kListNodes] = [](const rpc::Message&) {
      NodeList list;
      list.nodes.emplace_back().slots = 3;
      return encode(list);
    };
    answers[kSubmitJob] = [this](const rpc::Message& message) {
      submitted = decode<Submit>(message).value();
      return encode(Submitted{JobId(7), binary_known, 6, kKey, kept});
    };
    answers[kAttachJob] = [this](const rpc::Message& message) {
      attached.push_back(decode<Attach>(message).value());
      return encode(Submitted{attached.back().job, binary_known, 6, kKey, true});
    };
    answers[kJobStatus] = [this](const rpc::Message& message) {
      JobList list;
      list.jobs.emplace_back().id = decode<JobRequest>(message).value().job;
      list.jobs.back().state = state;
      list.jobs.back().error = state == JobState::failed ? "stage 0 (map) task 3 failed 4 times" : "";
      return encode(list);
    };
    answers[kUploadBinary] = [this](const rpc::Message& message) {
      const Upload piece = decode<Upload>(message).value();
      EXPECT_EQ(piece.offset, uploaded.size()) << "in the order of the offsets";
      EXPECT_EQ(to_string(piece.binary), to_string(submitted.binary));
      total = piece.total;
      uploaded += as_chars(message.bulk.view());
      return rpc::Payload{};
    };
    answers[kRunPart] = answers[kRecordValue] = answers[kCloseJob] = [](const rpc::Message&) { return rpc::Payload{}; };
    answers[kPoll] = [this](const rpc::Message& message) {
      PollReply reply;
      reply.status.id = decode<Poll>(message).value().job;
      reply.status.state = state;
      reply.status.error = state == JobState::running ? "" : "stage 0 (map) task 3 failed 4 times";
      reply.finished = ++polls >= finished_after;
      if (reply.finished) reply.results.emplace_back().push_back(Buffer::copy_of(as_bytes(std::string("result"))));
      return encode(std::move(reply));
    };
    reactor->run([this] {
      listener = reactor
                     ->listen(rpc::Endpoint::parse("127.0.0.1:0").value(), {},
                              [this](const rpc::ConnectionPtr&) {
                                rpc::Handler handler;
                                handler.on_request = [this](const rpc::ConnectionPtr& peer, const rpc::Message& message,
                                                            rpc::Responder responder) {
                                  if (message.type == storage::kActFor)
                                    return responder.reply(storage::encode(storage::ActedFor{}));
                                  asked.push_back(message.type);
                                  if (message.type == hangs_up_on) return peer->close();
                                  if (message.type == lost.request) {
                                    lost.request = 0;
                                    if (lost.when == When::answered) (void)answers.at(message.type)(message);
                                    peer->close();
                                    if (lost.then) lost.then();
                                    return;
                                  }
                                  if (message.type == kAttachJob && no_attaching) return responder.fail(*no_attaching);
                                  if (message.type == refuses) return responder.fail(Error(Code::not_found, "there is no job 7"));
                                  responder.reply(answers.at(message.type)(message));
                                };
                                return handler;
                              })
                     .value();
    });
    run.job_name = "words";
    run.quiet = true;
    run.arguments = {"--in", "x"};
    run.job.priority = 4;
    run.job.max_attempts = 2;
  }
  ~ClusterSessionTest() override {
    reactor->run([this] { listener.reset(); });
    reactor->stop();
  }
  Result<std::unique_ptr<Session>> open(ClusterSessionOptions options = {}) {
    options.master = listener->endpoint();
    return open_cluster_session(run, std::move(options));
  }
  std::size_t times(rpc::MessageType type) {
    std::size_t count = 0;
    reactor->run([&] { count = static_cast<std::size_t>(std::count(asked.begin(), asked.end(), type)); });
    return count;
  }

  void close_listener() { listener.reset(); }

  static constexpr std::uint64_t kKey = 0xabcdef0123456789;
  enum class When { asked, answered };
  struct Loss {
    rpc::MessageType request = 0;  // with which the connection ends, once
    When when = When::asked;       // answered: it is carried out, and only its answer is lost
    std::function<void()> then{};
  };

  RunOptions run;
  std::unique_ptr<rpc::Reactor> reactor = rpc::Reactor::start("master");
  std::unique_ptr<rpc::Listener> listener;
  // On the reactor's thread, or before and after it has anything to do.
  std::map<rpc::MessageType, std::function<rpc::Payload(const rpc::Message&)>> answers;
  std::vector<rpc::MessageType> asked;
  rpc::MessageType hangs_up_on = 0, refuses = 0;
  Loss lost;
  bool kept = false;
  std::vector<Attach> attached;
  std::optional<Error> no_attaching;  // why
  Submit submitted;
  std::string uploaded;
  std::uint64_t total = 0;
  bool binary_known = true;
  JobState state = JobState::running;
  int polls = 0, finished_after = 1;
};

TEST_F(ClusterSessionTest, SubmitsTheJobAsItsOptionsSay) {
  const auto session = open();
  ASSERT_TRUE(session) << session.error().to_string();
  EXPECT_EQ(submitted.name, "words");
  EXPECT_EQ(submitted.arguments, run.arguments);
  EXPECT_EQ(submitted.options.priority, 4);
  EXPECT_EQ(submitted.options.max_attempts, 2u);
  EXPECT_FALSE(submitted.options.user.empty()) << "who runs the program";
  EXPECT_FALSE(submitted.directory.empty());
  EXPECT_EQ((*session)->parallelism(), 6u);
  EXPECT_EQ(times(kUploadBinary), 0u) << "the master knows the program";
}

TEST_F(ClusterSessionTest, UploadsThisProgramWhereItIsNotKnownAndNotForAPrivateCluster) {
  binary_known = false;
  ASSERT_TRUE(open({.master = {}, .same_binary = true, .wait_for_slots = 0, .check = {}}));
  EXPECT_EQ(times(kUploadBinary), 0u);
  ASSERT_TRUE(open());
  EXPECT_EQ(uploaded.size(), total);
  EXPECT_GT(times(kUploadBinary), 1u) << "in pieces";
  EXPECT_EQ(to_string(submitted.binary), to_string(hash_file("/proc/self/exe").value()));
  EXPECT_EQ(to_string(hash128(as_bytes(uploaded))), to_string(submitted.binary)) << "the pieces are the program";
}

TEST_F(ClusterSessionTest, PollsUntilTheActionHasItsResults) {
  const auto session = open();
  ASSERT_TRUE(session);
  finished_after = 3;
  const auto results = (*session)->run({});
  ASSERT_TRUE(results) << results.error().to_string();
  ASSERT_EQ(results->size(), 1u);
  EXPECT_EQ(as_chars(results->at(0).at(0).view()), "result");
  EXPECT_EQ(polls, 3);
  EXPECT_EQ((*session)->status().id, JobId(7));
  EXPECT_TRUE((*session)->record(ActionId(1), as_bytes(std::string("value"))));
  EXPECT_TRUE((*session)->close());
  EXPECT_EQ(times(kCloseJob), 1u);
}

TEST_F(ClusterSessionTest, AJobThatFailedIsAnErrorWithItsStory) {
  const auto session = open();
  ASSERT_TRUE(session);
  state = JobState::failed;
  const auto results = (*session)->run({});
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().code(), Code::user_code);
  EXPECT_EQ(results.error().message(), "stage 0 (map) task 3 failed 4 times");
}

TEST_F(ClusterSessionTest, AMasterThatIsGoneOrNeverWasIsNamed) {
  const auto session = open();
  ASSERT_TRUE(session);
  hangs_up_on = kPoll;
  const auto results = (*session)->run({});
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().code(), Code::unavailable);
  EXPECT_NE(results.error().to_string().find("lost the master at " + listener->endpoint().text), std::string::npos)
      << results.error().to_string();
  RunOptions nowhere = run;
  nowhere.cluster = "127.0.0.1:1";
  nowhere.patience = std::chrono::milliseconds(100);
  const auto none = open_cluster(nowhere);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), Code::unavailable);
  EXPECT_NE(none.error().to_string().find("no weft master answers at 127.0.0.1:1"), std::string::npos);
  nowhere.cluster = "nonsense";
  EXPECT_EQ(open_cluster(nowhere).error().code(), Code::invalid_argument);
}

TEST_F(ClusterSessionTest, ASubmissionWhoseAnswerWasLostIsMadeAgain) {
  for (const When when : {When::asked, When::answered}) {
    asked.clear();
    reactor->run([&] { lost = {kSubmitJob, when}; });
    const auto session = open();
    ASSERT_TRUE(session) << session.error().to_string();
    EXPECT_EQ(times(kSubmitJob), 2u);
    EXPECT_NE(submitted.options.submitter, 0u) << "by which the master knows it";
  }
  run.patience = std::chrono::milliseconds(100);
  hangs_up_on = kSubmitJob;
  const auto none = open();
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().to_string().find("lost the master at "), std::string::npos) << none.error().to_string();
}

TEST_F(ClusterSessionTest, AMasterThatKeepsTheJobIsWaitedForAndAskedAgain) {
  kept = true;
  finished_after = 2;
  for (const rpc::MessageType request : {kRunPart, kPoll, kRecordValue, kCloseJob}) {
    for (const When when : {When::asked, When::answered}) {
      SCOPED_TRACE(testing::Message() << "request " << request << (when == When::asked ? "" : ", carried out"));
      polls = 0;
      asked.clear();
      attached.clear();
      const auto session = open();
      ASSERT_TRUE(session) << session.error().to_string();
      reactor->run([&] { lost = {request, when}; });
      const auto results = (*session)->run({});
      ASSERT_TRUE(results) << results.error().to_string();
      EXPECT_EQ(as_chars(results->at(0).at(0).view()), "result");
      EXPECT_TRUE((*session)->record(ActionId(0), as_bytes(std::string("value"))));
      EXPECT_TRUE((*session)->close());
      ASSERT_EQ(attached.size(), 1u);
      EXPECT_EQ(attached[0].job, JobId(7));
      EXPECT_EQ(attached[0].key, kKey);
      EXPECT_EQ(times(kSubmitJob), 1u);
      EXPECT_GE(times(request), 2u) << "asked again";
    }
  }
}

TEST_F(ClusterSessionTest, ResultsWhoseAnswerWasLostAreAskedForAgain) {
  kept = true;
  const auto session = open();
  ASSERT_TRUE(session);
  lost = {kPoll, When::answered};
  const auto results = (*session)->run({});
  ASSERT_TRUE(results) << results.error().to_string();
  EXPECT_EQ(as_chars(results->at(0).at(0).view()), "result");
  EXPECT_EQ(polls, 2);
}

TEST_F(ClusterSessionTest, AnUploadThatWasCutBeginsAgain) {
  kept = true;
  binary_known = false;
  const auto piece = answers[kUploadBinary];
  int pieces = 0;
  answers[kUploadBinary] = [&](const rpc::Message& message) {
    if (++pieces == 2) lost.request = kUploadBinary;  // with the next one
    if (decode<Upload>(message).value().offset == 0) uploaded.clear();
    return piece(message);
  };
  const auto session = open();
  ASSERT_TRUE(session) << session.error().to_string();
  EXPECT_EQ(attached.size(), 1u);
  EXPECT_EQ(to_string(hash128(as_bytes(uploaded))), to_string(submitted.binary));
  EXPECT_EQ(times(kSubmitJob), 1u);
}

TEST_F(ClusterSessionTest, AJobThatWasFinishedWhileItsMasterWasLostIsClosed) {
  kept = true;
  const auto session = open();
  ASSERT_TRUE(session);
  ASSERT_TRUE((*session)->run({}));
  const auto over = [this] {
    state = JobState::finished;
    no_attaching = Error(Code::cancelled, "job 7 is over (finished)");
  };
  lost = {kCloseJob, When::answered, over};
  const auto closed = (*session)->close();
  EXPECT_TRUE(closed) << closed.error().to_string();
}

TEST_F(ClusterSessionTest, AJobThatFailedWhileItsMasterWasLostHasItsOwnError) {
  kept = true;
  const auto session = open();
  ASSERT_TRUE(session);
  const auto over = [this] {
    state = JobState::failed;
    no_attaching = Error(Code::cancelled, "job 7 is over (failed)");
  };
  lost = {kPoll, When::asked, over};
  const auto results = (*session)->run({});
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().code(), Code::user_code);
  EXPECT_EQ(results.error().message(), "stage 0 (map) task 3 failed 4 times");
  no_attaching = Error(Code::not_found, "there is no job 7");
  state = JobState::running;
  lost = {kRecordValue, When::asked};
  EXPECT_EQ((*session)->record(ActionId(0), {}).error().message(), "there is no job 7") << "what the master says";
}

TEST_F(ClusterSessionTest, AMasterThatStaysAwayIsGivenUpAndNamed) {
  kept = true;
  run.quiet = false;
  const auto session =
      open({.master = {}, .same_binary = false, .wait_for_slots = 0, .check = {}, .away = std::chrono::milliseconds(100)});
  ASSERT_TRUE(session);
  const std::string address = listener->endpoint().text;
  lost = {kPoll, When::asked, [this] { close_listener(); }};
  testing::internal::CaptureStderr();
  const auto results = (*session)->run({});
  const std::string said = testing::internal::GetCapturedStderr();
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().code(), Code::unavailable);
  EXPECT_NE(results.error().to_string().find(" s for its master at " + address), std::string::npos) << results.error().to_string();
  EXPECT_EQ(said, "words: the master at " + address + " is away; the job goes on when it is back\n");
  EXPECT_FALSE((*session)->job_goes_on()) << "nobody else drives it";
}

TEST_F(ClusterSessionTest, ASignalEndsTheWaitForAMasterAndSaysThatNothingWasKilled) {
  kept = true;
  const auto session = open();
  ASSERT_TRUE(session);
  lost = {kPoll, When::asked, [this] {
            close_listener();
            ::kill(::getpid(), SIGTERM);
          }};
  const auto results = (*session)->run({});
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().code(), Code::cancelled);
  EXPECT_NE(results.error().message().find("could not be killed; weft job kill 7"), std::string::npos) << results.error().message();
}

TEST_F(ClusterSessionTest, TheDriverOfAJobThatExistsAttachesAndAsksWhatIsRecorded) {
  run.driver_of = DriverKey{JobId(9), kKey};
  binary_known = false;
  plan::PlanPart part;
  part.action = ActionId(2);
  part.targets = {StageId(4)};
  answers[kRecorded] = [&](const rpc::Message& message) {
    const ValueRecord about = decode<ValueRecord>(message).value();
    EXPECT_EQ(about.job, JobId(9));
    Recorded recorded;
    if (about.action == ActionId(2)) {
      recorded.has_value = recorded.has_part = true;
      recorded.value = Buffer::copy_of(as_bytes(std::string("before")));
      recorded.part = plan::encode(part);
    }
    return encode(std::move(recorded));
  };
  const auto session = open();
  ASSERT_TRUE(session) << session.error().to_string();
  ASSERT_EQ(attached.size(), 1u);
  EXPECT_EQ(attached[0].job, JobId(9));
  EXPECT_EQ(attached[0].key, kKey);
  EXPECT_EQ(times(kSubmitJob) + times(kUploadBinary), 0u);
  EXPECT_EQ((*session)->parallelism(), 6u) << "as when the job was submitted";
  const auto before = (*session)->recorded(ActionId(2));
  ASSERT_TRUE(before) << before.error().to_string();
  ASSERT_TRUE(*before);
  EXPECT_EQ(as_chars((*before)->value->view()), "before");
  EXPECT_EQ((*before)->part->targets, part.targets);
  EXPECT_FALSE(*(*session)->recorded(ActionId(3)));
  lost = {kRecorded, When::asked};
  EXPECT_TRUE((*session)->recorded(ActionId(2)));
  EXPECT_EQ(attached.size(), 2u);

  EXPECT_FALSE((*session)->job_goes_on());
  finished_after = 1'000'000;
  answers[kPoll] = [poll = answers[kPoll]](const rpc::Message& message) {
    ::kill(::getpid(), SIGTERM);
    return poll(message);
  };
  const auto stopped = (*session)->run({});
  ASSERT_FALSE(stopped);
  EXPECT_NE(stopped.error().message().find("job 9 goes on with another driver"), std::string::npos) << stopped.error().message();
  EXPECT_TRUE((*session)->job_goes_on());
}

TEST_F(ClusterSessionTest, AJobThatContinuesHasAKeyForItsOutputsAndGoesOnAfterASignal) {
  EXPECT_FALSE((*open())->driver_key()) << "another job has none";
  run.job.on_disconnect = master::OnDisconnect::go_on;
  kept = true;
  finished_after = 1'000'000;
  answers[kPoll] = [poll = answers[kPoll]](const rpc::Message& message) {
    ::kill(::getpid(), SIGTERM);
    return poll(message);
  };
  const auto session = open();
  ASSERT_TRUE(session);
  ASSERT_TRUE((*session)->driver_key());
  EXPECT_EQ((*session)->driver_key()->job, JobId(7));
  EXPECT_EQ((*session)->driver_key()->key, kKey);
  const auto stopped = (*session)->run({});
  ASSERT_FALSE(stopped);
  EXPECT_NE(stopped.error().message().find("job 7 goes on with another driver"), std::string::npos) << stopped.error().message();
  EXPECT_TRUE((*session)->job_goes_on());
}

TEST_F(ClusterSessionTest, ADriverThatAnotherOneHasReplacedLeavesTheJobToIt) {
  run.job.on_disconnect = master::OnDisconnect::go_on;
  kept = true;
  const auto session = open();
  ASSERT_TRUE(session);
  lost = {kPoll, When::asked, [this] { no_attaching = Error(Code::cancelled, "job 7 has another driver now"); }};
  const auto results = (*session)->run({});
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().message(), "job 7 has another driver now");
  EXPECT_TRUE((*session)->job_goes_on()) << "what it has written must stay";
}

TEST_F(ClusterSessionTest, AJobOfThisProcessHasNothingRecorded) {
  kept = true;
  const auto session = open();
  ASSERT_TRUE(session);
  EXPECT_FALSE(*(*session)->recorded(ActionId(0)));
  EXPECT_EQ(times(kRecorded), 0u);
}

TEST(DriverKey, IsTakenFromTheEnvironmentOnce) {
  EXPECT_FALSE(*take_driver_key());
  ::setenv(runtime::kDriverJobVariable, "12", 1);
  ::setenv(runtime::kDriverKeyVariable, "18446744073709551615", 1);
  ::setenv(runtime::kDriverUserVariable, "alice", 1);
  const auto key = take_driver_key();
  ASSERT_TRUE(key && *key);
  EXPECT_EQ((*key)->job, JobId(12));
  EXPECT_EQ((*key)->key, UINT64_MAX);
  EXPECT_EQ((*key)->user, "alice");
  for (const char* variable : {runtime::kDriverJobVariable, runtime::kDriverKeyVariable, runtime::kDriverUserVariable})
    EXPECT_EQ(::getenv(variable), nullptr) << variable;
  ::setenv(runtime::kDriverJobVariable, "12", 1);
  EXPECT_EQ(take_driver_key().error().code(), Code::invalid_argument) << "without its key";
  ::setenv(runtime::kDriverJobVariable, "x", 1);
  ::setenv(runtime::kDriverKeyVariable, "1", 1);
  EXPECT_EQ(take_driver_key().error().code(), Code::invalid_argument);
  EXPECT_FALSE(*take_driver_key()) << "gone all the same";
}

TEST(DriverKey, SaysWhenTheDriverIsNotWhereItsJobWasSubmitted) {
  const std::string here = std::filesystem::current_path().string();
  const auto away_from = [](const std::string& own) {
    ::setenv(runtime::kDriverJobVariable, "12", 1);
    ::setenv(runtime::kDriverKeyVariable, "1", 1);
    ::setenv(runtime::kDriverSubmittedInVariable, "/home/ann", 1);
    ::setenv(runtime::kDriverOwnDirectoryVariable, own.c_str(), 1);
    const auto key = take_driver_key().value();
    EXPECT_EQ(::getenv(runtime::kDriverSubmittedInVariable), nullptr);
    EXPECT_EQ(::getenv(runtime::kDriverOwnDirectoryVariable), nullptr);
    return key->away_from;
  };
  EXPECT_EQ(away_from(here), "/home/ann");
  EXPECT_EQ(away_from(here + "/../" + std::filesystem::path(here).filename().string()), "/home/ann") << "another name of it";
  EXPECT_EQ(away_from(std::filesystem::path(here).parent_path().string()), "/home/ann") << "in a directory in it";
  EXPECT_EQ(away_from("/nowhere"), std::nullopt);
  EXPECT_EQ(away_from("/proc"), std::nullopt) << "it is in another";
}

TEST(DriverKey, RelativePathsAreRefusedWhereTheyMeanNothing) {
  EXPECT_TRUE(refuse_relative(std::nullopt, "output", "counts"));
  EXPECT_TRUE(refuse_relative("/home/ann", "output", "/counts"));
  const auto refused = refuse_relative("/home/ann", "output", "counts");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::invalid_argument);
  EXPECT_EQ(refused.error().message().find("output counts is relative to the directory of the submission (/home/ann), "), 0u)
      << refused.error().message();
  EXPECT_EQ(refuse_relative("", "output", "counts").error().message().find("()"), std::string::npos);
}

TEST_F(ClusterSessionTest, WhatTheMasterRefusesIsAnErrorAndNoLostMaster) {
  refuses = kSubmitJob;
  const auto refused = open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::not_found);
  EXPECT_EQ(refused.error().to_string().find("lost the master"), std::string::npos);
  refuses = kRunPart;
  const auto session = open();
  ASSERT_TRUE(session);
  EXPECT_EQ((*session)->run({}).error().code(), Code::not_found);
  EXPECT_EQ(polls, 0);
}

TEST_F(ClusterSessionTest, WaitsForTheSlotsOfAPrivateClusterAndForItsHealth) {
  int nodes = 0;
  answers[kListNodes] = [&](const rpc::Message&) {
    NodeList list;
    nodes = std::min(nodes + 1, 4);
    for (int i = 0; i < nodes; ++i) list.nodes.emplace_back().slots = 2;
    return encode(list);
  };
  int checks = 0;
  bool well = true;
  const auto check = [&]() -> Result<void> {
    ++checks;
    return well ? Result<void>() : fail(Code::unavailable, "all workers died");
  };
  const auto session = open({.master = {}, .same_binary = true, .wait_for_slots = 8, .check = check});
  ASSERT_TRUE(session);
  EXPECT_EQ(times(kListNodes), 4u) << "two more each time";
  EXPECT_EQ(checks, 3);
  finished_after = 1'000'000;
  well = false;
  EXPECT_EQ((*session)->run({}).error().message(), "all workers died");
  EXPECT_EQ(polls, 1);
  EXPECT_EQ(open({.master = {}, .same_binary = true, .wait_for_slots = 9, .check = check}).error().message(), "all workers died");
}

}  // namespace
}  // namespace weft::client
