#include "storage/access/remote.hpp"

namespace weft::storage {

Result<std::vector<RemotePiece>> RemoteFiles::pieces(const std::string& path) { return pieces(path, FileVersion{}); }
Result<std::unique_ptr<RemoteFile>> RemoteFiles::open(const std::string& path) { return open(path, FileVersion{}); }

Result<void> RemoteFiles::take_over_directory(const std::string& path) {
  WEFT_ASSIGN(const bool there, exists(path));
  return there ? Result<void>() : make_directory(path);
}

Result<void> RemoteFiles::make_subdirectory(const std::string& path) { return take_over_directory(path); }

}  // namespace weft::storage
