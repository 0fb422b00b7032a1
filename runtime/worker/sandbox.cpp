#include "runtime/worker/sandbox.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.hpp"

namespace weft::runtime {
namespace {

constexpr std::size_t kMostKept = kMostWritable + 1;
constexpr unsigned long kNoRights = MS_NOSUID | MS_NODEV;

/// The mounts below a directory as a tree of their own, which goes wherever it is attached. -1: errno says why not.
int clone_tree(const char* path) { return open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE); }

/// 0, or errno.
int attach(int tree, const char* path) { return move_mount(tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) == 0 ? 0 : errno; }

int cover(const char* path, const char* options) {
  if (mount("tmpfs", path, "tmpfs", kNoRights, options) == 0) return 0;
  return errno == ENOENT ? 0 : errno;
}

}  // namespace

Sandbox::Sandbox(std::string worker, std::string job, std::string temporary, std::vector<std::string> writable)
    : worker_(std::move(worker)), temporary_(std::move(temporary)) {
  writable.push_back(std::move(job));  // the last, because an output's directory may be above it
  for (std::string& path : writable) {
    Kept kept{std::move(path), {}};
    for (auto slash = kept.path.find('/', 1); slash != std::string::npos; slash = kept.path.find('/', slash + 1))
      kept.above.push_back(kept.path.substr(0, slash));
    kept.above.push_back(kept.path);
    kept_.push_back(std::move(kept));
  }
  WEFT_ASSERT(kept_.size() <= kMostKept);
}

int Sandbox::enter() const {
  if (unshare(CLONE_NEWNS) != 0) return errno;
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return errno;
  std::array<int, kMostKept> trees{};
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    trees[i] = clone_tree(kept_[i].path.c_str());
    if (trees[i] < 0) return errno;
  }
  std::array<int, 2> temporary{clone_tree(temporary_.c_str()), clone_tree(temporary_.c_str())};
  if (temporary[0] < 0 || temporary[1] < 0) return errno;
  mount_attr read_only{};
  read_only.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID;
  if (mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &read_only, sizeof read_only) != 0) return errno;
  if (chdir("/") != 0) return errno;  // what was entered before is not covered

  if (const int error = cover(worker_.c_str(), "mode=0711,size=64k"); error != 0) return error;
  if (const int error = cover("/dev/shm", "mode=1777"); error != 0) return error;
  if (const int error = attach(temporary[0], "/tmp"); error != 0 && error != ENOENT) return error;
  if (const int error = attach(temporary[1], "/var/tmp"); error != 0 && error != ENOENT) return error;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    for (const std::string& path : kept_[i].above) (void)mkdir(path.c_str(), 0711);
    if (const int error = attach(trees[i], kept_[i].path.c_str()); error != 0) return error;
  }
  return mount("proc", "/proc", "proc", kNoRights | MS_NOEXEC, "hidepid=invisible") == 0 ? 0 : errno;
}

std::string why_not(const Sandbox& sandbox) {
  const pid_t child = fork();
  if (child == 0) _exit(sandbox.enter());
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return std::strerror(errno);
  if (!WIFEXITED(status)) return "the process that tried it was killed";
  return WEXITSTATUS(status) == 0 ? std::string() : std::strerror(WEXITSTATUS(status));
}

}  // namespace weft::runtime
