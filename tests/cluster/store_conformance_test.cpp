// The files of a cluster do what every store does (tests/storage/store_conformance.hpp).
#include "tests/storage/store_conformance.hpp"

#include "storage/files/job_files.hpp"
#include "tests/cluster/file_cluster.hpp"

namespace weft::storage {
namespace {

class ClusterStore final : public Store {
 public:
  RemoteFiles* files() override { return files_.get(); }
  std::string url(const std::string& path) override { return "weft:/" + path; }
  void put(const std::string& path, const std::string& content) override {
    const std::string directory = path.substr(0, std::max<std::size_t>(path.rfind('/'), 1));
    EXPECT_EQ(cluster_.run_fs({"mkdir", "-p", directory}).exit_code, 0);
    Store::put(path, content);
  }

 private:
  test::FileCluster cluster_{1};
  const std::shared_ptr<RemoteFiles> files_ = files::job_files({cluster_.address(), {}, {}, {}});
};

INSTANTIATE_TEST_SUITE_P(Kinds, Stores, testing::Values(StoreKind{"Cluster", [] { return std::make_unique<ClusterStore>(); }}),
                         store_name);

}  // namespace
}  // namespace weft::storage
