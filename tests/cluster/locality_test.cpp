// Racks from a topology, and tasks that go where their input lies.
#include <sys/stat.h>

#include "tests/cluster/cluster.hpp"

namespace weft::test {
namespace {

void write_program(const std::string& path, const std::string& body) {
  write_file(path, "#!/bin/sh\n" + body);
  chmod(path.c_str(), 0755);
}

/// Three workers on hosts h1 to h3 that hold directories data3 to data1: not in the order in which tasks are handed out.
class Locality : public testing::Test {
 protected:
  void start(const std::vector<std::string>& master_options = {}) {
    cluster = std::make_unique<Cluster>(0, master_options);
    for (int number : {1, 2, 3}) {
      const std::string directory = files / ("data" + std::to_string(4 - number));
      mkdir(directory.c_str(), 0700);
      cluster->add_worker({"--host", "h" + std::to_string(number), "--local-data", directory});
    }
    ASSERT_TRUE(cluster->has_nodes(3));
  }
  std::string rack_of(const std::string& node) {
    const std::string nodes = cluster->admin({"node", "list", "--json"}).out;
    const auto at = nodes.find("\"rack\":\"", nodes.find("\"name\":\"" + node + "\""));
    return at == std::string::npos ? "" : nodes.substr(at + 8, nodes.find('"', at + 8) - at - 8);
  }

  ScratchDirectory files;
  std::unique_ptr<Cluster> cluster;
};

TEST_F(Locality, TasksGoWhereTheirInputLies) {
  start();
  for (const char* number : {"1", "2", "3"}) {  // too large to share a task with another
    std::string text;
    while (text.size() < 60'000) text += std::string("file ") + number + "\n";
    write_file(files / ("data" + std::string(number) + "/file"), text);
  }
  mkdir((files / "data1x").c_str(), 0700);
  write_file(files / "data1x/c", "elsewhere\n");  // not below data1
  const auto result = run(cluster->job({"where", "--input", files / "data[123]/*"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out.substr(0, result.out.find("reduced")), "file 1 read on w3\nfile 2 read on w2\nfile 3 read on w1\n");
  EXPECT_TRUE(has(run(cluster->job({"where", "--input", files / "data1x/c"})).out, "elsewhere read on w"));
}

TEST_F(Locality, ReducesGoWhereTheMapOutputsLieUnderCogrs) {
  start({"--scheduler", "cogrs(inner=fifo)"});
  std::string text;
  for (int i = 0; text.size() < 60'000; ++i) text += std::to_string(i) + "\n";
  write_file(files / "data2/file", text);  // one map, on w2
  const auto result = run(cluster->job({"where", "--input", files / "data2/file", "--partitions", "2"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out.substr(result.out.find("reduced")), "reduced on w2\n");  // both of two
}

TEST_F(Locality, RacksComeFromATopologyFile) {
  write_file(files / "racks", "# host rack\nh1 north\nh2\tsouth  # the other room\n\n");
  start({"--topology", files / "racks"});
  EXPECT_EQ(rack_of("w1"), "north");
  EXPECT_EQ(rack_of("w2"), "south");
  EXPECT_EQ(rack_of("w3"), "default");  // what the worker says
}

TEST_F(Locality, TheTopologyIsReadAgainOnSighup) {
  write_file(files / "racks", "* north\n");
  start({"--topology", files / "racks"});
  EXPECT_EQ(rack_of("w1"), "north");
  write_file(files / "racks", "* north south\n");
  cluster->master().signal(SIGHUP);
  EXPECT_TRUE(eventually([&] { return has(cluster->master().err_so_far(), "the old topology stays"); }));
  write_file(files / "racks", "* south\n");
  cluster->master().signal(SIGHUP);
  EXPECT_TRUE(eventually([&] { return has(cluster->master().err_so_far(), "racks was reloaded"); }));
  cluster->add_worker();
  ASSERT_TRUE(cluster->has_nodes(4));
  EXPECT_EQ(rack_of("w4"), "south");
  EXPECT_EQ(rack_of("w1"), "north");  // a worker's rack is that of its registration
}

TEST_F(Locality, RacksComeFromATopologyProgram) {
  write_program(files / "racks", "echo asked >&2; echo rack-of-$1; echo more\n");
  start({"--topology", files / "racks"});
  EXPECT_EQ(rack_of("w1"), "rack-of-h1");
  EXPECT_EQ(rack_of("w3"), "rack-of-h3");
}

TEST(Topology, WithAWrongLineIsRefusedByNumber) {
  ScratchDirectory files;
  for (const auto& [text, complaint] : std::vector<std::pair<std::string, std::string>>{
           {"h1 r1\nh2\n", "racks:2"}, {"h1 r1\n\nh1 r2\n", "racks:3"}, {"h1 r1 r2\n", "racks:1"}}) {
    write_file(files / "racks", text);
    const auto result = run({program("weft"), "master", "--listen", "127.0.0.1:0", "--topology", files / "racks"});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_TRUE(has(result.err, complaint)) << result.err;
  }
  const auto missing = run({program("weft"), "master", "--listen", "127.0.0.1:0", "--topology", files / "none"});
  EXPECT_TRUE(has(missing.err, "none")) << missing.err;
}

TEST(Topology, ProgramThatFailsOrPrintsNonsenseKeepsTheWorkerOutAndSaysWhy) {
  ScratchDirectory files;
  for (const auto& [body, complaint] :
       std::vector<std::pair<std::string, std::string>>{{"echo no idea >&2; exit 3\n", "exited with 3: no idea"},
                                                        {"echo two words\n", "no name of a rack"},
                                                        {"true\n", "no name of a rack"},
                                                        {"kill -9 $$\n", "died of signal 9"}}) {
    write_program(files / "racks", body);
    Cluster cluster(0, {"--topology", files / "racks"});
    Process& worker = cluster.add_worker();
    EXPECT_TRUE(eventually([&] { return has(worker.err_so_far(), complaint); })) << worker.err_so_far();
    EXPECT_TRUE(cluster.has_nodes(0));
    write_program(files / "racks", "echo r1\n");  // repaired: the worker comes in by itself
    EXPECT_TRUE(cluster.has_nodes(1));
  }
}

}  // namespace
}  // namespace weft::test
