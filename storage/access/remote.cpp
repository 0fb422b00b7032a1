#include "storage/access/remote.hpp"

namespace weft::storage {

Result<std::vector<RemotePiece>> RemoteFiles::pieces(const std::string& path) { return pieces(path, FileVersion{}); }
Result<std::unique_ptr<RemoteFile>> RemoteFiles::open(const std::string& path) { return open(path, FileVersion{}); }

}  // namespace weft::storage
