// What commands ask of a master, where more than one request is needed.
#include "engine/client/admin.hpp"

#include <gtest/gtest.h>

#include "base/file.hpp"
#include "base/hash.hpp"
#include "engine/master/protocol/protocol.hpp"
#include "engine/master/server/server.hpp"

namespace weft::client {
namespace {

constexpr Duration kDeadline = std::chrono::seconds(60);

TEST(Admin, ASubmissionThatIsRepeatedBringsTheProgramThatTheFirstOneDidNot) {
  const TempDir directory = TempDir::create().value();
  const std::string program = directory.path() / "program";
  ASSERT_TRUE(write_file(program, "#!/bin/sh\n"));
  const auto reactor = rpc::Reactor::start("terminal");
  master::ServerOptions options;
  options.listen = "127.0.0.1:0";
  const auto server = master::Server::start(options).value();
  const auto submit = [&](const std::string& request_id, bool leaves) {
    Submit job;
    job.name = job.program = "program";
    job.binary = hash_file(program).value();
    job.options.user = "ann";
    job.options.request_id = request_id;
    job.options.on_disconnect = master::OnDisconnect::go_on;
    const auto terminal = rpc::connect(*reactor, rpc::Endpoint::parse(server->address()).value(), kDeadline, {}, {}).value();
    const auto submitted = decode<Submitted>(rpc::call(*reactor, terminal, kSubmitJob, encode(job), kDeadline).value()).value();
    if (leaves) reactor->run([&] { terminal->close(); });
    Detach detach;
    detach.submit = std::move(job);
    return std::pair(submitted, std::move(detach));
  };
  const auto [first, again] = submit("nightly", true);
  ASSERT_FALSE(first.binary_known);
  const auto admin = Admin::connect(server->address());
  ASSERT_TRUE(admin) << admin.error().to_string();
  const auto known = (*admin)->detach(again, program);
  ASSERT_TRUE(known) << known.error().to_string();
  EXPECT_EQ(*known, first.job);
  EXPECT_TRUE(submit("another", false).first.binary_known);
  reactor->stop();
}

}  // namespace
}  // namespace weft::client
